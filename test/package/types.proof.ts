/**
 * The types of the packed package, as compilers find them: every subpath, with each way to resolve modules, from
 * the oldest TypeScript that is supported to the newest.
 *
 * @module
 */

import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { installFolder } from '../../scripts/install-folder.mjs'
import { entries, type Project, packedProject } from './support/packed.ts'

const run = promisify(execFile)
const compilers = join(import.meta.dirname, 'compilers')

/** Packages whose types those of the package name. */
const PEERS = [
  ...[
    'express',
    '@types/express',
    'fastify',
    'hono',
    'koa',
    '@types/koa',
    '@nestjs/common',
    'rxjs',
  ],
  ...['pg', '@types/pg'],
]

/** An app of the matrix. */
interface App {
  readonly name: string
  readonly manifest: object
  readonly options: object
}

const NODE10 = { module: 'commonjs', moduleResolution: 'node10', esModuleInterop: true }
const APPS: readonly App[] = [
  { name: 'node10', manifest: {}, options: NODE10 },
  { name: 'node16, CommonJS', manifest: {}, options: { module: 'node16' } },
  { name: 'node16, ES modules', manifest: { type: 'module' }, options: { module: 'node16' } },
  { name: 'nodenext, CommonJS', manifest: {}, options: { module: 'nodenext' } },
  { name: 'nodenext, ES modules', manifest: { type: 'module' }, options: { module: 'nodenext' } },
  { name: 'bundler', manifest: {}, options: { module: 'esnext', moduleResolution: 'bundler' } },
]

/**
 * The oldest that is supported, the one that most apps have, and the newest. TypeScript 6 warns of node10, and
 * TypeScript 7 does not have it.
 */
const COMPILERS = [
  { version: '5.0', apps: APPS, options: {} },
  { version: '6.0', apps: APPS, options: { ignoreDeprecations: '6.0' } },
  { version: '7.0', apps: APPS.filter(({ name }) => name !== 'node10'), options: {} },
]

const folderOf = (name: string) => name.replaceAll(/\W+/g, '-')

await installFolder(compilers)
let project: Project

beforeAll(async () => {
  project = await packedProject()
  await project.link('@types/node', join(compilers, 'node_modules'))
  for (const peer of PEERS) await project.link(peer)
  for (const { name, manifest } of APPS) {
    const folder = folderOf(name)
    await project.write(`${folder}/package.json`, JSON.stringify({ name: folder, ...manifest }))
    await project.write(`${folder}/every.ts`, everySubpath())
    await project.write(`${folder}/used.ts`, USED)
    await project.write(`${folder}/nest.ts`, NEST)
    await project.write(`${folder}/wrong.ts`, WRONG)
  }
  await project.write('both/package.json', '{ "type": "module" }')
  await project.write('both/engine.cts', ENGINE)
  await project.write('both/app.mts', BOTH)
})

afterAll(async () => {
  await project.remove()
})

describe.each(COMPILERS)('TypeScript $version', ({ version, apps, options }) => {
  test.each(apps)('finds the types of every subpath: $name', async ({ name, options: own }) => {
    const files = ['every.ts', 'used.ts', 'wrong.ts']
    // NestJS is made of ES modules, and its types are too new for old compilers.
    if (version !== '5.0' && /ES modules/.test(name)) files.push('nest.ts')
    const found = await errors(version, folderOf(name), { ...options, ...own }, files)
    // What the types allow is compiled, and what they forbid is refused: nothing of it is `any`.
    expect(found.map((line) => /([\w.]+)\((\d+),\d+\): error/.exec(line)?.slice(1))).toEqual([
      ['wrong.ts', '2'],
      ['wrong.ts', '3'],
      ['wrong.ts', '4'],
    ])
  })

  test('takes what one format made for what the other needs', async () => {
    const both = { ...options, module: 'nodenext' }
    expect(await errors(version, 'both', both, ['engine.cts', 'app.mts'])).toEqual([])
  })

  test('finds no fault in the files of types themselves', async () => {
    const strict = { ...options, module: 'node16', skipLibCheck: false }
    const all = await errors(version, folderOf('node16, ES modules'), strict, ['every.ts'])
    expect(all.filter((line) => line.includes('node_modules/reprise/'))).toEqual([])
  })
})

/** Compiles files of an app; answers a line for each error. */
async function errors(
  version: string,
  folder: string,
  options: object,
  files: readonly string[],
): Promise<readonly string[]> {
  const compilerOptions = {
    ...{ target: 'es2022', lib: ['es2022', 'dom', 'dom.iterable'], types: ['node'] },
    ...{ strict: true, noEmit: true, skipLibCheck: true, ...options },
  }
  const config = `${folder}/tsconfig-${version}-${files.join('-')}.json`
  const file = await project.write(config, JSON.stringify({ compilerOptions, files }))
  const tsc = join(compilers, 'node_modules', `typescript-${version}`, 'bin/tsc')
  const { stdout } = await run(process.execPath, [tsc, '-p', file, '--pretty', 'false'], {
    cwd: project.folder,
  }).catch((error: { stdout: string }) => error)
  return stdout.split('\n').filter((line) => /: error TS\d+|^error TS/.test(line))
}

/** Imports every subpath. `any` would be an import that was not found. */
function everySubpath(): string {
  const imports = entries.map(({ specifier }, at) => `import * as m${at} from '${specifier}'`)
  const checks = entries.map((_, at) => `export const c${at}: Known<typeof m${at}> = true`)
  return [...imports, 'type Known<T> = 0 extends 1 & T ? never : true', ...checks].join('\n')
}

/** Types of several subpaths, used for real. */
const USED = `import type { Request as ExpressRequest } from 'express'
import type { Context } from 'hono'
import type { Pool, PoolClient } from 'pg'
import { createReprise, ERRORS, isRepriseError, memoryStore, RepriseError, type ErrorCode, type Reprise } from 'reprise'
import { createClient } from 'reprise/client'
import { stripe } from 'reprise/dialects'
import { idempotent as express } from 'reprise/express'
import { idempotent as fetching, txOf } from 'reprise/fetch'
import { idempotent as hono } from 'reprise/hono'
import { postgresStore } from 'reprise/postgres'
import { combine, keepStats } from 'reprise/telemetry'

declare const pool: Pool

export const plain: Reprise = createReprise({ store: memoryStore() })
export const reprise = createReprise({ store: postgresStore(pool) })

export const onExpress = express(reprise, {
  caller: (request: ExpressRequest) => request.ip ?? 'unknown',
  transaction: true,
})
export const onHono = hono(plain, { caller: (context: Context) => context.req.header('x') ?? '' })
export const handler = fetching(reprise, { caller: () => 'c', transaction: true }, async (request) => {
  const tx: PoolClient = txOf(request)
  await tx.query('select 1')
  return new Response('{}', { status: 201 })
})
export const answered: Promise<Response> = handler(new Request('http://localhost'))

export function codeOf(error: unknown): ErrorCode | undefined {
  if (error instanceof RepriseError) return error.code
  return isRepriseError(error) ? error.code : undefined
}
export const all = [ERRORS, createClient, stripe, combine, keepStats]
`

const NEST = `import type { DynamicModule, NestInterceptor } from '@nestjs/common'
import { createReprise, memoryStore } from 'reprise'
import { IdempotencyInterceptor, IdempotencyModule, Idempotent } from 'reprise/nest'

const reprise = createReprise({ store: memoryStore() })
class Tenants { readonly current = 'tenant' }
export const modules: DynamicModule[] = [
  IdempotencyModule.forRoot({ reprise, caller: () => 'c' }),
  IdempotencyModule.forRootAsync({
    inject: [Tenants],
    useFactory: (tenants: Tenants) => ({ reprise, caller: () => tenants.current }),
  }),
]
export const interceptor: NestInterceptor = new IdempotencyInterceptor({ reprise, caller: () => 'c' })
export const decorator: MethodDecorator & ClassDecorator = Idempotent({ required: true })
`

/** A line for each error that has to be found. */
const WRONG = `import { createReprise, memoryStore } from 'reprise'
import { nothing } from 'reprise/express'
export const reprise = createReprise({ store: memoryStore(), storre: 1 })
export const text: number = createReprise({ store: memoryStore() })
`

const ENGINE = `import { createReprise, memoryStore, RepriseError } from 'reprise'
export const reprise = createReprise({ store: memoryStore() })
export function fail(): RepriseError { throw new Error('never called') }
`

const BOTH = `import { isRepriseError, RepriseError, type Reprise } from 'reprise'
import { idempotent } from 'reprise/fetch'
import { fail, reprise } from './engine.cjs'
export const engine: Reprise = reprise
export const error: RepriseError = fail()
export const known: boolean = isRepriseError(error)
export const handler = idempotent(reprise, { caller: () => 'c' }, async () => new Response())
`
