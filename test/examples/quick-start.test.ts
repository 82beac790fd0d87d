/**
 * The quick starts: what the guides show is what is compiled and run here, through the package's own
 * exports.
 *
 * @module
 */

import { execFile } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import type { Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import { query } from '../../scripts/servers/postgres.ts'
import { temporaryDatabase } from '../support/postgres.ts'

const root = join(import.meta.dirname, '../..')
const folder = join(root, 'examples/quick-start')
const guides = join(root, 'docs/guides')
const FRAMEWORKS = ['express', 'fastify', 'fetch', 'hono', 'koa', 'nest', 'next', 'node']
const LINES_MAX = 21
/** In milliseconds; a compiler on a busy machine is slow. */
const COMPILE_MS = 180_000

type Send = (request: Request) => Promise<Response>

/** What a quick start exports: a server that listens, or a handler. */
interface QuickStart {
  readonly server?: Server
  readonly default?: { readonly fetch: Send }
  readonly POST?: (request: Request, context: object) => Promise<Response>
}

interface Answer {
  readonly status: number
  readonly body: string
  readonly replayed: string | null
  readonly echo: string | null
}

beforeEach(() => {
  // Any port that is free.
  vi.stubEnv('PORT', '0')
})

test('there is a quick start for each framework, the client and the README, and no other', () => {
  const files = readdirSync(folder).filter((file) => file.endsWith('.ts'))
  const names = [...FRAMEWORKS, 'client', 'readme']
  expect(files.sort()).toEqual(names.sort().map((name) => `${name}.ts`))
})

test(
  'every quick start compiles against what the package exports',
  async () => {
    const compiler = join(root, 'node_modules/typescript/bin/tsc')
    const compiling = promisify(execFile)(process.execPath, [compiler, '--noEmit', '-p', folder])
    await expect(compiling).resolves.toMatchObject({ stdout: '' })
  },
  COMPILE_MS,
)

test.each([...FRAMEWORKS, 'client', 'readme'])(
  'the quick start for %s is the first code in its guide',
  (name) => {
    const guide = read(name === 'readme' ? join(root, 'README.md') : join(guides, `${name}.md`))
    const code = read(join(folder, `${name}.ts`))

    expect(/```ts\n(.*?)```/s.exec(guide)?.[1]).toBe(code)
    expect(code.trimEnd().split('\n').length).toBeLessThanOrEqual(LINES_MAX)
  },
)

describe.each(FRAMEWORKS)('the quick start for %s', (name) => {
  test('has one effect for two requests with one key, and repeats its answer', async () => {
    const send = await start(await import(`../../examples/quick-start/${name}.ts`))
    const first = await post(send, { key: 'a' })
    const second = await post(send, { key: 'a' })
    const other = await post(send, { key: 'b' })
    const stranger = await post(send, { key: 'a', account: 'another' })
    const nobody = await post(send, { key: 'c', account: null })

    expect(first).toEqual({ status: 201, body: '{"id":1}', replayed: null, echo: 'a' })
    expect(second).toEqual({ ...first, replayed: 'true' })
    // Counted by the example itself: the second request had added nothing.
    expect(other.body).toBe('{"id":2}')
    expect(stranger.body).toBe('{"id":3}')
    expect(nobody.status).toBe(401)
  })
})

test('the code of the README has one effect for two requests with one key', async () => {
  const database = await temporaryDatabase()
  onTestFinished(() => database.drop())
  await query(
    database.url,
    'create table charges (id int generated always as identity, amount int)',
  )
  vi.stubEnv('DATABASE_URL', database.url)
  const sample = await import('../../examples/quick-start/readme.ts')
  onTestFinished(() => sample.pool.end())
  const send = await start(sample)
  const first = await post(send, { key: 'a' })
  const second = await post(send, { key: 'a' })
  const nobody = await post(send, { key: 'b', account: null })
  const { rows } = await query(database.url, 'select amount from charges')

  expect(first).toEqual({ status: 201, body: '{"id":1}', replayed: null, echo: 'a' })
  expect(second).toEqual({ ...first, replayed: 'true' })
  expect(nobody.status).toBe(401)
  expect(rows).toEqual([{ amount: 4200 }])
})

function read(file: string): string {
  return readFileSync(file, 'utf8')
}

/** How to send requests to a quick start. */
async function start({ server, POST, default: exported }: QuickStart): Promise<Send> {
  if (exported !== undefined) return exported.fetch
  if (POST !== undefined) return (request) => POST(request, { params: Promise.resolve({}) })
  if (server === undefined) throw new Error('The quick start exports nothing to send requests to.')
  onTestFinished(() => void server.close())
  if (!server.listening) await new Promise((resolve) => server.once('listening', resolve))
  // A server that listens on a port has an address of this kind.
  const { port } = server.address() as AddressInfo
  return (request) => fetch(new Request(`http://localhost:${port}/charges`, request))
}

async function post(
  send: Send,
  { key, account = 'one' }: { key: string; account?: string | null },
): Promise<Answer> {
  const response = await send(
    new Request('http://localhost/charges', {
      method: 'POST',
      headers: {
        'Content-Type': 'application/json',
        ...(account === null ? {} : { Authorization: `Bearer ${account}` }),
        'Idempotency-Key': key,
      },
      body: '{"amount":4200}',
    }),
  )
  return {
    status: response.status,
    body: await response.text(),
    replayed: response.headers.get('Idempotent-Replayed'),
    echo: response.headers.get('Idempotency-Key'),
  }
}
