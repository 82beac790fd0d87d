/**
 * The end of a process: every quick start, and what `reprise init` writes, ends soon after SIGTERM.
 *
 * @module
 */

import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { query } from '../../scripts/servers/postgres.ts'
import { cli, project } from '../cli/harness.ts'
import { openDoor } from '../support/door.ts'
import { temporaryDatabase } from '../support/postgres.ts'
import type { StopTask } from './stop-program.ts'

const root = join(import.meta.dirname, '../..')
const program = join(import.meta.dirname, 'stop-program.ts')
const FRAMEWORKS = ['express', 'fastify', 'fetch', 'hono', 'koa', 'nest', 'next', 'node']
/** What the guide promises of a process in which nothing runs, in milliseconds. */
const END_MS_MAX = 1000

interface Ended {
  readonly code: number
  readonly ms: number
  readonly left: readonly string[]
}

test.each(FRAMEWORKS)('the quick start for %s ends within a second of SIGTERM', async (name) => {
  const app = await start(join(root, `examples/quick-start/${name}.ts`))
  expect([await app.post('a'), await app.post('a')]).toEqual([201, 201])

  expectEnded(await app.stop())
})

test.each(['express', 'fastify', 'hono', 'koa', 'node', 'next'])(
  'what init writes for %s ends within a second of SIGTERM',
  async (framework) => {
    const { url } = await database()
    const app = await start(await written(framework), { DATABASE_URL: url })
    expect([await app.post('a'), await app.post('a')]).toEqual([201, 201])

    expectEnded(await app.stop())
  },
)

const WITH_DATABASE: readonly (readonly [string, () => Promise<string>])[] = [
  ['the code of the README', async () => join(root, 'examples/quick-start/readme.ts')],
  ['what init writes', () => written('express')],
]

test.each(WITH_DATABASE)(
  '%s ends within a second when its pool was ended first',
  async (_, find) => {
    const { url } = await database()
    const app = await start(await find(), { DATABASE_URL: url }, true)
    expect([await app.post('a'), await app.post('a')]).toEqual([201, 201])

    expectEnded(await app.stop())
  },
)

test.each(WITH_DATABASE)(
  '%s ends within a second when its database has gone, also after a request that found it gone',
  async (_, find) => {
    const { url } = await database()
    const door = await openDoor(url)
    const through = Object.assign(new URL(url), { port: new URL(door.url).port })
    const app = await start(await find(), { DATABASE_URL: through.href })
    expect(await app.post('a')).toBe(201)
    await door.shut()
    expect(await app.post('b')).toBe(503)

    expectEnded(await app.stop())
  },
)

function expectEnded({ code, ms, left }: Ended): void {
  expect({ code, isSoon: ms < END_MS_MAX, left }).toEqual({ code: 0, isSoon: true, left })
  expect(left).not.toContain('Timeout')
}

/** A database with the table that the samples write to, and the schema as a deploy makes it. */
async function database(): Promise<{ readonly url: string }> {
  const made = await temporaryDatabase()
  onTestFinished(() => made.drop())
  await query(made.url, 'create table charges (id int generated always as identity, amount int)')
  const { exit } = await cli(['migrate', 'up'], { env: { DATABASE_URL: made.url } })
  expect(exit).toBe(0)
  return made
}

/** An app of a framework around the module that init writes. */
async function written(framework: string): Promise<string> {
  const manifest = { type: 'module', dependencies: { reprise: '*', pg: '*' } }
  const linked = ['pg', 'hono', '@hono', 'express', 'fastify', 'koa']
  const cwd = project({ 'package.json': JSON.stringify(manifest) }, linked)
  symlinkSync(root, join(cwd, 'node_modules/reprise'))
  const { exit } = await cli(['init', '--framework', framework], { cwd })
  expect(exit).toBe(0)
  const file = join(cwd, 'app.js')
  const text = APPS[framework] ?? ''
  const used = ['protect', 'idempotency', 'once'].filter((name) => text.includes(name))
  const lines = [
    `import { ${['pool', 'reprise', 'tx', ...used].join(', ')} } from './reprise.js'`,
    `const charge = async (request) => {`,
    `  const sql = 'insert into charges (amount) values (1) returning id'`,
    `  return (await tx(request).query(sql)).rows[0]`,
    '}',
    text,
    'export { pool, reprise }',
  ]
  writeFileSync(file, lines.join('\n'))
  return file
}

const APPS: Readonly<Record<string, string>> = {
  express: `import express from 'express'
const app = express()
app.post('/charges', express.json(), once, async (req, res) => void res.status(201).json(await charge(req)))
export const server = app.listen(0)`,
  fastify: `import Fastify from 'fastify'
const app = Fastify()
await app.register(idempotency, once)
app.post('/charges', async (request, reply) => reply.code(201).send(await charge(request)))
await app.listen({ port: 0 })
export const { server } = app`,
  hono: `import { serve } from '@hono/node-server'
import { Hono } from 'hono'
const app = new Hono()
app.post('/charges', once, async (c) => c.json(await charge(c), 201))
export const server = serve({ fetch: app.fetch, port: 0 })`,
  koa: `import Koa from 'koa'
const app = new Koa()
app.use(once)
app.use(async (ctx) => {
  ctx.status = 201
  ctx.body = await charge(ctx)
})
export const server = app.listen(0)`,
  node: `import { createServer } from 'node:http'
export const server = createServer(protect(async (request, response) => {
  response.writeHead(201).end(JSON.stringify(await charge(request)))
})).listen(0)`,
  next: `export const POST = protect(async (request) => Response.json(await charge(request), { status: 201 }))`,
}

interface Started {
  /** Sends a request with the key and gives the status of its answer. */
  post(key: string): Promise<number>
  /** Sends SIGTERM and gives how the process ended. */
  stop(): Promise<Ended>
}

async function start(
  module: string,
  env: Readonly<Record<string, string>> = {},
  isPoolFirst = false,
): Promise<Started> {
  const task: StopTask = { module, isPoolFirst }
  const tsconfig = join(root, 'examples/quick-start/tsconfig.json')
  const child = fork(program, [JSON.stringify(task)], {
    execArgv: ['--import', 'tsx'],
    env: { ...process.env, PORT: '0', TSX_TSCONFIG_PATH: tsconfig, ...env },
  })
  onTestFinished(() => void child.kill('SIGKILL'))
  const { port } = (await message(child)) as { readonly port: number }
  return {
    async post(key) {
      const response = await fetch(`http://localhost:${port}/charges`, {
        method: 'POST',
        headers: {
          ...{ 'Content-Type': 'application/json', Authorization: 'Bearer one' },
          'Idempotency-Key': key,
        },
        body: '{"amount":4200}',
      })
      await response.text()
      return response.status
    },
    async stop() {
      const ended = message(child)
      child.kill('SIGTERM')
      return (await ended) as Ended
    },
  }
}

/** What a process says next; rejects when it ends without a word. */
async function message(child: ChildProcess): Promise<unknown> {
  const gone = once(child, 'exit').then(async ([code]) => {
    // What it said last may be read after its exit is known.
    await new Promise((resolve) => setImmediate(resolve))
    throw new Error(`The process ended with ${code}.`)
  })
  const [said] = await Promise.race([once(child, 'message'), gone])
  return said
}
