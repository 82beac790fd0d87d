import type pg from 'pg'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createReprise } from '../../src/index.ts'
import { postgresStore } from '../../src/stores/postgres/index.ts'
import { poolOf } from '../conformance/postgres.harness.ts'
import { type TemporaryDatabase, temporaryDatabase } from '../support/postgres.ts'

let database: TemporaryDatabase
let pool: pg.Pool

beforeAll(async () => {
  database = await temporaryDatabase()
  pool = poolOf(database.url, { max: 4, pipeline: true })
})

afterAll(async () => {
  await pool.end()
  await database.drop()
})

describe('a handler whose first statement has claimed its key', () => {
  it('is heard when it throws, and leaves nothing behind', async () => {
    const reprise = createReprise({ store: postgresStore(pool) })
    const request = (key: string) => ({ caller: 'c', operation: 'o', key, fingerprints: ['f'] })
    const answer = { status: 201, headers: [], body: new Uint8Array() }
    const held = { claim: 'with-first-statement' } as const
    // The first one learns what isolation the database gives.
    await reprise.runInTransaction(request('first'), async () => answer, held)
    const failure = new Error('The card is declined.')
    for (const statements of [0, 1, 2]) {
      let runs = 0
      const run = reprise.runInTransaction(
        request('thrown'),
        async ({ tx }) => {
          runs++
          for (let sent = 0; sent < statements; sent++) await tx.query('select 1')
          throw failure
        },
        held,
      )
      await expect(run).rejects.toBe(failure)
      expect(runs).toBe(1)
    }
  })
})
