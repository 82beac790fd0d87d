/**
 * An API of the examples by itself: over HTTP, on a PostgreSQL of its own.
 *
 * @module
 */

import { AsyncLocalStorage } from 'node:async_hooks'
import type { RequestListener } from 'node:http'
import pg from 'pg'
import { onTestFinished } from 'vitest'
import type { CrashPoint, ExampleContext, Faults } from '../../examples/server/context.ts'
import { createReprise } from '../../src/engine/reprise.ts'
import { postgresStore } from '../../src/stores/postgres/index.ts'
import { listen } from '../adapters/listen.ts'
import { temporaryDatabase } from '../support/postgres.ts'

/**
 * Faults that do nothing until a test asks for one. As in the server, they belong to the request at
 * hand: code that lost its way back to the request has none.
 */
export class TestFaults implements Faults {
  readonly #requests = new AsyncLocalStorage<true>()
  /** Every point that was passed, in order. */
  readonly reached: CrashPoint[] = []
  #before: (() => Promise<void>) | undefined
  #after: Error | undefined

  /** Runs a request. */
  during(request: () => void): void {
    this.#requests.run(true, request)
  }

  reach(point: CrashPoint): void {
    if (this.#requests.getStore() === true) this.reached.push(point)
  }

  async before(): Promise<void> {
    if (this.#requests.getStore() !== true) return
    const before = this.#before
    this.#before = undefined
    await before?.()
  }

  after(): void {
    if (this.#requests.getStore() !== true) return
    const error = this.#after
    this.#after = undefined
    if (error !== undefined) throw error
  }

  /** The next request fails before or after its effect. */
  failNext(when: 'before' | 'after'): void {
    const error = new Error(`Demo fault: fail-${when}`)
    if (when === 'after') this.#after = error
    else this.#before = () => Promise.reject(error)
  }

  /** The next request stays in its handler until it is let go. */
  holdNext(): { readonly entered: Promise<void>; release(): void } {
    const { promise: entered, resolve: enter } = deferred()
    const { promise: released, resolve: release } = deferred()
    this.#before = () => {
      enter()
      return released
    }
    return { entered, release }
  }
}

function deferred(): { readonly promise: Promise<void>; resolve(): void } {
  let resolve = () => {}
  const promise = new Promise<void>((done) => {
    resolve = done
  })
  return { promise, resolve }
}

/** What is sent. */
export interface Sent {
  readonly method?: string
  readonly headers?: Readonly<Record<string, string>>
  /** A value is sent as JSON, text as it is. */
  readonly body?: unknown
}

/** What came back. */
export interface Answer {
  readonly status: number
  readonly headers: Headers
  readonly text: string
  /** The body as JSON, whatever a test expects of it. */
  readonly body: Readonly<Record<string, unknown>>
  /** Its member `id`, as text. */
  readonly id: string
}

/** An API that is served. */
export interface Api<Created = unknown> {
  readonly url: string
  readonly created: Created
  readonly reprise: ExampleContext['reprise']
  readonly pool: pg.Pool
  readonly faults: TestFaults
  /** What the API reported, and told no client. */
  readonly reported: unknown[]
  send(path: string, sent?: Sent): Promise<Answer>
  /** How many rows a table has. */
  count(table: string): Promise<number>
  close(): Promise<void>
}

/** Where the API is told that clients reach it. */
export const PUBLIC_URL = 'https://tasks.example'

/** Serves an API on a database of its own. */
export async function serveApi<Created extends RequestListener | { listener: RequestListener }>(
  create: (context: ExampleContext) => Promise<Created>,
  schema: string,
): Promise<Api<Created>> {
  const database = await temporaryDatabase()
  const pool = new pg.Pool({ connectionString: database.url, max: 12 })
  // A connection that is still being closed when the database is dropped, is cut.
  pool.on('error', () => {})
  const faults = new TestFaults()
  await pool.query(schema)
  // A server that starts again finds its tables.
  await pool.query(schema)
  const reprise = createReprise({ store: postgresStore(pool) })
  const reported: unknown[] = []
  const report = (error: unknown) => void reported.push(error)
  const created = await create({ pool, reprise, faults, report, url: PUBLIC_URL })
  const either: RequestListener | { listener: RequestListener } = created
  const listener = typeof either === 'function' ? either : either.listener
  const listening = await listen((req, res) => faults.during(() => listener(req, res)))
  const url = `http://127.0.0.1:${listening.port}`
  return {
    ...{ url, created, reprise, pool, faults, reported },
    send: (path, sent) => send(url + path, sent),
    async count(table) {
      const { rows } = await pool.query<{ n: number }>(`select count(*)::int as n from ${table}`)
      return rows[0]?.n ?? 0
    },
    async close() {
      await listening.close()
      await reprise.close()
      await pool.end()
      await database.drop()
    },
  }
}

/** Sends a request and reads the whole answer. */
async function send(url: string, { method = 'GET', headers, body }: Sent = {}): Promise<Answer> {
  const isText = typeof body === 'string'
  const response = await fetch(url, {
    method,
    headers: { ...(body === undefined || isText ? {} : JSON_TYPE), ...headers },
    body: body === undefined ? null : isText ? body : JSON.stringify(body),
  })
  const text = await response.text()
  const isJson = response.headers.get('content-type')?.includes('json') ?? false
  const value: Answer['body'] = isJson ? JSON.parse(text) : {}
  const { status } = response
  return { status, headers: response.headers, text, body: value, id: String(value['id']) }
}

const JSON_TYPE = { 'content-type': 'application/json' }

/** Sends the same request once while it is running: the answer to the second, then to the first. */
export async function overlapping(
  { faults }: Api,
  request: () => Promise<Answer>,
  second: () => Promise<Answer> = request,
): Promise<readonly [second: Answer, first: Answer]> {
  const { entered, release } = faults.holdNext()
  onTestFinished(release)
  const first = request()
  await entered
  const answer = await second()
  release()
  return [answer, await first]
}

let keys = 0

/** A key that no other request has. */
export function freshKey(): string {
  return `a-key-of-a-fresh-request-${++keys}`
}

/** The headers by which an answer says how it came about; those that are not there are left out. */
export function marksOf({ headers }: Answer): Readonly<Record<string, string>> {
  const names = [
    ...['idempotency-key', 'x-idempotency-key', 'idempotent-replayed', 'idempotency-stored'],
    ...['idempotent-retry', 'retry-after', 'original-request-id'],
  ]
  const found = names.map((name) => [name, headers.get(name)] as const)
  return Object.fromEntries(found.filter((entry): entry is [string, string] => entry[1] !== null))
}
