import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { RepriseEvent } from '../../src/engine/events.ts'
import {
  combine,
  createMetrics,
  EVENT_CHANNEL,
  hooks,
  type LogFields,
  logEvents,
  openTelemetry,
  publishEvents,
  WORKER_CHANNEL,
} from '../../src/telemetry/index.ts'
import { createTroubled, RESET } from '../engine/troubled.ts'
import { createWorld, REQUEST, response, turn } from '../engine/world.ts'
import { inMemoryMeter, inMemoryTracer } from './in-memory-otel.ts'

interface Line {
  readonly level: string
  readonly fields: LogFields
  readonly message: string
}

function memoryLogger() {
  const lines: Line[] = []
  const at = (level: string) => (fields: LogFields, message: string) => {
    lines.push({ level, fields, message })
  }
  const logger = { debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') }
  return { lines, logger }
}

describe('several listeners', () => {
  it('all hear, though one throws and one is rejected', async () => {
    const heard: string[] = []
    const rejected: () => unknown = async () => Promise.reject(new Error('broken later'))
    const onEvent = combine<RepriseEvent>(
      () => {
        throw new Error('broken')
      },
      undefined,
      rejected,
      ({ type }) => void heard.push(type),
    )
    const { reprise } = createWorld({ onEvent })
    const results = [
      await reprise.run(REQUEST, async () => response()),
      await reprise.run(REQUEST, async () => response()),
    ]
    await turn()

    expect(results.map(({ outcome }) => outcome)).toEqual(['executed', 'replayed'])
    expect(heard).toEqual(['executed', 'replayed'])
  })

  it('are hooks by type, of which a broken one breaks nothing', async () => {
    const replayed: string[] = []
    const onEvent = hooks({
      executed: () => {
        throw new Error('broken')
      },
      replayed: ({ operation }) => void replayed.push(operation),
    })
    const { reprise } = createWorld({ onEvent })
    await reprise.run(REQUEST, async () => response())
    await reprise.run(REQUEST, async () => response())

    expect(replayed).toEqual([REQUEST.operation])
    expect(() => onEvent({ ...EVENT, type: 'executed' })).not.toThrow()
  })
})

const EVENT: RepriseEvent = {
  ...{ type: 'replayed', id: 'r', operation: 'o', caller: 'c', elapsedMs: 1 },
}

describe('the channels', () => {
  it('carry events to who subscribes, and only then', async () => {
    const heard: unknown[] = []
    const hear = (message: unknown) => void heard.push(message)
    const { onEvent, onWorkerEvent } = publishEvents()
    const { reprise, events } = createWorld()
    await reprise.run(REQUEST, async () => response())
    onEvent(EVENT)
    subscribe(EVENT_CHANNEL, hear)
    subscribe(WORKER_CHANNEL, hear)
    for (const event of events) onEvent(event)
    onWorkerEvent({ worker: 'reaper', done: 1, tookMs: 1 })
    unsubscribe(EVENT_CHANNEL, hear)
    unsubscribe(WORKER_CHANNEL, hear)
    onEvent(EVENT)

    expect(EVENT_CHANNEL).toBe('reprise:event')
    expect(heard).toEqual([...events, { worker: 'reaper', done: 1, tookMs: 1 }])
  })
})

describe('log lines', () => {
  it('say what happened, to which record, how loud it is', async () => {
    const { lines, logger } = memoryLogger()
    const world = createTroubled({ onEvent: logEvents(logger).onEvent })
    const { reprise, trouble, store } = world
    await reprise.run(REQUEST, async () => response())
    await reprise.run(REQUEST, async () => response())
    await reprise.run({ ...REQUEST, fingerprints: ['f2'] }, async () => response())
    trouble('claim', RESET, RESET)
    const other = { ...REQUEST, key: 'key-2' }
    await reprise.run(other, async () => response()).catch(() => {})
    const { records } = await store.list({ limit: 1 })

    expect(lines.map(({ level, fields }) => [level, fields['event']])).toEqual([
      ['debug', 'executed'],
      ['debug', 'replayed'],
      ['info', 'mismatch'],
      ['warn', 'store_error'],
      ['warn', 'store_error'],
      ['error', 'failed'],
    ])
    expect(lines[0]?.fields['record']).toBe(records[0]?.record.id)
    expect(lines[0]?.message).toBe('idempotency: ran, and the answer is stored')
    expect(lines[5]?.fields).toMatchObject({
      ...{ error: 'RepriseError', errorCode: 'idempotency-store-unavailable' },
    })
  })

  it('are as loud as told, or silent', () => {
    const { lines, logger } = memoryLogger()
    const levels = { replayed: 'info', executed: false, worker: false } as const
    const { onEvent, onWorkerEvent } = logEvents(logger, { levels })
    onEvent(EVENT)
    onEvent({ ...EVENT, type: 'executed' })
    onWorkerEvent({ worker: 'reaper', done: 1, tookMs: 1 })

    expect(lines.map(({ level }) => level)).toEqual(['info'])
  })

  it('tell of workers, with the class of what was thrown', () => {
    const { lines, logger } = memoryLogger()
    const { onWorkerEvent } = logEvents(logger)
    onWorkerEvent({ worker: 'enqueuer', done: 3, tookMs: 1 })
    onWorkerEvent({ worker: 'enqueuer', done: 0, tookMs: 1, error: new TypeError('s3cret') })
    onWorkerEvent({ worker: 'enqueuer', done: 0, tookMs: 1, error: 's3cret' })

    expect(lines.map(({ level, fields }) => [level, fields['error']])).toEqual([
      ['debug', undefined],
      ['warn', 'TypeError'],
      ['warn', 'string'],
    ])
    expect(JSON.stringify(lines)).not.toContain('s3cret')
  })
})

describe('keys, bodies, callers and secrets', () => {
  const word = fc
    .string({
      unit: fc.constantFrom('a', 'e', 'k', 'm', 'o', 'r', 's', 'w'),
      minLength: 6,
      maxLength: 12,
    })
    .map((text) => `Zq${text}`)

  it('are in no log line, no label, no attribute and no span', async () => {
    const parts = fc.record({ key: word, caller: word, body: word, message: word, code: word })
    await fc.assert(
      fc.asyncProperty(parts, async ({ key, caller, body, message, code }) => {
        const { lines, logger } = memoryLogger()
        const { meter, measurements } = inMemoryMeter()
        const { tracer, spans } = inMemoryTracer()
        const metrics = createMetrics()
        const telemetry = openTelemetry({ meter, tracer })
        const onEvent = combine(metrics.onEvent, telemetry.onEvent, logEvents(logger).onEvent)
        const { reprise, trouble } = createTroubled({ onEvent })
        const fingerprints = [`${body}-fingerprint`]
        const request = { ...REQUEST, caller, key, fingerprints, origin: { userAgent: body } }
        const quoted = Object.assign(new Error(`${message} ${key}`), { code: `(${code} ${key})` })
        quoted.name = message
        await reprise.run(request, async () => response(201, body))
        await reprise.run(request, async () => response(201, body))
        await reprise.run({ ...request, fingerprints: ['f'] }, async () => response())
        const failing = { ...request, key: `${key}2` }
        await reprise.run(failing, () => Promise.reject(quoted)).catch(() => {})
        trouble('claim', RESET, RESET)
        const lost = { ...request, key: `${key}3` }
        await reprise.run(lost, async () => response()).catch(() => {})
        metrics.onWorkerEvent({ worker: 'reaper', done: 0, tookMs: 0, error: quoted })
        const told = JSON.stringify([lines, measurements, spans, metrics.snapshot()])

        expect(lines.length).toBeGreaterThanOrEqual(5)
        for (const secret of [key, caller, body, message, code]) {
          expect(told + metrics.text()).not.toContain(secret)
        }
      }),
      { numRuns: 50 },
    )
  })
})
