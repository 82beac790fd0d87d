/**
 * An operation in phases behind every framework: the same answers, whoever carries them.
 */

import { createServer, type RequestListener } from 'node:http'
import { getRequestListener } from '@hono/node-server'
import { bodyParser } from '@koa/bodyparser'
import express from 'express'
import fastify from 'fastify'
import { Hono } from 'hono'
import Koa from 'koa'
import pg from 'pg'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { z } from 'zod'
import * as viaExpress from '../../src/adapters/express.ts'
import * as viaFastify from '../../src/adapters/fastify.ts'
import * as viaFetch from '../../src/adapters/fetch.ts'
import * as viaHono from '../../src/adapters/hono.ts'
import * as viaKoa from '../../src/adapters/koa.ts'
import * as viaNext from '../../src/adapters/next.ts'
import * as viaNode from '../../src/adapters/node.ts'
import { rides } from '../../src/core/dialects/rides.ts'
import type { Servable } from '../../src/engine/servable.ts'
import { createReprise } from '../../src/index.ts'
import {
  advance,
  foreignCall,
  operation,
  phase,
  respond,
  retryLater,
} from '../../src/phases/index.ts'
import { postgresStore } from '../../src/stores/postgres/index.ts'
import { type TemporaryDatabase, temporaryDatabase } from '../support/postgres.ts'

let database: TemporaryDatabase
let pool: pg.Pool
let createRide: Servable
const provider = { isDown: false, calls: 0 }

beforeAll(async () => {
  database = await temporaryDatabase()
  pool = new pg.Pool({ connectionString: database.url })
  await pool.query('create table rides (id serial primary key, caller text, target text)')
  const reprise = createReprise({ store: postgresStore(pool) })
  const input = z.object({ target: z.string().min(1) })
  createRide = operation(
    'create_ride',
    { reprise, input, retryAfterMs: 7000 },
    {
      started: phase(async ({ tx, input: { target }, caller }) => {
        const sql = 'insert into rides (caller, target) values ($1, $2) returning id'
        const { rows } = await tx.query<{ id: number }>(sql, [caller, target])
        return advance('ride_created', { id: rows[0]?.id ?? 0 })
      }),
      ride_created: foreignCall({
        async call() {
          provider.calls++
          if (provider.isDown) throw new Error('down')
        },
        done: (_, { id }: { id: number }) =>
          respond(201, { id }, { headers: { location: `/rides/${id}` } }),
        failed: () => retryLater(),
      }),
    },
  )
})

afterAll(async () => {
  await pool.end()
  await database.drop()
})

type Handler = (...given: Parameters<RequestListener>) => unknown

let close: () => Promise<void>
afterEach(() => close())

async function listening(handler: Handler): Promise<string> {
  const server = createServer((request, response) => void handler(request, response))
  close = () => new Promise((resolve) => server.close(() => resolve()))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  if (typeof address !== 'object' || address === null) throw new Error('No address.')
  return `http://127.0.0.1:${address.port}`
}

const caller = () => 'user-1'

/** Serves the operation at `POST /rides`; gives the address. */
const SERVERS: Readonly<Record<string, () => Promise<string>>> = {
  Express: () => {
    const app = express()
    app.post('/rides', viaExpress.serve(createRide, { caller }))
    return listening(app)
  },
  'Express behind its body parser': () => {
    const app = express()
    app.use(express.json())
    app.post('/rides', viaExpress.serve(createRide, { caller }))
    return listening(app)
  },
  Fastify: async () => {
    const app = fastify()
    app.post('/rides', viaFastify.serve(createRide, { caller }))
    const url = await app.listen({ port: 0, host: '127.0.0.1' })
    close = () => app.close()
    return url
  },
  Hono: () => {
    const app = new Hono()
    app.post('/rides', viaHono.serve(createRide, { caller }))
    return listening(getRequestListener(app.fetch))
  },
  Koa: () => {
    const app = new Koa()
    app.use(viaKoa.serve(createRide, { caller }))
    return listening(app.callback())
  },
  'Koa behind its body parser': () => {
    const app = new Koa()
    app.use(bodyParser())
    app.use(viaKoa.serve(createRide, { caller }))
    return listening(app.callback())
  },
  fetch: () => listening(getRequestListener(viaFetch.serve(createRide, { caller }))),
  Next: () => listening(getRequestListener(viaNext.serve(createRide, { caller }))),
  Node: () => listening(viaNode.serve(createRide, { caller })),
}

let numbers = 0
function post(
  url: string,
  { key, body = { target: 'moon' }, type = 'application/json' }: Sent = {},
) {
  const headers: Record<string, string> = { 'content-type': type }
  if (key !== undefined) headers['idempotency-key'] = key
  const text = typeof body === 'string' ? body : JSON.stringify(body)
  return fetch(`${url}/rides`, { method: 'POST', headers, body: text })
}
interface Sent {
  readonly key?: string
  readonly body?: unknown
  readonly type?: string
}

async function ridesCount(): Promise<number> {
  const { rows } = await pool.query<{ count: number }>('select count(*)::int as count from rides')
  return rows[0]?.count ?? 0
}

describe.each(Object.entries(SERVERS))('an operation behind %s', (_, start) => {
  test('answers, and answers again the same, with one effect', async () => {
    const url = await start()
    const key = `key-${numbers++}`
    const before = await ridesCount()

    const first = await post(url, { key })
    const again = await post(url, { key })

    expect(first.status).toBe(201)
    expect(again.status).toBe(201)
    expect(again.headers.get('location')).toBe(first.headers.get('location'))
    expect(await again.text()).toBe(await first.text())
    expect(first.headers.get('idempotent-replayed')).toBeNull()
    expect(again.headers.get('idempotent-replayed')).toBe('true')
    expect(await ridesCount()).toBe(before + 1)
  })

  test('says when to come back while the provider is down, and then goes on', async () => {
    const url = await start()
    const key = `key-${numbers++}`
    const before = await ridesCount()

    provider.isDown = true
    const down = await post(url, { key })
    provider.isDown = false
    const up = await post(url, { key })

    expect(down.status).toBe(503)
    expect(down.headers.get('retry-after')).toBe('7')
    expect(await down.json()).toMatchObject({ code: 'idempotency-retry-later', retryable: true })
    expect(up.status).toBe(201)
    expect(await ridesCount()).toBe(before + 1)
  })

  test('refuses an input that its schema refuses, and leaves the key free', async () => {
    const url = await start()
    const key = `key-${numbers++}`

    const refused = await post(url, { key, body: { target: '' } })
    const corrected = await post(url, { key })

    expect(refused.status).toBe(422)
    expect(await refused.json()).toMatchObject({
      code: 'idempotency-input-invalid',
      errors: [{ path: 'target' }],
    })
    expect(corrected.status).toBe(201)
  })

  test('refuses another request under the same key', async () => {
    const url = await start()
    const key = `key-${numbers++}`
    await post(url, { key })

    const other = await post(url, { key, body: { target: 'mars' } })

    expect(other.status).toBe(422)
    expect(await other.json()).toMatchObject({ code: 'idempotency-key-reused' })
  })
})

describe('an operation', () => {
  test('reads forms, in a dialect of its own', async () => {
    const app = express()
    app.post('/rides', viaExpress.serve(createRide, { caller, dialect: rides }))
    const url = await listening(app)
    const type = 'application/x-www-form-urlencoded'
    const key = `a-key-of-twenty-letters-${numbers++}`

    const answer = await post(url, { key, type, body: 'target=moon' })
    const invalid = await post(url, { key: `${key}-2`, type, body: 'target=' })

    expect(answer.status).toBe(201)
    expect(invalid.status).toBe(422)
    expect(Object.keys(Object(await invalid.json()))).toEqual(['error'])
  })

  test('runs under a key of its own where none is required and none came', async () => {
    const url = await listening(viaNode.serve(createRide, { caller, required: false }))
    const before = await ridesCount()

    const answers = [await post(url), await post(url)]

    expect(answers.map(({ status }) => status)).toEqual([201, 201])
    expect(await ridesCount()).toBe(before + 2)
  })

  test('refuses a body that is not JSON', async () => {
    const url = await listening(viaNode.serve(createRide, { caller }))

    const answer = await post(url, { key: `key-${numbers++}`, body: '{' })

    expect(answer.status).toBe(400)
    expect(await answer.json()).toMatchObject({ code: 'idempotency-body-invalid' })
  })

  test('is given what the route says is its input', async () => {
    const input = () => ({ target: 'from the route' })
    const url = await listening(viaNode.serve(createRide, { caller, input }))

    await post(url, { key: `key-${numbers++}` })

    const { rows } = await pool.query('select target from rides order by id desc limit 1')
    expect(rows).toEqual([{ target: 'from the route' }])
  })

  test('answers 405 to a method that it is not for', async () => {
    const url = await listening(viaNode.serve(createRide, { caller }))

    expect((await fetch(`${url}/rides`)).status).toBe(405)
  })
})
