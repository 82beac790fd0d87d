/** What only shows beside other records, other processes and a pool that has nothing left. */

import type pg from 'pg'
import { afterAll, beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest'
import { noCounts } from '../../src/engine/counts.ts'
import { createReprise } from '../../src/engine/reprise.ts'
import { postgresStore } from '../../src/stores/postgres/index.ts'
import {
  freshOwner,
  impostorOf,
  rivalOf,
  sampleFinish,
  sampleRequest,
  take,
} from '../../src/testing/contract/sample.ts'
import { createWorkers } from '../../src/workers/index.ts'
import { poolOf } from '../conformance/postgres.harness.ts'
import { type TemporaryDatabase, temporaryDatabase } from '../support/postgres.ts'

let database: TemporaryDatabase
let pool: pg.Pool

beforeAll(async () => {
  database = await temporaryDatabase()
  pool = poolOf(database.url, { max: 4 })
  await postgresStore(pool).ready()
})

afterAll(async () => {
  await pool.end()
  await database.drop()
})

/** A store of another process. */
function process(settings: pg.PoolConfig = {}) {
  const own = poolOf(database.url, settings)
  const store = postgresStore(own)
  const { work, transactions } = store
  if (work === undefined || transactions === undefined) throw new Error('The store lacks a part.')
  onTestFinished(async () => {
    await store.close()
    await own.end()
  })
  return { pool: own, store, work, transactions }
}

const ATTEMPT = { point: 'started', actor: 'request', tookMs: 0, callKey: 'k' } as const

describe('a record that goes', () => {
  /** A record with a call that is open. */
  async function calling() {
    const { store, work } = process()
    const asked = sampleRequest({ recoveryPoint: 'started', input: new Uint8Array() })
    const { claim } = await take(store, asked)
    await work.phases.beginCall(claim, ATTEMPT, { deniesEarlier: false })
    return { store, work, asked }
  }

  async function expire(key: string): Promise<void> {
    const { rowCount } = await pool.query(
      `update reprise.records set expires_at = now() - interval '1 second', lease_until = now()
        where key = $1`,
      [key],
    )
    expect(rowCount).toBe(1)
  }

  it('because another one of its key comes leaves the calls of others open', async () => {
    const [other, { store, work, asked }] = [await calling(), await calling()]
    await expire(asked.key)
    await take(store, rivalOf(asked))

    expect(await work.phases.begunCall(asked.id, 'k')).toBeUndefined()
    expect(await work.phases.begunCall(other.asked.id, 'k')).toBe('open')
  })

  it('because nobody finished it leaves the calls of others open', async () => {
    const [other, { work, asked }] = [await calling(), await calling()]
    await expire(asked.key)
    const { letters, phases } = work
    const request = { owner: freshOwner(), leaseMs: 60_000, retentionMs: 60_000 }
    const taken = await letters.takeAbandoned(request)
    if (taken === undefined) throw new Error('Nothing is abandoned.')
    const burial = {
      cause: 'abandoned',
      error: null,
      isUntold: false,
      retentionMs: 60_000,
    } as const
    expect(await letters.bury(taken.claim, burial)).toBe(true)

    expect(await phases.begunCall(asked.id, 'k')).toBeUndefined()
    expect(await phases.begunCall(other.asked.id, 'k')).toBe('open')
  })
})

describe('a record of which nobody knows what became of it', () => {
  it('is kept for as long as a person may need, from when it is put before one', async () => {
    const { store } = process()
    const asked = sampleRequest({ retentionMs: 1, leaseMs: 1 })
    await take(store, asked)
    await pool.query(
      `update reprise.records set lease_until = now() - interval '1 day',
      created_at = created_at - interval '1 day', expires_at = now() + interval '1 minute' where key = $1`,
      [asked.key],
    )
    const workers = createWorkers(createReprise({ store }), { completer: { unknownGraceMs: 0 } })
    await workers.completer?.runOnce()

    const { rows } = await pool.query(
      `select expires_at > now() + interval '29 days' as is_kept from reprise.records where key = $1`,
      [asked.key],
    )
    expect(rows).toEqual([{ is_kept: true }])
  })
})

describe('two processes', () => {
  it('tell the same request and another one apart while a transaction of the first is open', async () => {
    const [one, two] = [process(), process()]
    const request = sampleRequest()
    const open = await one.transactions.begin(request)
    if (!('commit' in open)) throw new Error('It was refused.')

    expect(await two.transactions.begin(rivalOf(request))).toMatchObject({
      outcome: 'in_progress',
    })
    expect(await two.transactions.begin(impostorOf(request))).toEqual({ outcome: 'mismatch' })
    await open.rollback()
  })

  it('wake those who wait for a record that ends, and nobody else', async () => {
    const [one, two] = [process(), process()]
    const [awaited, ended] = [sampleRequest(), sampleRequest()]
    await take(one.store, awaited)
    const { claim } = await take(one.store, ended)
    const woken: string[] = []
    await two.store.watch?.(awaited.id, () => void woken.push('awaited'))
    await two.store.watch?.(ended.id, () => void woken.push('ended'))
    await one.store.finish(claim, sampleFinish())

    await vi.waitFor(() => expect(woken).toEqual(['ended']))
  })
})

describe('a pool of one connection, which the app has', () => {
  it('is enough to be told an answer that this process knows of', async () => {
    const { pool: own, transactions } = process({ max: 1, connectionTimeoutMillis: 2000 })
    const request = sampleRequest()
    const first = await transactions.begin(request)
    if (!('commit' in first)) throw new Error('It was refused.')
    first.close()
    await first.commit(sampleFinish())

    const connection = await own.connect()
    try {
      const again = await transactions.begin({ ...rivalOf(request), connection })
      expect(again.outcome).toBe('replay')
    } finally {
      connection.release()
    }
  })
})

describe('a store that is closed', () => {
  it('stops to listen, also for those who still watch', async () => {
    const { store } = process({ application_name: 'closing' })
    const listening = async () => {
      const { rows } = await pool.query(
        `select pid from pg_stat_activity where application_name = 'closing' and query like 'listen%'`,
      )
      return rows.length
    }
    await take(store, sampleRequest())
    await store.watch?.(sampleRequest().id, () => {})
    expect(await listening()).toBe(1)
    await store.close()
    await vi.waitFor(async () => expect(await listening()).toBe(0))
  })
})

describe('counts', () => {
  it('of a batch that comes again are not added, whichever it is', async () => {
    const { counts } = process().work
    const add = (number: number) =>
      counts.add({
        writer: 'w',
        number,
        rowsMax: 100,
        rows: [{ operation: 'o', caller: 'c', counts: { ...noCounts(), miss: 1 } }],
      })
    const added = []
    for (const number of [1, 1, 2, 2, 1]) added.push(await add(number))
    expect(added).toEqual([true, false, true, false, false])
  })
})

describe('an answer that is stored', () => {
  it('is stored again for its own claim only', async () => {
    const { store } = process()
    const { claim } = await take(store, sampleRequest())
    expect(await store.finish(claim, sampleFinish())).toBe(true)
    expect(await store.finish(claim, sampleFinish())).toBe(true)
    for (const other of [{ fence: claim.fence + 1 }, { owner: freshOwner() }]) {
      expect(await store.finish({ ...claim, ...other }, sampleFinish())).toBe(false)
    }
  })
})

describe('workers', () => {
  it('show when each last ran, and how often it does', async () => {
    const { store, work } = process()
    const workers = createWorkers(createReprise({ store }), {
      ...{ node: 'edges', sink: { name: 'none', deliver: async () => undefined } },
      ...{ enqueuer: { everyMs: 1001 }, completer: { everyMs: 1002 }, reaper: { everyMs: 1003 } },
    })
    const all = [workers.enqueuer, workers.completer, workers.reaper]
    for (const worker of all) await worker?.runOnce()
    const { rows } = await pool.query(
      `select worker, every_ms from reprise.workers where node = 'edges' order by worker`,
    )
    expect(rows).toEqual([
      { worker: 'completer', every_ms: 1002 },
      { worker: 'enqueuer', every_ms: 1001 },
      { worker: 'reaper', every_ms: 1003 },
    ])
    await pool.query(`update reprise.workers set ran_at = ran_at - interval '1 hour'`)
    for (const [worker, everyMs] of [
      ['enqueuer', 1001],
      ['completer', 1002],
      ['reaper', 1003],
    ] as const) {
      await work.beat({ worker, node: 'edges', tookMs: 1, done: 2, error: null, everyMs })
    }

    const shown = (await work.workers()).filter(({ node }) => node === 'edges')
    expect(shown).toHaveLength(3)
    for (const { agoMs } of shown) expect(agoMs).toBeLessThan(1_800_000)
  })
})

describe('sums of counts', () => {
  it('are of the operation and the caller that are asked for', async () => {
    const { counts } = process().work
    const row = (operation: string, caller: string, miss: number) => {
      return { operation, caller, counts: { ...noCounts(), miss } }
    }
    const rows = [row('pay', 'ada', 1), row('pay', 'bob', 2), row('ship', 'ada', 4)]
    await counts.add({ writer: 'sums', number: 1, rowsMax: 100, rows })
    const sum = async (filter: { operation?: string; caller?: string }) => {
      const sums = await counts.read({ windowMs: 3_600_000, by: 'caller', limit: 10, ...filter })
      return Object.fromEntries(sums.map(({ caller, counts: { miss } }) => [caller, miss]))
    }
    expect(await sum({ operation: 'pay' })).toEqual({ ada: 1, bob: 2 })
    expect(await sum({ operation: 'ship' })).toEqual({ ada: 4 })
    expect(await sum({ caller: 'ada' })).toEqual({ ada: 5 })
    expect(await sum({ operation: 'pay', caller: 'bob' })).toEqual({ bob: 2 })
  })
})

describe('staged jobs', () => {
  it('are taken in the order in which they are due, whatever the order in the table', async () => {
    const { work } = process()
    await pool.query(`
      insert into reprise.staged_jobs (staged_at, run_at, job_id, record_id, name, args)
      select now() - interval '1 hour', now() - seconds * interval '1 second', gen_random_uuid(),
             '', seconds::text, '{}'
        from unnest(array[20, 40, 10, 30, 50]) with ordinality as given (seconds, place)
       order by place`)
    const patience = { retryMs: 1000, retryMsMax: 1000, attemptsMax: 3 }
    const take = (limit: number) => work.jobs.take({ limit, silentMsMax: 60_000 }, patience)
    const [first, second] = [await take(2), await take(10)]

    expect(first?.jobs.map(({ name }) => name)).toEqual(['50', '40'])
    expect(second?.jobs.map(({ name }) => name)).toEqual(['30', '20', '10'])
    await Promise.all([first?.rollback(), second?.rollback()])
  })
})
