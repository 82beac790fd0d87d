/**
 * Handlers that answer past their framework, by Node's own response, in a transaction that then cannot be
 * committed: the client has to hear of it.
 */

import type { IncomingMessage, ServerResponse } from 'node:http'
import express from 'express'
import fastify from 'fastify'
import Koa from 'koa'
import type pg from 'pg'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import * as forExpress from '../../src/adapters/express.ts'
import * as forFastify from '../../src/adapters/fastify.ts'
import * as forKoa from '../../src/adapters/koa.ts'
import * as forNode from '../../src/adapters/node.ts'
import { createReprise, type Reprise } from '../../src/index.ts'
import { postgresStore } from '../../src/stores/postgres/index.ts'
import { poolOf } from '../conformance/postgres.harness.ts'
import { type TemporaryDatabase, temporaryDatabase } from '../support/postgres.ts'
import { listen } from './listen.ts'

type Tx = pg.PoolClient

const OPTIONS = { caller: () => 'acct', transaction: true } as const

let database: TemporaryDatabase
let pool: pg.Pool
let reprise: Reprise<Tx>
let runs: number

beforeAll(async () => {
  database = await temporaryDatabase()
  pool = poolOf(database.url, { max: 3 })
  reprise = createReprise({ store: postgresStore(pool) })
})

afterAll(async () => {
  await reprise.close()
  await pool.end()
  await database.drop()
})

/** Answers 402; the first time in a transaction in which a statement fails that nobody awaits. */
function answer(tx: Tx, response: ServerResponse): void {
  runs++
  if (runs === 1) tx.query('select 1 / 0').catch(() => {})
  response.statusCode = 402
  response.end(`run ${runs}`)
}

type Listener = (request: IncomingMessage, response: ServerResponse) => unknown

const FRAMEWORKS: Readonly<Record<string, () => Promise<Listener>>> = {
  async express() {
    const app = express()
    app.set('env', 'test')
    app.post('/', forExpress.idempotent<express.Request, Tx>(reprise, OPTIONS), (req, res) => {
      answer(forExpress.txOf<Tx>(req), res)
    })
    return app
  },
  async fastify() {
    const app = fastify()
    const preHandler = forFastify.idempotent<Tx>(reprise, OPTIONS)
    app.post('/', { preHandler }, async (request, reply) => {
      reply.hijack()
      answer(forFastify.txOf<Tx>(request), reply.raw)
    })
    await app.ready()
    return app.routing
  },
  async koa() {
    const app = new Koa()
    app.silent = true
    app.use(forKoa.idempotent(reprise, OPTIONS))
    app.use(async (ctx) => {
      ctx.respond = false
      answer(forKoa.txOf<Tx>(ctx), ctx.res)
    })
    return app.callback()
  },
  async node() {
    return forNode.idempotent<IncomingMessage, Tx>(reprise, OPTIONS, async (request, response) => {
      answer(forNode.txOf<Tx>(request), response)
    })
  },
}

describe.each(Object.entries(FRAMEWORKS))('%s', (_name, make) => {
  it('tells the client of a failed commit when the handler has answered past the framework', async () => {
    runs = 0
    const served = await listen(await make())
    onTestFinished(() => served.close())
    const key = crypto.randomUUID()
    const ask = async () => {
      const headers = { 'Idempotency-Key': key }
      const url = `http://127.0.0.1:${served.port}/`
      const told = await fetch(url, { method: 'POST', headers })
      return [told.status, await told.text()]
    }
    expect(await ask()).toEqual([500, expect.not.stringContaining('run')])
    expect(await ask()).toEqual([402, 'run 2'])
    expect(await ask()).toEqual([402, 'run 2'])
    expect(runs).toBe(2)
  })
})
