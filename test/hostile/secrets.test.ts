import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { inspect } from 'node:util'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { idempotent } from '../../src/adapters/fetch.ts'
import { hashSecret } from '../../src/core/secret.ts'
import type { RepriseEvent } from '../../src/engine/events.ts'
import { createReprise } from '../../src/engine/reprise.ts'
import { memoryStore } from '../../src/stores/memory/index.ts'
import { postgresStore } from '../../src/stores/postgres/index.ts'
import {
  combine,
  createMetrics,
  EVENT_CHANNEL,
  logEvents,
  publishEvents,
} from '../../src/telemetry/index.ts'
import { warningsDuring } from '../adapters/node-world.ts'
import { type TemporaryDatabase, temporaryDatabase } from '../support/postgres.ts'

/** Each stands for itself wherever it turns up. */
const SECRETS = {
  apiKey: 'sk_live_SEEDED-api-key',
  key: 'SEEDED-idempotency-key-in-no-log',
  card: '4242424242424242',
  password: 'SEEDED-password',
  answer: 'SEEDED-answer-token',
  cookie: 'SEEDED-cookie',
  thrown: 'SEEDED-in-an-error',
}

const BODY = JSON.stringify({ card: SECRETS.card, password: SECRETS.password })

let database: TemporaryDatabase
beforeAll(async () => {
  database = await temporaryDatabase()
})
afterAll(() => database.drop())

/** What a run of requests emits, in every way there is. */
interface Emitted {
  readonly lines: string
  readonly metrics: string
  readonly events: readonly RepriseEvent[]
  readonly channel: readonly RepriseEvent[]
  readonly console: string
  readonly warnings: string
  readonly refusals: readonly string[]
}

type Serve = (how: string, body?: string) => Promise<void>

/** Runs requests against a service and gathers what it emits. */
async function emittedBy(
  store: Parameters<typeof createReprise<pg.PoolClient>>[0]['store'],
  play: (serve: Serve) => Promise<void>,
): Promise<Emitted> {
  const lines: unknown[] = []
  const note = (fields: unknown, message: unknown) => void lines.push([fields, message])
  const log = logEvents(
    { debug: note, info: note, warn: note, error: note },
    { levels: { executed: 'info', replayed: 'info', bypassed: 'info' } },
  )
  const metrics = createMetrics()
  const events: RepriseEvent[] = []
  const channel: RepriseEvent[] = []
  const hear = (message: unknown) => void channel.push(message as RepriseEvent)
  subscribe(EVENT_CHANNEL, hear)
  const spies = (['log', 'info', 'warn', 'error', 'debug'] as const).map((name) =>
    vi.spyOn(console, name),
  )
  const keep = (event: RepriseEvent) => void events.push(event)
  const reprise = createReprise({
    store,
    onEvent: combine(log.onEvent, metrics.onEvent, publishEvents().onEvent, keep),
  })
  const callerOf = (request: Request) => hashSecret(request.headers.get('authorization') ?? '')
  const refusals: string[] = []
  const handle = idempotent(reprise, { caller: callerOf }, (request) => {
    const how = request.headers.get('x-how')
    if (how === 'throw') throw new Error(`${SECRETS.thrown} ${SECRETS.card}`)
    const headers = { 'set-cookie': SECRETS.cookie }
    return new Response(SECRETS.answer, { status: how === 'fail' ? 500 : 201, headers })
  })
  const serve: Serve = async (how, body = BODY) => {
    const headers = {
      ...{ authorization: `Bearer ${SECRETS.apiKey}`, 'content-type': 'application/json' },
      ...{ 'idempotency-key': `${SECRETS.key}-${how}`, 'x-how': how, cookie: SECRETS.cookie },
    }
    const url = 'http://a.example/charges'
    const asked = handle(new Request(url, { method: 'POST', headers, body })).catch(() => undefined)
    const response = await asked
    // A failure that the app itself tells is the app's.
    if (response !== undefined && response.status >= 400 && how !== 'fail') {
      const shown = [...response.headers].filter(([name]) => name !== 'idempotency-key')
      refusals.push(`${inspect(shown)} ${await response.text()}`)
    }
  }
  const warnings = await warningsDuring(() => play(serve))
  unsubscribe(EVENT_CHANNEL, hear)
  const said = spies.flatMap((spy) => spy.mock.calls)
  for (const spy of spies) spy.mockRestore()
  return {
    ...{ lines: deep(lines), metrics: metrics.text(), events, channel, refusals },
    ...{ console: deep(said), warnings: deep(warnings) },
  }
}

function deep(value: unknown): string {
  return inspect(value, {
    depth: 20,
    maxStringLength: null,
    maxArrayLength: null,
    showHidden: true,
  })
}

/** Events carry what the app itself threw, for those who report it; everything else is scanned. */
function withoutErrors(events: readonly RepriseEvent[]): string {
  return deep(events.map(({ error: _, ...rest }) => rest))
}

async function playAll(serve: Serve): Promise<void> {
  await Promise.all([serve('run'), serve('run')])
  await serve('run')
  await serve('run', '{"another":1}')
  await serve('run', '{"a":1,"a":2}')
  await serve('throw')
  await serve('fail')
  await serve(' ,bad key of "quotes" ')
}

describe('secrets', () => {
  it.each(['memory', 'PostgreSQL'])('are in nothing that is emitted, on %s', async (name) => {
    const pool = new pg.Pool({ connectionString: database.url, max: 4 })
    pool.on('error', () => {})
    const store = name === 'memory' ? (memoryStore() as never) : postgresStore(pool)
    const emitted = await emittedBy(store, playAll)
    await pool.end()
    const { lines, metrics, console, warnings, refusals } = emitted
    const texts = {
      ...{ lines, metrics, console, warnings, refusals: refusals.join('\n') },
      ...{ events: withoutErrors(emitted.events), channel: withoutErrors(emitted.channel) },
    }
    expect(emitted.events.map(({ type }) => type)).toEqual(
      expect.arrayContaining(['executed', 'replayed', 'mismatch', 'failed', 'rejected']),
    )
    expect(refusals.length).toBeGreaterThan(2)
    for (const [place, text] of Object.entries(texts)) {
      for (const [secret, value] of Object.entries(SECRETS)) {
        // A refusal may name the client's own key to the client.
        if (place === 'refusals' && secret === 'key') continue
        expect([place, secret, text.includes(value)]).toEqual([place, secret, false])
      }
    }
  })

  it('of the database are in nothing that is emitted when it can not be reached', async () => {
    const url = new URL(database.url)
    url.port = '1'
    url.password = 'SEEDED-database-password'
    const pool = new pg.Pool({ connectionString: url.href, max: 1 })
    pool.on('error', () => {})
    const emitted = await emittedBy(postgresStore(pool), (serve) => serve('run'))
    await pool.end()
    expect(emitted.refusals).toHaveLength(1)
    expect(deep(emitted)).not.toContain('SEEDED-database-password')
    expect(emitted.refusals[0]).not.toContain('127.0.0.1')
  })
})
