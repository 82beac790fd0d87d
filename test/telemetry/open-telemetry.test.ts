import { SpanStatusCode } from '@opentelemetry/api'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { createReprise } from '../../src/engine/reprise.ts'
import { memoryStore } from '../../src/stores/memory/store.ts'
import { combine, createMetrics, METRICS, openTelemetry } from '../../src/telemetry/index.ts'
import { FakeClock } from '../../src/testing/fake-clock.ts'
import { createWorld, Effect, OTHER_BODY, REQUEST, turn } from '../engine/world.ts'
import { histories, play } from './history.ts'
import { inMemoryMeter, inMemoryTracer } from './in-memory-otel.ts'

describe('metrics through OpenTelemetry', () => {
  it('are all of the catalogue, with kind and unit, and buckets in seconds', () => {
    const { meter, instruments } = inMemoryMeter()
    openTelemetry({ meter, store: memoryStore() })

    for (const { name, kind, unit, help } of METRICS) {
      const instrument = instruments.get(name)
      expect(instrument).toMatchObject({ kind, options: { unit, description: help } })
    }
    expect(instruments.size).toBe(METRICS.length)
    const bounds = instruments.get('idempotency.overhead')?.options.advice?.explicitBucketBoundaries
    expect(bounds?.at(-1)).toBe(5)
  })

  it('are the same as those of the collector, over random histories', async () => {
    await fc.assert(
      fc.asyncProperty(histories, async (steps) => {
        const { meter, measurements } = inMemoryMeter()
        const metrics = createMetrics()
        const onEvent = combine(metrics.onEvent, openTelemetry({ meter }).onEvent)
        await play(createReprise({ store: memoryStore(), onEvent }), steps, 'o')
        const { total, operations } = metrics.snapshot()

        for (const [name, value] of Object.entries(total)) {
          const added = measurements.filter((one) => one.name === `idempotency.${name}`)
          expect([name, added.reduce((sum, one) => sum + one.value, 0)]).toEqual([name, value])
        }
        for (const [operation, { overhead }] of Object.entries(operations)) {
          const recorded = measurements.filter((one) => {
            return one.name === 'idempotency.overhead' && one.attributes['operation'] === operation
          })
          expect(recorded).toHaveLength(overhead.count)
        }
      }),
      { numRuns: 30 },
    )
  })

  it('count what workers did', () => {
    const { meter, measurements } = inMemoryMeter()
    const { onWorkerEvent } = openTelemetry({ meter })
    const record = { id: 'r', operation: 'create_ride', ending: 'resumed' }
    onWorkerEvent({ worker: 'completer', done: 1, tookMs: 0, record })
    onWorkerEvent({ worker: 'completer', done: 1, tookMs: 0, record: { ...record, ending: 'x' } })
    onWorkerEvent({ worker: 'completer', done: 4, buried: 3, tookMs: 9 })
    onWorkerEvent({ worker: 'reaper', done: 5, buried: 1, tookMs: 9 })
    onWorkerEvent({ worker: 'enqueuer', done: 2, tookMs: 9 })
    onWorkerEvent({ worker: 'enqueuer', done: 0, tookMs: 9, error: new Error('down') })

    expect(measurements).toEqual([
      { name: 'idempotency.completed', value: 1, attributes: { operation: 'create_ride' } },
      { name: 'idempotency.dead_letters', value: 3, attributes: {} },
      { name: 'idempotency.dead_letters', value: 1, attributes: {} },
      { name: 'idempotency.reaped', value: 4, attributes: {} },
      { name: 'idempotency.enqueued', value: 2, attributes: {} },
    ])
  })

  it('read the gauges when they are collected', async () => {
    const clock = new FakeClock()
    const store = memoryStore({ clock })
    const { meter, collect } = inMemoryMeter()
    const { onEvent } = openTelemetry({ meter, store, clock })
    const reprise = createReprise({ store, clock, onEvent })
    const effect = new Effect()
    const running = reprise.run(REQUEST, effect.handler)
    await turn()

    const name = 'idempotency.unfinished'
    expect(await collect()).toEqual([
      { name, value: 1, attributes: { status: 'running' } },
      { name, value: 0, attributes: { status: 'suspended' } },
      { name, value: 0, attributes: { status: 'unknown' } },
    ])
    effect.end()
    await running
  })
})

describe('spans', () => {
  it('are one for each decision, from its start to its end', async () => {
    const { tracer, spans } = inMemoryTracer()
    const world = createWorld()
    const { clock } = world
    const { onEvent } = openTelemetry({ tracer, clock })
    const reprise = world.process({ onEvent, marksEffect: true })
    const effect = new Effect()
    clock.advance(1000)
    const first = reprise.run(REQUEST, effect.handler)
    await turn()
    clock.advance(250)
    effect.end()
    await first
    await reprise.run(REQUEST, effect.quick)
    await reprise.run(OTHER_BODY, effect.quick)
    const other = { ...REQUEST, key: 'key-2' }
    await reprise.run(other, () => Promise.reject(new Error('secret'))).catch(() => {})
    reprise.skip({ type: 'rejected', operation: 'POST /charges', code: 'idempotency-key-missing' })

    const outcomes = spans.map(({ attributes }) => attributes['idempotency.outcome'])
    expect(outcomes).toEqual(['executed', 'replayed', 'mismatch', 'failed', 'rejected'])
    expect(spans.map(({ name }) => name)).toEqual(
      outcomes.map((each) => `idempotency ${String(each)}`),
    )
    expect(spans[0]).toMatchObject({
      ...{ startTime: 1000, endTime: 1250 },
      attributes: {
        'idempotency.operation': 'POST /charges',
        'idempotency.recovery_point': 'started',
        'idempotency.handler_ms': 250,
        'idempotency.overhead_ms': 0,
      },
    })
    expect(spans.map(({ status }) => status?.code)).toEqual([
      ...[undefined, undefined, undefined, SpanStatusCode.ERROR, undefined],
    ])
    expect(spans[4]?.attributes['idempotency.code']).toBe('idempotency-key-missing')
    expect(JSON.stringify(spans)).not.toMatch(/secret|key-1|key-2|acct_1/)
  })

  it('are not made of what happens on the way', async () => {
    const { tracer, spans } = inMemoryTracer()
    const { onEvent } = openTelemetry({ tracer })
    for (const type of ['store_error', 'lease_lost', 'dead_letter', 'transaction_retry'] as const) {
      onEvent({ type, id: 'r', operation: 'o', caller: 'c', elapsedMs: 1 })
    }
    expect(spans).toEqual([])
    onEvent({ type: 'unknown', id: 'r', operation: 'o', caller: 'c', elapsedMs: 1 })
    expect(spans).toHaveLength(1)
  })
})
