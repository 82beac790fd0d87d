/**
 * The files that `reprise init` writes.
 *
 * @module
 */

import type { ProjectKind } from './detect.ts'
import { USAGES, type Usage } from './usages.ts'

/** How an ORM's transactions reach the store: its name, the function and where that is. */
const ORMS: Readonly<Record<string, readonly [name: string, make: string, from: string]>> = {
  'drizzle-orm': ['Drizzle', 'drizzleTransactions(db)', 'reprise/postgres/drizzle'],
  '@prisma/client': ['Prisma', 'prismaTransactions(prisma)', 'reprise/postgres/prisma'],
  prisma: ['Prisma', 'prismaTransactions(prisma)', 'reprise/postgres/prisma'],
  kysely: ['Kysely', 'kyselyTransactions(db)', 'reprise/postgres/kysely'],
  knex: ['Knex', 'knexTransactions(db)', 'reprise/postgres/knex'],
  typeorm: ['TypeORM', 'typeormTransactions(source)', 'reprise/postgres/typeorm'],
}

function ormOf({ orm }: ProjectKind): (typeof ORMS)[string] | undefined {
  return orm === null ? undefined : ORMS[orm]
}

/** How a route of the framework uses the engine. */
export function routeLine(kind: ProjectKind): string {
  const { route, request } = USAGES[kind.framework]
  const [orm] = ormOf(kind) ?? []
  const rows =
    orm === undefined
      ? `its handler writes its rows through tx(${request[0]}), in the transaction of the key`
      : `see the comment in the module on transactions of ${orm}`
  return `${route}; ${rows}`
}

/** The module with the engine. */
export function engineModule(kind: ProjectKind, schema: string): string {
  const { driver, framework, isTypeScript } = kind
  const usage = USAGES[framework]
  const hasTx = ormOf(kind) === undefined
  const text = [
    ...importsOf(kind, usage, hasTx),
    ...(usage.exports === undefined ? [] : ['', usage.exports]),
    '',
    driver === 'pg'
      ? `export const pool = new pg.Pool({ connectionString: process.env.DATABASE_URL, pipeline: true })`
      : `export const pool = postgres(process.env.DATABASE_URL${isTypeScript ? ` ?? ''` : ''})`,
    '// The schema is made when you deploy: npx reprise migrate up',
    `const store = postgresStore(pool, { schema: ${quotedText(schema)}, migrate: false })`,
    '// For the dashboard, `reprise stats` and `reprise keys tail`.',
    'const onEvent = combine(keepStats(store).onEvent, keepDuplicates(store).onEvent)',
    '// Before the server listens: await reprise.ready(). On SIGTERM, after server.close():',
    '// await reprise.close(); await pool.end()',
    'export const reprise = createReprise({ store, onEvent })',
    ...(usage.refusal === '' ? [] : ['', callerFunction(usage, isTypeScript)]),
    ...['', optionsText(kind, usage)],
    ...(hasTx ? [txFunction(kind)] : []),
  ].join('\n')
  return isTypeScript || kind.isModule ? text : toCommonJs(text)
}

function importsOf(
  { driver, isTypeScript, framework }: ProjectKind,
  { imports }: Usage,
  hasTx: boolean,
): readonly string[] {
  // Without transactions nothing of it would be used.
  const own = hasTx ? imports : imports.map((line) => line.replace(', txOf', ''))
  return [
    ...(isTypeScript && framework === 'node'
      ? [`import type { IncomingMessage, ServerResponse } from 'node:http'`]
      : []),
    driver === 'pg' ? `import pg from 'pg'` : `import postgres from 'postgres'`,
    `import { createReprise, hashSecret } from 'reprise'`,
    ...own.filter((line) => hasTx || !line.includes('{ txOf }')),
    `import { postgresStore } from 'reprise/postgres'`,
    `import { combine, keepDuplicates, keepStats } from 'reprise/telemetry'`,
  ]
}

const CALLER =
  '/** On whose behalf a request comes. Better: the account that your authentication found. */'
const NOBODY = 'Anonymous requests must not share a caller: they would get the answers of others.'

function callerFunction({ refusal }: Usage, isTyped: boolean): string {
  const [parameter, result] = isTyped
    ? ['credentials: string | undefined', ': string']
    : ['credentials', '']
  return `${CALLER}
function callerOf(${parameter})${result} {
  // ${NOBODY}
  if (!credentials) {
    ${refusal}
  }
  return hashSecret(credentials)
}`
}

function optionsText(kind: ProjectKind, usage: Usage): string {
  const { request, credentials, isMiddleware, member } = usage
  const [name, type] = request
  const isAnnotated = kind.isTypeScript && type !== ''
  // What protects the handlers refuses those who have not signed in, before this is asked.
  const caller =
    usage.refusal === '' ? `hashSecret(${credentials} ?? '')` : `callerOf(${credentials})`
  const lines = [
    ...(member === undefined ? [] : [member]),
    `caller: (${isAnnotated ? `${name}: ${type}` : name}) => ${caller},`,
    ...modeLines(kind, name),
    'required: true,',
  ]
  const [doc, open, close] = isMiddleware
    ? [
        'Mount it on each route that changes something, after authentication.',
        'idempotent(reprise, {',
        '})',
      ]
    : ['What the routes are protected with.', '{', '}']
  const text = `/** ${doc} */
export const once = ${open}
${lines.map((line) => `  ${line}`).join('\n')}
${close}`
  return `${text}\n${usage.ends?.(kind.isTypeScript) ?? ''}`
}

function modeLines(kind: ProjectKind, request: string): readonly string[] {
  const orm = ormOf(kind)
  if (orm === undefined) {
    return [
      `// Key, answer and what is written through tx(${request}) are one commit. What is written past it`,
      '// can happen twice: for effects elsewhere, as at a payment provider, take phases, or',
      '// transaction: false.',
      'transaction: true,',
    ]
  }
  const [name, make, from] = orm
  const [imported = ''] = make.split('(')
  return [
    `// Not in transactions yet: they have to be those of ${name}, which is set up elsewhere. Until`,
    '// then a request that a crash cut off is not repeated, and a person settles it. To have key,',
    '// rows and answer in one commit, add to the options of postgresStore',
    `//   transactions: ${make}, with { ${imported} } from '${from}',`,
    `// write rows through txOf(${request}) of 'reprise/…', and set here`,
    '//   transaction: true,',
  ]
}

function txFunction({ driver, framework, isTypeScript }: ProjectKind): string {
  const [name] = USAGES[framework].request
  const type = driver === 'pg' ? 'pg.PoolClient' : 'postgres.TransactionSql'
  const [parameter, called] = isTypeScript ? [`${name}: object`, `txOf<${type}>`] : [name, 'txOf']
  return `/** The transaction of a request: what is written through it commits with the key, or not at all. */
export const tx = (${parameter}) => ${called}(${name})
`
}

/** The configuration of the command line. */
export function configModule(schema: string, isCommonJs: boolean): string {
  const body = `{
  databaseUrl: process.env.DATABASE_URL,
  schema: ${quotedText(schema)},
  // For \`reprise worker\`: operations: [createOrder], sink: functionSink(async (job) => …)
}
`
  const start = isCommonJs ? 'module.exports = ' : 'export default '
  return `// Read by the command line: npx reprise info\n${start}${body}`
}

/** A name of a schema holds neither quotes nor backslashes. */
function quotedText(schema: string): string {
  return `'${schema}'`
}

/** The same module for projects whose files are CommonJS. */
function toCommonJs(text: string): string {
  const names: string[] = []
  const body = text
    .replaceAll(/^import (\w+) from ('[^']+')$/gm, 'const $1 = require($2)')
    .replaceAll(/^import (\{[^}]+\}) from ('[^']+')$/gm, 'const $1 = require($2)')
    .replaceAll(/^export \{([^}]+)\} from ('[^']+')$/gm, (_, list: string, from: string) => {
      names.push(...list.split(',').map((name) => name.trim()))
      return `const {${list}} = require(${from})`
    })
    .replaceAll(/^export (const|function) (\w+)/gm, (_, kind: string, name: string) => {
      names.push(name)
      return `${kind} ${name}`
    })
  return `${body}\nmodule.exports = { ${names.join(', ')} }\n`
}
