import type pg from 'pg'
import { describe, expect, test } from 'vitest'
import { idempotent, txOf } from '../../src/adapters/fetch.ts'
import { createReprise } from '../../src/index.ts'
import { postgresStore } from '../../src/stores/postgres/index.ts'
import { poolOf } from '../conformance/postgres.harness.ts'
import { temporaryDatabase } from '../support/postgres.ts'
import { describeAdapter } from './describe.ts'
import { routed } from './fetch-app.ts'
import { serveFetch } from './fetch-bridge.ts'
import { testDifferences } from './fetch-differential.ts'
import { fetchShapes } from './fetch-shapes.ts'

describeAdapter('fetch', {
  serve: (spec) => serveFetch(routed(spec)),
  // The options of this adapter are given the `Request` itself.
  header: (request, name) => (request as Request).headers.get(name) ?? undefined,
  parserPlaces: ['after', 'none'],
  rendersErrors: false,
})

describe('fetch', () => {
  testDifferences({
    shapes: fetchShapes,
    serve: ({ handler }, reprise) =>
      serveFetch(reprise ? idempotent(reprise, { caller: () => 'acct_1' }, handler) : handler),
  })
})

const caller = () => 'acct_1'

function post(body: string): Request {
  const headers = { 'Idempotency-Key': 'key-1' }
  return new Request('http://127.0.0.1/items', { method: 'POST', body, headers })
}

describe('transaction mode', () => {
  test('gives the handler the body again when its transaction loses to another', async () => {
    const { url, drop } = await temporaryDatabase()
    const pool = poolOf(url)
    try {
      const engine = createReprise({ store: postgresStore(pool) })
      const bodies: string[] = []
      const handler = idempotent(engine, { caller, transaction: true }, async (request) => {
        bodies.push(await request.text())
        const tx = txOf<pg.PoolClient>(request)
        if (bodies.length < 3) await tx.query("do $$ begin raise sqlstate '40001'; end $$")
        return new Response(`run ${bodies.length}`)
      })
      expect(await (await handler(post('the body'))).text()).toBe('run 3')
      expect(bodies).toEqual(['the body', 'the body', 'the body'])
    } finally {
      await pool.end()
      await drop()
    }
  })
})
