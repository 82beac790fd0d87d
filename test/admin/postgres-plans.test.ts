import type pg from 'pg'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { fill } from '../../scripts/admin-fill.ts'
import type { DeskFilter } from '../../src/engine/desk.ts'
import { deskQueries } from '../../src/stores/postgres/admin/queries/index.ts'
import {
  type Driver,
  walkQueries,
  walkValues,
} from '../../src/stores/postgres/admin/queries/walk.ts'
import { postgresStore } from '../../src/stores/postgres/index.ts'
import { poolOf } from '../conformance/postgres.harness.ts'
import { type TemporaryDatabase, temporaryDatabase } from '../support/postgres.ts'

/** Large enough that a look at a part of the table is cheaper than one at all of it. */
const RECORDS = 60_000

let database: TemporaryDatabase
let pool: pg.Pool

beforeAll(async () => {
  database = await temporaryDatabase()
  pool = poolOf(database.url)
  await postgresStore(pool).ready()
  await fill(pool, RECORDS)
}, 120_000)

afterAll(async () => {
  await pool.end()
  await database.drop()
})

async function planOf(text: string, values: readonly unknown[]): Promise<string> {
  const { rows } = await pool.query(`explain ${text}`, [...values])
  return rows.map((row) => row['QUERY PLAN']).join('\n')
}

const VIEW = { graceMs: 300_000, gracesMs: {}, callers: null }
const LATER = { at: '1800000000000000', id: 'A'.repeat(43) }
const walks = walkQueries('reprise')

describe('no list looks at a whole table', () => {
  const drivers: readonly (readonly [Driver, DeskFilter, string])[] = [
    ['created', {}, 'records_created'],
    ['created', { operation: 'op-1', caller: 'c', keyPrefix: 'a' }, 'records_created'],
    ['created', { olderThanMs: 1000, status: 201, duplicatesMin: 1 }, 'records_created'],
    ['open', { states: ['stuck'] }, 'records_open'],
    ['failed', { states: ['failed'] }, 'records_failed'],
    ['letters', { states: ['needs_person'] }, 'dead_letters_created'],
    ['expired', { states: ['expired'] }, 'records_expired'],
    ['key', { key: 'k' }, 'records_pkey'],
  ]

  it.each(drivers)('%s, %j', async (driver, filter, index) => {
    for (const after of [null, LATER]) {
      const values = walkValues(VIEW, filter, { after, limit: 51 })
      const plan = await planOf(walks.page(driver).text, values)
      expect(plan).not.toMatch(/Seq Scan on (records|dead_letters|duplicate)/)
      expect(plan).toContain(index)
      const counted = await planOf(walks.count(driver, 20_000).text, values)
      expect(counted).not.toMatch(/Seq Scan on (records|dead_letters|duplicate)/)
    }
  })

  it('counts what is stuck', async () => {
    const values = walkValues(VIEW, { states: ['stuck'] }, { after: null, limit: 10_000 })
    const plan = await planOf(walks.count('oldest', 20_000).text, values)
    expect(plan).not.toMatch(/Seq Scan on (records|dead_letters|duplicate)/)
    expect(plan).toContain('records_open')
  })

  it('one request', async () => {
    const [, , ...values] = walkValues(VIEW, {}, { after: null, limit: 1 })
    const plan = await planOf(walks.page('id').text, [null, Buffer.alloc(32), ...values])
    expect(plan).toContain('records_pkey')
  })

  const queries = deskQueries('reprise')
  const id = Buffer.alloc(32)
  it.each([
    ['notes', [null, 51, null, null], 'duplicates_pkey'],
    ['conflicts', ['5', 51, 'mismatch', null], 'duplicates_conflicts'],
    ['notes_of', [id, 100], 'duplicates_record'],
    ['jobs', [null, 51, 'waiting', null], 'staged_jobs_pkey'],
    ['jobs_set_aside', [null, 51, 'set_aside', null], 'staged_jobs_set_aside'],
    ['jobs_of', [id, 100], 'staged_jobs_record'],
    ['lock_job', ['4b8f8a2c-0000-4000-8000-000000000000'], 'staged_jobs_set_aside_id'],
    ['letters', [null, 51, true, null], 'dead_letters_pkey'],
    ['open_letters', [null, 51, false, null], 'dead_letters_unsettled'],
    ['audit', [null, 51, null], 'audit_pkey'],
    ['find_order', ['key'], 'audit_order_key'],
  ] as const)('%s', async (verb, values, index) => {
    const plan = await planOf(queries[verb].text, values)
    expect(plan).not.toContain('Seq Scan')
    expect(plan).toContain(index)
  })
})
