import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createReprise } from '../../src/engine/reprise.ts'
import { memoryStore } from '../../src/stores/memory/store.ts'
import { postgresStore } from '../../src/stores/postgres/index.ts'
import {
  COUNTERS,
  createMetrics,
  METRICS,
  type MetricsSnapshot,
} from '../../src/telemetry/index.ts'
import { FakeClock } from '../../src/testing/fake-clock.ts'
import { poolOf } from '../conformance/postgres.harness.ts'
import { createTroubled, RESET } from '../engine/troubled.ts'
import { createWorld, Effect, OTHER_BODY, REQUEST, response, turn } from '../engine/world.ts'
import { type TemporaryDatabase, temporaryDatabase } from '../support/postgres.ts'
import { expected, histories, operationOf, play } from './history.ts'
import { type Family, readPrometheus } from './prometheus-text.ts'

function holdsSums({ total, operations, workers }: MetricsSnapshot): void {
  const all = [total, workers, ...Object.values(operations).map(({ counts }) => counts)]
  for (const { checked, miss, hit, in_progress, mismatch, duplicates_prevented } of all) {
    expect(checked).toBe(miss + hit + in_progress + mismatch)
    expect(duplicates_prevented).toBe(hit + in_progress)
  }
  for (const { counts, overhead } of Object.values(operations)) {
    expect(overhead.count).toBe(counts.checked)
  }
}

describe('the counters', () => {
  it('say what the senders saw, over random histories on memory', async () => {
    await fc.assert(
      fc.asyncProperty(histories, fc.integer({ min: 0, max: 1 }), async (steps, wait) => {
        const metrics = createMetrics()
        const store = memoryStore()
        const options = { store, onEvent: metrics.onEvent, waitMs: wait * 50, leaseMs: 200 }
        const reprise = createReprise(options)
        const played = await play(reprise, steps, 'm')
        const snapshot = metrics.snapshot()

        expect(snapshot.total).toMatchObject(expected(played))
        for (const [operation, { counts }] of Object.entries(snapshot.operations)) {
          const own = played.filter(({ step }) => operationOf(step) === operation)
          expect(counts).toMatchObject(expected(own))
        }
        holdsSums(snapshot)
      }),
      { numRuns: 60 },
    )
  })

  describe('on PostgreSQL', () => {
    let database: TemporaryDatabase
    let pool: ReturnType<typeof poolOf>
    beforeAll(async () => {
      database = await temporaryDatabase()
      pool = poolOf(database.url)
    })
    afterAll(async () => {
      await pool.end()
      await database.drop()
    })

    it.each(['run', 'runInTransaction'] as const)(
      'say what the senders saw, over random histories through %s',
      async (mode) => {
        let salt = 0
        await fc.assert(
          fc.asyncProperty(histories, async (steps) => {
            const metrics = createMetrics()
            const reprise = createReprise({ store: postgresStore(pool), onEvent: metrics.onEvent })
            const run: typeof reprise.run = (request, handler) => {
              if (mode === 'run') return reprise.run(request, handler)
              return reprise.runInTransaction(request, async () => {
                // The handlers of histories take nothing.
                return (handler as () => ReturnType<typeof handler>)()
              })
            }
            const player = { run, skip: reprise.skip.bind(reprise) }
            const played = await play(player, steps, `${mode}-${salt++}`)

            expect(metrics.snapshot().total).toMatchObject(expected(played))
            holdsSums(metrics.snapshot())
          }),
          { numRuns: 15 },
        )
      },
    )
  })

  it('leave out requests that the store could not be asked about, and count its errors', async () => {
    const metrics = createMetrics()
    const { reprise, trouble } = createTroubled({ onEvent: metrics.onEvent })
    trouble('claim', RESET, RESET)

    await expect(reprise.run(REQUEST, async () => response())).rejects.toThrow('store')
    const { total } = metrics.snapshot()

    expect(total).toMatchObject({ checked: 0, miss: 0 })
    expect(total.store_errors).toBeGreaterThanOrEqual(2)
  })

  it('tell apart a bounded number of operations', async () => {
    const metrics = createMetrics({ operationsMax: 2 })
    const { reprise } = createWorld({ onEvent: metrics.onEvent })
    for (const name of ['a', 'b', 'c', 'd', 'a']) {
      await reprise.run({ ...REQUEST, operation: name }, async () => response())
    }
    const { operations, total } = metrics.snapshot()

    expect(Object.keys(operations)).toEqual(['a', 'b', 'other'])
    expect(operations['other']?.counts.miss).toBe(2)
    expect(total).toMatchObject({ miss: 4, hit: 1 })
  })
})

describe('the overhead', () => {
  it('is what was neither the handler nor waiting for another run', async () => {
    const metrics = createMetrics()
    const world = createTroubled({ onEvent: metrics.onEvent, waitMs: 10_000, replayCache: false })
    const { reprise, clock, trouble, wait } = world
    trouble('claim', { toMs: 20 })
    trouble('finish', { toMs: 10 })
    const effect = new Effect()
    const first = reprise.run(REQUEST, effect.handler)
    await turn()
    clock.advance(20)
    await turn()
    const second = reprise.run(REQUEST, effect.handler)
    await turn()
    clock.advance(700)
    effect.end()
    await turn()
    clock.advance(10)
    await wait(0)
    const outcomes = [await first, await second].map(({ outcome }) => outcome)
    const { count, sum } = metrics.snapshot().operations[REQUEST.operation]?.overhead ?? {}

    expect(outcomes).toEqual(['executed', 'replayed'])
    expect(count).toBe(2)
    expect(sum).toBeCloseTo(0.03, 6)
  })

  it('leaves out waiting for a run in another process', async () => {
    const events: (number | undefined)[] = []
    const { reprise, process, pass } = createWorld()
    const effect = new Effect()
    const first = reprise.run(REQUEST, effect.handler)
    await turn()
    const onEvent = ({ overheadMs }: { overheadMs?: number }) => void events.push(overheadMs)
    const second = process({ onEvent, waitMs: 5000 }).run(REQUEST, effect.handler)
    await turn()
    await pass(1000)
    effect.end()
    await first
    await turn()

    expect((await second).outcome).toBe('replayed')
    expect(events).toEqual([0])
  })
})

describe('the text for Prometheus', () => {
  it('is well-formed, whatever the operations are called', async () => {
    const names = fc.array(
      fc.oneof(
        // A NUL character is refused: no database can hold it.
        fc.string({ unit: 'binary', minLength: 1 }).filter((name) => !name.includes('\0')),
        fc.constantFrom('a"b', 'c\\', 'd\ne'),
      ),
      { minLength: 1, maxLength: 8 },
    )
    await fc.assert(
      fc.asyncProperty(names, async (operations) => {
        const metrics = createMetrics()
        const reprise = createReprise({ store: memoryStore(), onEvent: metrics.onEvent })
        for (const operation of operations) {
          await reprise.run({ ...REQUEST, operation }, async () => response())
        }
        const families = readPrometheus(metrics.text())
        const checked = families.get('idempotency_checked_total')?.samples ?? []

        const labels = checked.map(({ labels: { operation } }) => operation)
        expect(new Set(labels)).toEqual(new Set(operations))
      }),
      { numRuns: 50 },
    )
  })

  it('has a head for every metric of the catalogue, and says what the snapshot says', async () => {
    const metrics = createMetrics({ store: memoryStore() })
    const { reprise } = createWorld({ onEvent: metrics.onEvent })
    for (const request of [REQUEST, REQUEST, OTHER_BODY]) {
      await reprise.run(request, async () => response())
    }
    metrics.onWorkerEvent({ worker: 'reaper', done: 7, buried: 2, tookMs: 1 })
    metrics.onWorkerEvent({ worker: 'enqueuer', done: 3, tookMs: 1 })
    await metrics.refresh()
    const families = readPrometheus(metrics.text())
    const { total } = metrics.snapshot()

    expect([...families.keys()].sort()).toEqual(METRICS.map(({ prometheus }) => prometheus).sort())
    for (const [name, { prometheus }] of Object.entries(COUNTERS)) {
      const sum = families.get(prometheus)?.samples.reduce((all, { value }) => all + value, 0)
      expect([name, sum]).toEqual([name, total[name as keyof typeof COUNTERS]])
    }
    expect(total).toMatchObject({ checked: 3, miss: 1, hit: 1, mismatch: 1 })
    expect(total).toMatchObject({ reaped: 5, dead_letters: 2, enqueued: 3 })
    holdsHistogram(families.get('idempotency_overhead_seconds'), 3)
  })

  it('takes the gauges from the store, and asks it every ten seconds at most', async () => {
    const clock = new FakeClock()
    const store = memoryStore({ clock })
    let asked = 0
    const counting = {
      ready: () => store.ready(),
      stats: () => {
        asked++
        return asked < 3 ? store.stats() : Promise.reject(new Error('down'))
      },
      work: {
        workers: async () => [
          { worker: 'completer', agoMs: 9000 },
          { worker: 'completer', agoMs: 2000 },
        ],
      },
    }
    const metrics = createMetrics({ store: counting, clock })
    const reprise = createReprise({ store, clock, onEvent: metrics.onEvent })
    const effect = new Effect()
    const running = reprise.run(REQUEST, effect.handler)
    await turn()
    await Promise.all([metrics.refresh(), metrics.refresh(), metrics.refresh()])
    clock.advance(9999)
    await metrics.refresh()

    expect(asked).toBe(1)
    expect(metrics.snapshot().unfinished).toEqual({ running: 1, suspended: 0, unknown: 0 })
    // It grows older while it is not read again.
    expect(metrics.snapshot().silence?.['completer']).toBeCloseTo(11.999, 6)
    expect(metrics.text()).toContain('idempotency_unfinished{status="running"} 1\n')

    effect.end()
    await running
    clock.advance(1)
    await metrics.refresh()
    expect(metrics.snapshot().unfinished).toEqual({ running: 0, suspended: 0, unknown: 0 })

    // What can not be read is left out, rather than shown as it once was.
    clock.advance(10_000)
    await metrics.refresh()
    expect(asked).toBe(3)
    expect(metrics.snapshot().unfinished).toBeUndefined()
    expect(metrics.text()).not.toContain('idempotency_unfinished{')
  })
})

function holdsHistogram(family: Family | undefined, count: number): void {
  const samples = family?.samples ?? []
  const buckets = samples.filter(({ name }) => name.endsWith('_bucket'))
  const values = buckets.map(({ value }) => value)

  expect(buckets.at(-1)?.labels['le']).toBe('+Inf')
  expect(values).toEqual([...values].sort((a, b) => a - b))
  expect(values.at(-1)).toBe(count)
  expect(samples.find(({ name }) => name.endsWith('_count'))?.value).toBe(count)
}
