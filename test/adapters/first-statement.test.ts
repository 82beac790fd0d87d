import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { getRequestListener } from '@hono/node-server'
import { bodyParser } from '@koa/bodyparser'
import express from 'express'
import fastify from 'fastify'
import { Hono } from 'hono'
import Koa from 'koa'
import type pg from 'pg'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import * as forExpress from '../../src/adapters/express.ts'
import * as forFastify from '../../src/adapters/fastify.ts'
import * as forHono from '../../src/adapters/hono.ts'
import * as forKoa from '../../src/adapters/koa.ts'
import { createReprise, type Reprise } from '../../src/index.ts'
import { postgresStore } from '../../src/stores/postgres/index.ts'
import { poolOf } from '../conformance/postgres.harness.ts'
import { type TemporaryDatabase, temporaryDatabase } from '../support/postgres.ts'

type Tx = pg.PoolClient

/** What the handler does on its transaction; gives the note that it answers with. */
type Work = (tx: Tx) => Promise<string>

const OPTIONS = {
  ...{ caller: () => 'acct', required: true, transaction: true },
  claim: 'with-first-statement',
} as const
const ADD = { name: 'add', text: 'insert into effects (note) values ($1)' }

let database: TemporaryDatabase
let pools: readonly [pg.Pool, pg.Pool]
let engines: readonly Reprise<Tx>[]
let keys = 0
const servers: Server[] = []

beforeAll(async () => {
  database = await temporaryDatabase()
  const open = () => poolOf(database.url, { pipeline: true, max: 3 })
  pools = [open(), open()]
  engines = pools.map((pool) => createReprise({ store: postgresStore(pool), replayCache: false }))
  await pools[0].query('create table effects (id bigint generated always as identity, note text)')
})

beforeEach(async () => {
  await pools[0].query('truncate effects')
})

afterEach(async () => {
  const closing = servers.splice(0).map((server) => {
    server.closeAllConnections()
    return new Promise((resolve) => server.close(resolve))
  })
  await Promise.all(closing)
})

afterAll(async () => {
  await Promise.all(pools.map((pool) => pool.end()))
  await database.drop()
})

const FRAMEWORKS: Readonly<Record<string, (on: Reprise<Tx>, work: Work) => Promise<Server>>> = {
  async express(reprise, work) {
    const app = express()
    const once = forExpress.idempotent<express.Request, Tx>(reprise, OPTIONS)
    app.post('/notes', express.json(), once, (request, response, next) => {
      const worked = work(forExpress.txOf<Tx>(request))
      worked.then((note) => response.status(201).json({ note }), next)
    })
    // Errors are answered, and not printed.
    const failed: express.ErrorRequestHandler = (_, __, response, ___) => {
      response.status(500).set('X-Failed', 'yes').json({ failed: true })
    }
    app.use(failed)
    return createServer(app)
  },
  async fastify(reprise, work) {
    const app = fastify()
    const preHandler = forFastify.idempotent<Tx>(reprise, OPTIONS)
    app.post('/notes', { preHandler }, async (request, reply) => {
      return reply.code(201).send({ note: await work(forFastify.txOf<Tx>(request)) })
    })
    await app.ready()
    return app.server
  },
  async hono(reprise, work) {
    const app = new Hono()
    app.use('/notes', forHono.idempotent(reprise, OPTIONS))
    app.post('/notes', async (c) => c.json({ note: await work(forHono.txOf<Tx>(c)) }, 201))
    app.onError((_, c) => c.json({ failed: true }, 500))
    const listener = getRequestListener(app.fetch)
    return createServer((request, response) => void listener(request, response))
  },
  async koa(reprise, work) {
    const app = new Koa()
    app.silent = true
    app.use(bodyParser())
    app.use(forKoa.idempotent(reprise, OPTIONS))
    app.use(async (ctx) => {
      ctx.body = { note: await work(forKoa.txOf<Tx>(ctx)) }
      ctx.status = 201
    })
    const listener = app.callback()
    return createServer((request, response) => void listener(request, response))
  },
}

/** Serves on an engine; asks. */
async function serve(framework: string, engine: number, work: Work) {
  const [reprise, make] = [engines[engine], FRAMEWORKS[framework]]
  if (reprise === undefined || make === undefined) throw new Error('There is no such thing.')
  const server = await make(reprise, work)
  servers.push(server)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  // A server on a port has one.
  const { port } = server.address() as AddressInfo
  return async (key: string) => {
    const answer = await fetch(`http://127.0.0.1:${port}/notes`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json', 'Idempotency-Key': key },
      body: '{"a":1}',
    })
    return { status: answer.status, headers: answer.headers, text: await answer.text() }
  }
}

const add =
  (note: string): Work =>
  async (tx) => {
    await tx.query({ ...ADD, values: [note] })
    return note
  }

async function notes(): Promise<readonly string[]> {
  const { rows } = await pools[0].query<{ note: string }>('select note from effects order by id')
  return rows.map(({ note }) => note)
}

describe.each(Object.keys(FRAMEWORKS))('%s, with the claim in the first statement', (framework) => {
  it.each<readonly [string, Work]>([
    ['lets the error pass', add('second')],
    ['swallows it and answers', async (tx) => add('x')(tx).catch(() => 'mine')],
    ['makes no statement', async () => 'mine'],
    ['never ends', async (tx) => add('x')(tx).catch(() => new Promise<string>(() => {}))],
  ])('answers a duplicate with the first answer when the handler %s', async (_, work) => {
    const key = `key-${++keys}`
    const ask = await serve(framework, 0, add('first'))
    const askAgain = await serve(framework, 1, work)
    // The first of a store claims first; the second prepares what then travels together.
    for (const one of [ask, askAgain]) {
      for (let round = 0; round < 3; round++) await one(`warm-${++keys}`)
    }
    await pools[0].query('truncate effects')
    const first = await ask(key)
    const second = await askAgain(key)

    expect([first.status, first.text]).toEqual([201, '{"note":"first"}'])
    expect([second.status, second.text]).toEqual([201, '{"note":"first"}'])
    expect(second.headers.get('idempotent-replayed')).toBe('true')
    expect(second.headers.get('x-failed')).toBeNull()
    // More than there are connections: each has to have given its own back.
    for (let again = 0; again < 4; again++) expect((await askAgain(key)).status).toBe(201)
    expect(await notes()).toEqual(['first'])
  })

  it('sends nothing of a duplicate while the first is in progress', async () => {
    const key = `key-${++keys}`
    let begun = () => {}
    let end = () => {}
    const hasBegun = new Promise<void>((resolve) => {
      begun = resolve
    })
    const ending = new Promise<void>((resolve) => {
      end = resolve
    })
    const ask = await serve(framework, 0, async (tx) => {
      const note = await add('first')(tx)
      begun()
      await ending
      return note
    })
    const askAgain = await serve(framework, 1, async (tx) => add('x')(tx).catch(() => 'mine'))
    const first = ask(key)
    await hasBegun
    const second = await askAgain(key)
    end()

    expect(second.status).toBe(409)
    expect(JSON.parse(second.text)).toMatchObject({ code: 'idempotency-in-progress' })
    expect(second.headers.get('retry-after')).not.toBeNull()
    expect((await first).status).toBe(201)
    expect(await notes()).toEqual(['first'])
  })
})

describe('a route', () => {
  it('refuses a claim without a transaction', async () => {
    const { transaction: _, ...rest } = OPTIONS
    const [reprise] = engines
    if (reprise === undefined) throw new Error('There is no engine.')
    expect(() => forExpress.idempotent<express.Request, Tx>(reprise, rest)).toThrow(
      /claim is set, and transaction is not/,
    )
  })
})
