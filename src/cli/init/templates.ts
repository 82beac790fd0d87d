/**
 * The files that `reprise init` writes.
 *
 * @module
 */

import type { Framework, ProjectKind } from './detect.ts'

/** How a framework uses the engine: its import, and what is exported for routes. */
interface Usage {
  readonly imports: string
  readonly code: (isTypeScript: boolean) => string
  /** How a route uses it, for the next steps. */
  readonly route: string
}

const CALLER = '// On whose behalf a request comes: the account that your authentication has found.'

const USAGES: Readonly<Record<Framework, Usage>> = {
  express: {
    imports: `import { idempotent } from 'reprise/express'`,
    code: () => middleware(`req.get('Authorization') ?? 'nobody'`, 'req'),
    route: `app.post('/charges', express.json(), once, handler)`,
  },
  hono: {
    imports: `import { idempotent } from 'reprise/hono'`,
    code: () => middleware(`c.req.header('Authorization') ?? 'nobody'`, 'c'),
    route: `app.post('/charges', once, handler)`,
  },
  koa: {
    imports: `import { idempotent } from 'reprise/koa'`,
    code: () => middleware(`ctx.get('Authorization') || 'nobody'`, 'ctx'),
    route: `router.post('/charges', once, handler)`,
  },
  fastify: {
    imports: `export { idempotency } from 'reprise/fastify'`,
    code: (isTyped) =>
      options(
        'request',
        isTyped ? `{ headers: { authorization?: string } }` : '',
        'request.headers.authorization',
        'reprise, ',
      ),
    route: `await app.register(idempotency, once)`,
  },
  nest: {
    imports: `export { IdempotencyModule, Idempotent } from 'reprise/nest'`,
    code: (isTyped) =>
      options(
        'request',
        isTyped ? `{ headers: { authorization?: string } }` : '',
        'request.headers.authorization',
        'reprise, ',
      ),
    route: `imports: [IdempotencyModule.forRoot(once)], then @Post() @Idempotent()`,
  },
  next: {
    imports: `export { idempotent } from 'reprise/next'`,
    code: (isTyped) =>
      options('request', isTyped ? 'Request' : '', `request.headers.get('Authorization')`, ''),
    route: `export const POST = idempotent(reprise, once, handler)`,
  },
  node: {
    imports: `export { idempotent } from 'reprise/node'`,
    code: (isTyped) =>
      options(
        'request',
        isTyped ? `{ headers: { authorization?: string } }` : '',
        'request.headers.authorization',
        '',
      ),
    route: `createServer(idempotent(reprise, once, handler))`,
  },
}

function middleware(caller: string, request: string): string {
  return `/** Mount it on each route that changes something, after authentication. */
export const once = idempotent(reprise, {
  ${CALLER}
  caller: (${request}) => hashSecret(${caller}),
  required: true,
})
`
}

function options(
  ...[request, type, caller, more]: readonly [string, string, string, string]
): string {
  const annotated = type === '' ? request : `${request}: ${type}`
  return `/** What the routes are protected with. */
export const once = {
  ${more === '' ? '' : `${more.trim()}\n  `}${CALLER}
  caller: (${annotated}) => hashSecret(${caller} ?? 'nobody'),
  required: true,
}
`
}

/** How a route of the framework uses the engine. */
export function routeLine({ framework }: ProjectKind): string {
  return USAGES[framework].route
}

/** The module with the engine. */
export function engineModule(kind: ProjectKind, schema: string): string {
  const { driver, framework, isTypeScript } = kind
  const { imports, code } = USAGES[framework]
  const isReexport = imports.startsWith('export')
  const text = [
    driver === 'pg' ? `import pg from 'pg'` : `import postgres from 'postgres'`,
    `import { createReprise, hashSecret } from 'reprise'`,
    ...(isReexport ? [] : [imports]),
    `import { postgresStore } from 'reprise/postgres'`,
    `import { combine, keepDuplicates, keepStats } from 'reprise/telemetry'`,
    ...(isReexport ? ['', imports] : []),
    '',
    driver === 'pg'
      ? `export const pool = new pg.Pool({ connectionString: process.env.DATABASE_URL, pipeline: true })`
      : `export const pool = postgres(process.env.DATABASE_URL${isTypeScript ? ` ?? ''` : ''})`,
    `const store = postgresStore(pool, { schema: ${quotedText(schema)}, migrate: false })`,
    '// For the dashboard, `reprise stats` and `reprise keys tail`.',
    'const onEvent = combine(keepStats(store).onEvent, keepDuplicates(store).onEvent)',
    'export const reprise = createReprise({ store, onEvent })',
    ...['', code(isTypeScript)],
  ].join('\n')
  return isTypeScript || kind.isModule ? text : toCommonJs(text)
}

/** The configuration of the command line. */
export function configModule(schema: string, isCommonJs: boolean): string {
  const body = `{
  databaseUrl: process.env.DATABASE_URL,
  schema: ${quotedText(schema)},
  // For \`reprise worker\`: operations: [createOrder], sink: functionSink({ … })
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
    .replaceAll(/^export const (\w+)/gm, (_, name: string) => {
      names.push(name)
      return `const ${name}`
    })
  return `${body}\nmodule.exports = { ${names.join(', ')} }\n`
}
