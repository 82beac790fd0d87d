import pg from 'pg'
import { expect, onTestFinished, test } from 'vitest'
import { idempotent, txOf } from '../../src/adapters/fetch.ts'
import { createReprise } from '../../src/engine/reprise.ts'
import { postgresStore } from '../../src/stores/postgres/index.ts'
import { temporaryDatabase } from '../support/postgres.ts'

test('a request without a key in transaction mode is the 400 of a missing key', async () => {
  const database = await temporaryDatabase()
  onTestFinished(() => database.drop())
  const pool = new pg.Pool({ connectionString: database.url })
  onTestFinished(() => pool.end())
  const reprise = createReprise({ store: postgresStore(pool) })
  const handler = idempotent(
    reprise,
    { caller: () => 'one', transaction: true },
    async (request) => {
      await txOf<pg.PoolClient>(request).query('select 1')
      return new Response(null, { status: 201 })
    },
  )

  const answer = await handler(new Request('http://localhost/charges', { method: 'POST' }))

  expect(answer.status).toBe(400)
  expect(await answer.json()).toMatchObject({ code: 'idempotency-key-missing' })
})
