/**
 * What `reprise init` writes: it compiles, and it protects.
 *
 * @module
 */

import { symlinkSync } from 'node:fs'
import {
  createServer,
  type IncomingMessage,
  type RequestListener,
  type Server,
  type ServerResponse,
} from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { serve } from '@hono/node-server'
import express from 'express'
import Fastify from 'fastify'
import { Hono } from 'hono'
import Koa from 'koa'
import type pg from 'pg'
import ts from 'typescript'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { cli, project } from './harness.ts'
import { DatabaseWorld } from './world.ts'

const root = join(import.meta.dirname, '../..')
const FRAMEWORKS = ['express', 'fastify', 'hono', 'koa', 'nest', 'next', 'node']
const world = new DatabaseWorld()

/** What the written module exports, as far as the tests use it. */
interface Written {
  readonly pool: pg.Pool
  readonly reprise: { close(): Promise<void> }
  readonly once: never
  readonly idempotency: never
  readonly tx: (request: object) => pg.PoolClient
  readonly protect: (handler: unknown) => never
}

/** Has the files written in a project of a framework. */
async function written(framework: string, packages: readonly string[] = ['pg']): Promise<string> {
  const dependencies = ['reprise', ...packages]
  const isTypeScript = packages.includes('typescript')
  const manifest = {
    type: 'module',
    dependencies: Object.fromEntries(dependencies.map((name) => [name, '*'])),
  }
  const linked = ['pg', '@types/pg', '@types/node', 'postgres', 'hono', '@nestjs', 'express']
  const cwd = project({ 'package.json': JSON.stringify(manifest) }, linked)
  // As it was built, which is how its users have it.
  symlinkSync(root, join(cwd, 'node_modules/reprise'))
  const { exit } = await cli(['init', '--framework', framework, '--schema', world.schema], { cwd })
  expect(exit).toBe(0)
  return join(cwd, isTypeScript ? 'reprise.ts' : 'reprise.js')
}

type Charge = (request: object) => Promise<string>
type Start = (module: Written, charge: Charge) => Promise<string>

/** An app of each framework, with a route as the next steps say. */
const APPS: readonly (readonly [name: string, start: Start])[] = [
  [
    'express',
    async ({ once }, charge) => {
      const app = express()
      app.post('/charges', express.json(), once, async (req, res) => {
        res.status(201).send(await charge(req))
      })
      return address(createServer(app))
    },
  ],
  [
    'fastify',
    async ({ idempotency, once }, charge) => {
      const app = Fastify()
      await app.register(idempotency, once)
      app.post('/charges', async (request, reply) => reply.code(201).send(await charge(request)))
      await app.listen({ port: 0 })
      return address(app.server)
    },
  ],
  [
    'hono',
    async ({ once }, charge) => {
      const app = new Hono()
      app.post('/charges', once, async (c) => c.text(await charge(c), 201))
      // It makes an HTTP/1 server unless it is told otherwise.
      return address(serve({ fetch: app.fetch, port: 0 }) as Server)
    },
  ],
  [
    'koa',
    async ({ once }, charge) => {
      const app = new Koa()
      app.use(once)
      app.use(async (ctx) => {
        ctx.status = 201
        ctx.body = await charge(ctx)
      })
      return address(createServer(app.callback() as RequestListener))
    },
  ],
  [
    'node',
    async ({ protect }, charge) => {
      const handler = async (request: IncomingMessage, response: ServerResponse) => {
        response.writeHead(201).end(await charge(request))
      }
      return address(createServer(protect(handler)))
    },
  ],
  [
    'next',
    async ({ protect }, charge) => {
      const POST: (request: Request) => Promise<Response> = protect(
        async (request: Request) => new Response(await charge(request), { status: 201 }),
      )
      return address(serve({ fetch: POST, port: 0 }) as Server)
    },
  ],
]

describe('what init writes', () => {
  test('compiles in every framework, with each driver and with an ORM', async () => {
    const files: string[] = []
    for (const framework of FRAMEWORKS) {
      files.push(await written(framework, ['typescript', 'pg']))
      files.push(await written(framework, ['typescript', 'postgres']))
      files.push(await written(framework, ['typescript', 'pg', 'kysely']))
    }
    const { config } = ts.readConfigFile(join(root, 'tsconfig.json'), ts.sys.readFile)
    const { options } = ts.parseJsonConfigFileContent(config, ts.sys, root)
    const program = ts.createProgram(files, options)
    const problems = files.flatMap((file) => {
      const source = program.getSourceFile(file)
      const all = [
        ...program.getSemanticDiagnostics(source),
        ...program.getSyntacticDiagnostics(source),
      ]
      return all.map(({ messageText }) => ts.flattenDiagnosticMessageText(messageText, '\n'))
    })
    expect(problems).toEqual([])
  })

  test.each(APPS)('%s: refuses whom nobody knows, and has one effect', async (name, start) => {
    await world.up()
    await world.sql(`create table ${world.schema}.charges (id int generated always as identity)`)
    vi.stubEnv('DATABASE_URL', world.url)
    const module: Written = await import(/* @vite-ignore */ await written(name))
    onTestFinished(() => module.pool.end())
    onTestFinished(() => module.reprise.close())
    const insert = `insert into ${world.schema}.charges default values returning id`
    const charge = async (request: object) => {
      const { rows } = await module.tx(request).query(insert)
      return JSON.stringify(rows[0])
    }
    const url = await start(module, charge)
    const post = (headers: Record<string, string>) =>
      fetch(url, { method: 'POST', headers: { 'Idempotency-Key': 'k-1', ...headers } })

    expect((await post({})).status).toBe(401)
    const first = await post({ Authorization: 'Bearer a' })
    const second = await post({ Authorization: 'Bearer a' })

    expect([first.status, second.status]).toEqual([201, 201])
    expect(await second.text()).toBe(await first.text())
    expect(second.headers.get('Idempotent-Replayed')).toBe('true')
    const { rows } = await world.sql(`select count(*)::int as count from ${world.schema}.charges`)
    expect(rows).toEqual([{ count: 1 }])
  })
})

/** Where a server listens, until the test is over. */
async function address(server: Server): Promise<string> {
  onTestFinished(() => void server.close())
  if (!server.listening) await new Promise((resolve) => server.listen(0, () => resolve(null)))
  // A server that listens on a port has an address of this kind.
  const { port } = server.address() as AddressInfo
  return `http://localhost:${port}/charges`
}
