/**
 * What phases and workers come to in the metrics, on PostgreSQL.
 *
 * @module
 */

import type pg from 'pg'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { z } from 'zod'
import type { RepriseEvent } from '../../src/engine/events.ts'
import { createReprise } from '../../src/engine/reprise.ts'
import {
  advance,
  foreignCall,
  operation,
  phase,
  respond,
  retryLater,
} from '../../src/phases/index.ts'
import { functionSink } from '../../src/sinks/function.ts'
import { postgresStore } from '../../src/stores/postgres/index.ts'
import { combine, createMetrics, keepStats, openTelemetry } from '../../src/telemetry/index.ts'
import { FakeClock } from '../../src/testing/fake-clock.ts'
import { createWorkers } from '../../src/workers/index.ts'
import { poolOf } from '../conformance/postgres.harness.ts'
import { REQUEST, response } from '../engine/world.ts'
import { type TemporaryDatabase, temporaryDatabase } from '../support/postgres.ts'
import { inMemoryTracer } from './in-memory-otel.ts'

const input = z.object({})

let database: TemporaryDatabase
let pool: pg.Pool

beforeAll(async () => {
  database = await temporaryDatabase()
  pool = poolOf(database.url)
})

afterAll(async () => {
  await pool.end()
  await database.drop()
})

describe('phases and workers', () => {
  it('are counted as they go, by operation, and survive in the store', async () => {
    const store = postgresStore(pool)
    const metrics = createMetrics({ store })
    const stats = keepStats(store)
    const { tracer, spans } = inMemoryTracer()
    const { onEvent } = openTelemetry({ tracer })
    const reprise = createReprise({
      store,
      onEvent: combine(metrics.onEvent, stats.onEvent, onEvent),
    })
    const provider = { isDown: false, pauseMs: 0 }
    const createRide = operation(
      'create_ride',
      { reprise, input, completer: { graceMs: 0, retryMs: 0 } },
      {
        started: phase(async ({ stage }) => {
          await stage('send_receipt', {})
          return advance('ride_created')
        }),
        ride_created: foreignCall({
          async call() {
            if (provider.isDown) throw new Error('down')
          },
          done: () => respond(201, {}),
          failed: () => retryLater(),
        }),
      },
    )
    const delivered: string[] = []
    const sink = functionSink(async ({ id }) => void delivered.push(id))
    const workers = createWorkers(reprise, {
      completer: { unknownGraceMs: 0 },
      ...{ operations: [createRide], sink },
      onEvent: combine(metrics.onWorkerEvent, stats.onWorkerEvent),
    })
    const ride = (key: string) => createRide.run({ caller: 'acct_1', key, input: {} })

    await ride('one')
    await ride('one')
    provider.isDown = true
    await ride('two')
    await ride('three')
    provider.isDown = false
    await ride('two')
    await workers.runOnce()
    // One whose outcome nobody can tell, and one that is past its retention.
    await reprise
      .run({ ...REQUEST, key: 'lost' }, () => Promise.reject(new Error('no idea')))
      .catch(() => {})
    await reprise.run({ ...REQUEST, key: 'past' }, async () => response())
    await pool.query(`update reprise.records set expires_at = now() where key = 'past'`)
    await workers.runOnce()
    await metrics.refresh()
    await stats.close()
    const { operations, total, unfinished, silence } = metrics.snapshot()

    expect(operations['create_ride']?.counts).toMatchObject({
      ...{ checked: 5, miss: 4, hit: 1, in_progress: 0, mismatch: 0 },
      ...{ resumed: 1, completed: 1, dead_letters: 0 },
    })
    expect(delivered).toHaveLength(3)
    expect(total).toMatchObject({ enqueued: 3, reaped: 1, dead_letters: 1, miss: 6 })
    expect(unfinished).toEqual({ running: 0, suspended: 0, unknown: 1 })
    expect(Object.keys(silence ?? {}).sort()).toEqual(['completer', 'enqueuer', 'reaper'])
    for (const seconds of Object.values(silence ?? {})) expect(seconds).toBeLessThan(60)

    const kept = await store.work?.counts.read({ windowMs: 3_600_000, by: 'hour', limit: 2 })
    const { checked: _, duplicates_prevented: __, ...counted } = total
    const sum = (name: keyof typeof counted) =>
      kept?.reduce((all, { counts }) => all + counts[name], 0)
    for (const [name, value] of Object.entries(counted)) {
      expect([name, sum(name as keyof typeof counted)]).toEqual([name, value])
    }

    const points = spans
      .filter(({ attributes }) => attributes['idempotency.operation'] === 'create_ride')
      .map(({ attributes }) => [
        ...[attributes['idempotency.outcome'], attributes['idempotency.recovery_point']],
      ])
    expect(points).toEqual([
      ...[
        ['executed', 'ride_created'],
        ['replayed', undefined],
      ],
      ...[
        ['postponed', 'ride_created'],
        ['postponed', 'ride_created'],
      ],
      ['resumed', 'ride_created'],
    ])
  })

  it('put the time of phases and foreign calls down to the app, not to the overhead', async () => {
    const clock = new FakeClock()
    const events: RepriseEvent[] = []
    const store = postgresStore(pool)
    const onEvent = (event: RepriseEvent) => void events.push(event)
    const reprise = createReprise({ store, clock, onEvent })
    const slow = operation(
      'slow',
      { reprise, input },
      {
        started: phase(async () => {
          clock.advance(300)
          return advance('called')
        }),
        called: foreignCall({
          async call() {
            clock.advance(400)
          },
          done: () => respond(201, {}),
        }),
      },
    )
    await slow.run({ caller: 'acct_1', key: 'slow', input: {} })

    expect(events).toMatchObject([{ type: 'executed', handlerMs: 700, overheadMs: 0 }])
    expect(events[0]?.elapsedMs).toBe(700)
  })
})
