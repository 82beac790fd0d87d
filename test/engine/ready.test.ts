import pg from 'pg'
import { createClient } from 'redis'
import { afterEach, describe, expect, inject, it, onTestFinished, vi } from 'vitest'
import { createReprise } from '../../src/engine/reprise.ts'
import type { Store } from '../../src/engine/store.ts'
import { memoryStore } from '../../src/stores/memory/store.ts'
import { postgresStore } from '../../src/stores/postgres/index.ts'
import { redisStore } from '../../src/stores/redis/index.ts'
import { sqliteStore } from '../../src/stores/sqlite/index.ts'
import { logEvents } from '../../src/telemetry/log-events.ts'
import { createMetrics } from '../../src/telemetry/metrics.ts'
import { openTelemetry } from '../../src/telemetry/open-telemetry.ts'
import { FakeClock } from '../../src/testing/fake-clock.ts'
import { createWorkers } from '../../src/workers/workers.ts'
import { clients } from '../stores/sqlite-clients.ts'
import { openDoor } from '../support/door.ts'
import { temporaryDatabase } from '../support/postgres.ts'
import { REQUEST, response, turn } from './world.ts'

function poolAt(url: string): pg.Pool {
  const pool = new pg.Pool({ connectionString: url })
  onTestFinished(() => pool.end())
  return pool
}

async function database(): Promise<string> {
  const made = await temporaryDatabase()
  onTestFinished(() => made.drop())
  return made.url
}

/** A store that fails every call with `error`. */
function failing(error: unknown): Store {
  const store = memoryStore()
  const fail = async () => {
    throw error
  }
  return Object.assign(Object.create(store), { ready: fail, claim: fail, find: fail })
}

function coded(code: string, message = 'secret-7'): Error {
  return Object.assign(new Error(message), { code })
}

describe('ready()', () => {
  it('resolves where the memory store, PostgreSQL, Redis or SQLite can be used', async () => {
    const stores: Store[] = [memoryStore(), postgresStore(poolAt(await database())) as never]
    for (const client of clients()) {
      const handle = client.open(':memory:')
      onTestFinished(() => void handle.close())
      stores.push(sqliteStore(handle) as never)
    }
    const redis = inject('redis')
    if ('url' in redis) {
      const client = await createClient({ url: redis.url }).connect()
      onTestFinished(() => client.destroy())
      stores.push(redisStore(client, { onUnsafe: 'ignore' }))
    }
    for (const store of stores) await createReprise({ store }).ready()
  })

  it('rejects where the schema is missing and migrations are the deploy’s to run', async () => {
    const store = postgresStore(poolAt(await database()), { migrate: false })

    await expect(createReprise({ store }).ready()).rejects.toMatchObject({
      code: 'reprise-schema-missing',
      message: expect.stringContaining('npx reprise migrate up'),
    })
  })

  it('looks each time whether the store can be reached, and names the cause and what to do', async () => {
    const url = await database()
    const door = await openDoor(url)
    const through = Object.assign(new URL(url), { port: new URL(door.url).port })
    const reprise = createReprise({ store: postgresStore(poolAt(through.href)), onEvent() {} })
    await reprise.ready()
    await door.shut()

    await expect(reprise.ready()).rejects.toMatchObject({
      code: 'reprise-store-unreachable',
      message: expect.stringMatching(/postgres store .*ECONNREFUSED.*host and port/),
    })
    await door.open()
    await expect.poll(() => reprise.ready().then(() => 'ready', String)).toBe('ready')
  })

  it('names the cause of a role that may not sign in, without a secret', async () => {
    const url = Object.assign(new URL(await database()), {
      username: 'nobody_7',
      password: 'secret-7',
    })
    const error = await createReprise({ store: postgresStore(poolAt(url.href)) })
      .ready()
      .catch((thrown: Error) => thrown)

    expect(String(error)).toMatch(/28000.*role.*password/)
    expect(String(error)).not.toContain('secret-7')
  })

  it('rejects while the engine is closing, so that a probe takes the process out', async () => {
    const reprise = createReprise({ store: memoryStore() })
    await reprise.close()

    await expect(reprise.ready()).rejects.toMatchObject({ code: 'idempotency-shutting-down' })
  })
})

describe('a store that fails', () => {
  const warned = vi.spyOn(process, 'emitWarning')
  afterEach(() => warned.mockReset())
  const warnings = () => warned.mock.calls.map(([text]) => String(text))

  it('is told by a warning of the process once per cause and minute, without a secret', async () => {
    warned.mockImplementation(() => {})
    const clock = new FakeClock()
    const away = coded('ECONNREFUSED')
    const reprise = createReprise({ store: failing(away), clock })
    const ask = () => reprise.run(REQUEST, async () => response()).catch(() => {})
    await ask()
    await ask()
    expect(warnings()).toEqual([expect.stringMatching(/^The memory store failed: ECONNREFUSED/)])
    away.message = 'NOAUTH Authentication required.'
    Object.assign(away, { code: undefined, name: 'ErrorReply' })
    await ask()
    expect(warnings()).toHaveLength(2)
    expect(warnings()[1]).toContain('NOAUTH')

    clock.advance(60_000)
    await ask()

    expect(warnings()).toHaveLength(3)
    expect(warnings().join()).not.toContain('secret')
    expect(warned.mock.calls[0]?.[1]).toMatchObject({ code: 'REPRISE_STORE_FAILED' })
  })

  it('is not told by a warning where a listener is given', async () => {
    warned.mockImplementation(() => {})
    const reprise = createReprise({ store: failing(coded('28P01')), onEvent: () => {} })

    await reprise.run(REQUEST, async () => response()).catch(() => {})

    expect(warnings()).toEqual([])
  })

  it('is told by a warning where a worker meets it and nobody listens', async () => {
    warned.mockImplementation(() => {})
    const store = failing(coded('ENOTFOUND'))
    store.close = async () => {}
    const reprise = createReprise({ store, clock: new FakeClock() })
    const workers = createWorkers(reprise)
    workers.start()
    await turn()
    await reprise.close()

    expect(warnings()).toEqual([expect.stringContaining('ENOTFOUND')])
  })

  it('has the code of the cause in logs, metrics and spans', async () => {
    const lines: object[] = []
    const log = (fields: object) => void lines.push(fields)
    const metrics = createMetrics()
    const spans: object[] = []
    const added: object[] = []
    const telemetry = openTelemetry({
      meter: {
        createCounter: (name) => ({
          add: (_, more) => void (name === 'idempotency.store_errors' && added.push({ ...more })),
        }),
        createHistogram: () => ({ record: () => {} }),
        createObservableGauge: () => ({ addCallback: () => {} }),
      },
      tracer: {
        startSpan: (_, { attributes }) => {
          spans.push(attributes)
          return { setStatus: () => {}, end: () => {} }
        },
      },
    })
    const logs = logEvents({ debug: log, info: log, warn: log, error: log })
    const reprise = createReprise({
      store: failing(coded('WRONGTYPE')),
      onEvent: (event) => {
        logs.onEvent(event)
        metrics.onEvent(event)
        telemetry.onEvent(event)
      },
    })

    await reprise.run(REQUEST, async () => response()).catch(() => {})

    expect(lines).toContainEqual(
      expect.objectContaining({
        ...{ event: 'store_error', errorCode: 'idempotency-store-unavailable' },
        causeCode: 'WRONGTYPE',
      }),
    )
    expect(metrics.text()).toContain(
      'idempotency_store_errors_total{operation="POST /charges",cause="WRONGTYPE"}',
    )
    expect(added).toContainEqual({ operation: 'POST /charges', cause: 'WRONGTYPE' })
    expect(spans).toContainEqual(expect.objectContaining({ 'idempotency.cause': 'WRONGTYPE' }))
    expect(JSON.stringify([lines, spans, added]) + metrics.text()).not.toContain('secret-7')
  })
})
