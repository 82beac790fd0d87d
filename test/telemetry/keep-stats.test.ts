import fc from 'fast-check'
import type pg from 'pg'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { callerDigest } from '../../src/core/identity.ts'
import type { CountBatch, CountStore, CountSum } from '../../src/engine/counts.ts'
import { createReprise } from '../../src/engine/reprise.ts'
import { memoryStore } from '../../src/stores/memory/store.ts'
import { postgresStore } from '../../src/stores/postgres/index.ts'
import { type CountName, combine, createMetrics, keepStats } from '../../src/telemetry/index.ts'
import { FakeClock } from '../../src/testing/fake-clock.ts'
import { createWorkers } from '../../src/workers/index.ts'
import { poolOf } from '../conformance/postgres.harness.ts'
import { REQUEST, response, turn } from '../engine/world.ts'
import { type TemporaryDatabase, temporaryDatabase } from '../support/postgres.ts'
import { histories, play } from './history.ts'

let database: TemporaryDatabase
let pool: pg.Pool

beforeAll(async () => {
  database = await temporaryDatabase()
  pool = poolOf(database.url)
  await postgresStore(pool).ready()
})

beforeEach(async () => {
  await pool.query('truncate reprise.stats, reprise.stats_writers')
})

afterAll(async () => {
  await pool.end()
  await database.drop()
})

function world() {
  const store = postgresStore(pool)
  const counts = store.work?.counts
  if (counts === undefined) throw new Error('PostgreSQL keeps counters.')
  return { store, counts }
}

/** The counters of the last hours that are not zero. */
async function sums(by: 'hour' | 'operation' | 'caller', filter = {}) {
  const { counts } = world()
  const read = await counts.read({ windowMs: 3_600_000, by, limit: 1000, ...filter })
  return read.map(({ counts: all, ...of }) => ({ ...of, ...positive(all) }))
}

function positive(counts: Readonly<Record<string, number>>): Partial<CountSum['counts']> {
  return Object.fromEntries(Object.entries(counts).filter(([, count]) => count > 0))
}

function missesOf(rows: readonly { readonly miss?: number }[]): number {
  return rows.reduce((all, { miss = 0 }) => all + miss, 0)
}

const EVENT = { type: 'executed', id: 'r', operation: 'o', caller: 'c', elapsedMs: 1 } as const

/** A batch of one count each. */
function batch(number: number, rows: readonly (readonly [string, string])[]): CountBatch {
  const one = (operation: string, caller: string) => ({ operation, caller, counts: { miss: 1 } })
  return { writer: 'w', number, rowsMax: 3, rows: rows.map(([o, c]) => one(o, c)) }
}

describe('kept counters', () => {
  it('are those of the process, over random histories and restarts', async () => {
    let salt = 0
    await fc.assert(
      fc.asyncProperty(fc.array(histories, { maxLength: 3 }), async (processes) => {
        await pool.query('truncate reprise.stats')
        const metrics = createMetrics()
        for (const steps of processes) {
          const { store } = world()
          const stats = keepStats(store)
          const onEvent = combine(metrics.onEvent, stats.onEvent)
          await play(createReprise({ store, onEvent }), steps, `s${salt++}`)
          expect(await stats.close()).toBe(true)
        }
        const kept = await sums('operation')
        const { operations } = metrics.snapshot()
        const counted = Object.entries(operations).map(([operation, { counts }]) => {
          const { checked: _, duplicates_prevented: __, ...own } = counts
          return { hour: null, operation, caller: null, ...positive(own) }
        })

        const byName = (a: { operation: string | null }, b: { operation: string | null }) =>
          (a.operation ?? '') < (b.operation ?? '') ? -1 : 1
        expect(kept.sort(byName)).toEqual(counted.sort(byName))
      }),
      { numRuns: 10 },
    )
  })

  it('are read by hour, operation or caller, and never name a caller', async () => {
    const { store } = world()
    const stats = keepStats(store)
    const reprise = createReprise({ store, onEvent: stats.onEvent })
    const key = `by-${Math.trunc(performance.now())}`
    for (const caller of ['ann@example.org', 'bob@example.org', 'ann@example.org']) {
      await reprise.run({ ...REQUEST, key, caller }, async () => response())
    }
    await stats.close()
    const [ann, bob] = ['ann@example.org', 'bob@example.org'].map(callerDigest)

    expect(await sums('caller')).toEqual([
      { hour: null, operation: null, caller: ann, miss: 1, hit: 1 },
      { hour: null, operation: null, caller: bob, miss: 1 },
    ])
    expect(await sums('operation', { caller: bob })).toMatchObject([{ miss: 1 }])
    expect(await sums('operation', { operation: 'nothing' })).toEqual([])
    const [now] = await sums('hour')
    expect(now).toMatchObject({ operation: null, caller: null, miss: 2, hit: 1 })
    expect((now?.hour ?? 1) % 3_600_000).toBe(0)
    expect(JSON.stringify((await pool.query('select * from reprise.stats')).rows)).not.toContain(
      '@',
    )
  })

  it('are sent after ten seconds, and a timer runs only while there is something to send', async () => {
    const clock = new FakeClock()
    const { store } = world()
    const stats = keepStats(store, { clock })
    expect(clock.timerCount).toBe(0)
    stats.onEvent(EVENT)
    stats.onEvent(EVENT)
    expect(clock.timerCount).toBe(1)
    clock.advance(9999)
    expect(await sums('hour')).toEqual([])
    clock.advance(1)
    await stats.flush()

    expect(await sums('hour')).toMatchObject([{ miss: 2 }])
    expect(clock.timerCount).toBe(0)
    await stats.close()
    stats.onEvent(EVENT)
    expect(clock.timerCount).toBe(0)
  })

  it('are counted once though the reply was lost, and none is lost while the store is down', async () => {
    const clock = new FakeClock()
    const { store, counts } = world()
    const troubles = ['before', 'after', 'before', 'after', 'none']
    const failing: CountStore = {
      ...{ read: counts.read.bind(counts), sweep: counts.sweep.bind(counts) },
      async add(given) {
        const trouble = troubles.shift()
        if (trouble === 'before') throw new Error('connection refused')
        const isAdded = await counts.add(given)
        if (trouble === 'after') throw new Error('connection reset')
        return isAdded
      },
    }
    const unsteady = { name: 'x', ready: () => store.ready(), work: { counts: failing } }
    const stats = keepStats(unsteady, { clock })
    const sent: boolean[] = []
    for (let i = 0; i < 5; i++) {
      stats.onEvent(EVENT)
      sent.push(await stats.flush())
      // Whatever failed is tried again by itself.
      expect(clock.timerCount).toBe(sent.at(-1) === true ? 0 : 1)
    }

    expect(sent).toEqual([false, false, false, false, true])
    expect(await sums('hour')).toMatchObject([{ miss: 5 }])
    await stats.close()
  })

  it('do not wait for a store that keeps silent', async () => {
    const clock = new FakeClock()
    const { store, counts } = world()
    let isSilent = true
    const silent: CountStore = {
      ...{ read: counts.read.bind(counts), sweep: counts.sweep.bind(counts) },
      add: (given) => (isSilent ? new Promise<never>(() => {}) : counts.add(given)),
    }
    const quiet = { name: 'x', ready: () => store.ready(), work: { counts: silent } }
    const stats = keepStats(quiet, { clock })
    stats.onEvent(EVENT)
    const flushed = stats.flush()
    await turn()
    clock.advance(5000)
    expect(await flushed).toBe(false)
    isSilent = false
    expect(await stats.close()).toBe(true)
    expect(await sums('hour')).toMatchObject([{ miss: 1 }])
  })

  it('have an hour hold so many callers, in one process and over all of them', async () => {
    const { store } = world()
    const nodes = ['p', 'q', 'r', 's'].map((name) => {
      const stats = keepStats(store, { rowsMax: 5 })
      for (let i = 0; i < 20; i++) stats.onEvent({ ...EVENT, caller: `${name}${i}` })
      return stats
    })
    await Promise.all(nodes.map((stats) => stats.close()))
    const kept = await sums('caller')

    expect(kept.length).toBeGreaterThanOrEqual(5)
    expect(kept.length).toBeLessThanOrEqual(6)
    expect(kept[0]).toMatchObject({ caller: 'other' })
    expect(missesOf(kept)).toBe(80)
  })

  it('have an hour hold so many operations, whatever they are called', async () => {
    const { counts } = world()
    const rows = Array.from({ length: 50 }, (_, i) => [`/users/${i}`, `c${i}`] as const)
    await counts.add(batch(1, rows))
    await counts.add(
      batch(2, [
        ['/users/0', 'c0'],
        ['a\0b\ud800', ''],
      ]),
    )
    const { rows: kept } = await pool.query('select operation, caller, miss from reprise.stats')
    const total = kept.reduce((all: number, { miss }: { miss: string }) => all + Number(miss), 0)

    expect(total).toBe(52)
    // Twice three, and `other` with and without a caller.
    expect(kept.length).toBeLessThanOrEqual(2 * 3 + 2)
    expect(kept).toContainEqual({ operation: '/users/0', caller: 'c0', miss: '2' })
  })

  it('count a batch once, however many nodes send at the same time', async () => {
    const { counts } = world()
    const same = Array.from({ length: 8 }, () => counts.add(batch(1, [['o', 'c']])))
    const others = Array.from({ length: 8 }, (_, i) => {
      const rows = i % 2 === 0 ? [['a', 'c'] as const, ['b', 'c'] as const] : [['b', 'c'] as const]
      return counts.add({ ...batch(1, rows), writer: `n${i}` })
    })

    expect((await Promise.all(same)).filter(Boolean)).toHaveLength(1)
    expect(await Promise.all(others)).toEqual(others.map(() => true))
    expect(await counts.add(batch(2, [['o', 'c']]))).toBe(true)
    expect(await counts.add(batch(1, [['o', 'c']]))).toBe(false)
    const kept = await sums('operation')
    expect(kept.map((row) => [row.operation, row.miss])).toEqual([
      ...[
        ['b', 8],
        ['a', 4],
        ['o', 2],
      ],
    ])
  })

  it('go with the reaper after their time', async () => {
    const { store, counts } = world()
    await counts.add(
      batch(1, [
        ['old', 'c'],
        ['older', 'c'],
      ]),
    )
    await pool.query(`
      update reprise.stats set hour = hour - interval '31 days';
      update reprise.stats_writers set wrote_at = wrote_at - interval '31 days'`)
    await counts.add({ ...batch(1, [['new', 'c']]), writer: 'another' })
    const { reaper } = createWorkers(createReprise({ store }), { reaper: { batchMax: 1 } })
    await reaper?.runOnce()

    const { rows } = await pool.query('select operation from reprise.stats')
    expect(rows).toEqual([{ operation: 'new' }])
    const writers = await pool.query('select writer from reprise.stats_writers')
    expect(writers.rows).toEqual([{ writer: 'another' }])
  })

  it('are read through the primary key, however many hours there are', async () => {
    await pool.query(`
      insert into reprise.stats
      select date_trunc('hour', now(), 'UTC') - n * interval '1 hour',
             1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 'o' || m, 'c'
        from generate_series(0, 720) n, generate_series(1, 50) m;
      analyze reprise.stats`)
    const { rows } = await pool.query(
      `explain select sum(hit) from reprise.stats s
        where s.hour > (select clock_timestamp()) - interval '1 hour'`,
    )

    expect(JSON.stringify(rows)).toContain('stats_pkey')
    const [{ miss } = {}] = await sums('hour')
    expect(miss).toBe(50)
  })

  it('need a store that keeps them', () => {
    const make = () => keepStats(memoryStore())
    expect(make).toThrow(expect.objectContaining({ code: 'reprise-options-invalid' }))
  })

  it('have a column for each name', async () => {
    const { counts } = world()
    const names: CountName[] = ['miss', 'hit', 'in_progress', 'mismatch', 'resumed', 'rejected']
    names.push('bypassed', 'store_errors', 'dead_letters', 'completed', 'reaped', 'enqueued')
    const all = Object.fromEntries(names.map((name, index) => [name, index + 1]))
    await counts.add({ ...batch(1, []), rows: [{ operation: 'o', caller: '', counts: all }] })

    const [sum] = await counts.read({ windowMs: 0, by: 'operation', limit: 1 })
    expect(sum?.counts).toEqual(all)
  })
})
