/**
 * The client library `pg`. With `pipeline: true` on the pool, statements that belong together travel
 * in one flight; without, one after the other.
 *
 * Declared by shape, so that neither `pg` nor its types have to be installed by those who use another
 * library.
 *
 * @module
 */

import { OPTIONS_INVALID } from '../../../core/error-table.ts'
import { RepriseError } from '../../../core/errors.ts'
import type { TransactionAccess } from '../../../engine/transaction-access.ts'
import {
  type Answer,
  type Call,
  type Client,
  type Listener,
  parseValue,
  type Rows,
} from '../client.ts'
import { isOfSession, isStale } from '../faults.ts'
import { fly } from './pg-flight.ts'
import { PgHeldSession } from './pg-held.ts'
import { forgetPrepared, isProtocol, type PgStream } from './pg-protocol.ts'
import { type PgTxParts, pgTx } from './pg-tx.ts'
import { beginOn, joinOn, takingTurns, type Wire } from './wire.ts'

/** What the store asks `pg` to execute. */
export interface PgQuery {
  readonly text: string
  readonly name?: string
  readonly values?: unknown[]
  readonly rowMode: 'array'
  readonly types: { getTypeParser(type: number): (text: string) => unknown }
}

/** What `pg` answers. */
export interface PgResult {
  readonly rows: unknown[][]
  readonly command: string
}

/** A connection of `pg`: a `Client`, or a `PoolClient` that was checked out. */
export interface PgConnection {
  /** Whether statements are sent without waiting for the answers to earlier ones. */
  readonly pipeline?: boolean
  query(query: PgQuery): Promise<PgResult>
  query(text: string): Promise<PgResult | PgResult[]>
  /** What it writes to: held back, statements that were issued together leave in one packet. */
  readonly connection?: { readonly stream?: PgStream }
  on(event: 'error' | 'end', listener: (error: Error) => void): unknown
  on(event: 'notification', listener: (message: { payload?: string | undefined }) => void): unknown
  removeListener(event: string, listener: () => void): unknown
}

/** A `PoolClient` of `pg`. */
export interface PgPoolClient extends PgConnection {
  release(broken?: boolean): void
}

/** A `Pool` of `pg` whose connections are `Connection`. */
export interface PgPool<Connection> {
  readonly options?: {
    readonly max?: number | undefined
    readonly pipeline?: boolean | undefined
    readonly binary?: boolean | undefined
  }
  readonly connect: {
    (): Promise<Connection>
    (callback: (...values: never[]) => void): void
  }
  query(query: PgQuery): Promise<PgResult>
  on(event: 'acquire', listener: (connection: Connection) => void): unknown
  on(event: 'error', listener: (error: Error) => void): unknown
}

/**
 * The store's view of a pool.
 *
 * @throws RepriseError `reprise-options-invalid`
 */
export function pgClient<Tx extends PgPoolClient>(pool: PgPool<Tx>, prepare: boolean): Client<Tx> {
  if (pool.options?.binary === true) {
    const detail =
      'The pool of pg has binary: true, and the store reads texts; give it a pool without'
    throw new RepriseError(OPTIONS_INVALID, detail)
  }
  const toQuery = (call: Call) => queryOf(call, prepare)
  const wireOf = (connection: Tx, isPooled: boolean) =>
    new PgWire(connection, { toQuery, isPooled, prepare })
  // What is not sent ahead or not prepared would gain nothing.
  const flies = prepare && pool.options?.pipeline === true
  shelter(pool)
  const query = async (call: Call, prepares = prepare) =>
    (await pool.query(queryOf(call, prepares))).rows
  const queryOrFly = (call: Call) =>
    flies && call.statement.isTextual === true ? flyAlone(pool, call, wireOf) : query(call)
  return {
    source: pool,
    single: false,
    query: (call) =>
      queryOrFly(call).catch((error: unknown) => {
        if (!isStale(error)) throw error
        // Unprepared, the statement works on any connection. The pool has dropped the one that failed.
        return query(call, false)
      }),
    begin(opening) {
      const own = opening.connection
      if (own !== undefined) return beginOn(wireOf(own, false), opening)
      return pool.connect().then((connection) => beginOn(wireOf(connection, true), opening))
    },
    hold: flies
      ? async (holding) => {
          const connection = await pool.connect()
          return new PgHeldSession(connection, wireOf(connection, true), holding)
        }
      : undefined,
    join: (tx, first) => joinOn(wireOf(tx, false), first),
    listen:
      pool.options?.max === 1
        ? undefined
        : async (listener) => listenOn(await pool.connect(), listener),
  }
}

/** Executes one statement, without what the library makes of each. */
async function flyAlone<Tx extends PgPoolClient>(
  pool: PgPool<Tx>,
  call: Call,
  wireOf: (connection: Tx, isPooled: boolean) => PgWire<Tx>,
): Promise<Rows> {
  const wire = wireOf(await pool.connect(), true)
  const answers: Answer[] = []
  let isBroken = true
  try {
    const flight = wire.fly([call], answers)
    if (flight === undefined) answers.push({ rows: await wire.send(call), command: '' })
    else await flight
    isBroken = false
    return answers[0]?.rows ?? []
  } finally {
    // As the pool does it: where a statement has failed, the connection goes.
    wire.release(isBroken)
  }
}

/** Pools and connections that have our listener. */
const sheltered = new WeakSet<object>()

/**
 * Keeps connections that break from ending the process. An `error` event without a listener would: the
 * pool itself listens only while a connection is idle, and whoever is given one listens a moment
 * later. PostgreSQL may end a session in that moment, so every connection has a listener from before it
 * is handed over until its end. Whoever uses the connection is told by the statement that fails.
 */
function shelter<Tx extends PgPoolClient>(pool: PgPool<Tx>): void {
  if (sheltered.has(pool)) return
  sheltered.add(pool)
  // A connection that broke while it was idle; the pool has dropped it.
  pool.on('error', ignore)
  pool.on('acquire', (connection) => {
    if (sheltered.has(connection)) return
    sheltered.add(connection)
    connection.on('error', ignore)
  })
}

/** By type, because `pg` asks for each column of each answer. */
const parsers = new Map<number, (text: string) => unknown>()

const types: PgQuery['types'] = {
  getTypeParser(type) {
    const known = parsers.get(type)
    if (known !== undefined) return known
    const parser = (text: string): unknown => parseValue(type, text)
    parsers.set(type, parser)
    return parser
  },
}

/** Every property is the query's own: tools that wrap `query()` copy the object that they are given. */
function queryOf({ statement, values }: Call, prepare: boolean): PgQuery {
  const { name, text } = statement
  return prepare
    ? { name, text, values: [...values], rowMode: 'array', types }
    : { text, values: [...values], rowMode: 'array', types }
}

/** Nobody. */
const ignore = (): void => {}

interface WireParts {
  readonly toQuery: (call: Call) => PgQuery
  readonly isPooled: boolean
  readonly prepare: boolean
}

/** One connection of `pg`, for as long as the store uses it. */
export class PgWire<Tx extends PgPoolClient> implements Wire<Tx> {
  readonly handle: Tx
  readonly #flies: boolean
  readonly #parts: WireParts
  readonly #inTurn: <T>(run: () => Promise<T>) => Promise<T>
  /** Whether the connection is to leave the pool: the app's code said so, or its session is in doubt. */
  #isGivenUp = false

  constructor(connection: Tx, parts: WireParts) {
    this.handle = connection
    this.#parts = parts
    const pipelines = connection.pipeline === true
    // A connection that does not pipeline would queue statements itself, which `pg` will give up.
    this.#inTurn = pipelines ? atOnce : takingTurns()
    this.#flies = pipelines && parts.prepare
    // One of the app's own may be of another pool, and nobody may listen there.
    if (!parts.isPooled) connection.on('error', ignore)
  }

  guard(access: TransactionAccess): Tx {
    const { handle } = this
    // Exactly what the app's code would have called.
    const query = handle.query as (...args: readonly unknown[]) => unknown
    return this.standIn({ access, query: (args) => Reflect.apply(query, handle, args) })
  }

  /** Makes what the app's code is given in the place of the connection. */
  standIn(parts: Omit<PgTxParts, 'released'>): Tx {
    // The connection is in use until the end, whatever the app's code does with it.
    const released = (isBroken: boolean) => {
      this.#isGivenUp ||= isBroken
    }
    return pgTx(this.handle, { ...parts, released })
  }

  async send(call: Call): Promise<Rows> {
    return (await this.#inTurn(() => this.handle.query(this.#parts.toQuery(call)))).rows
  }

  async script(text: string): Promise<string> {
    const results = await this.#inTurn(() => this.handle.query(text))
    return (Array.isArray(results) ? results.at(-1) : results)?.command ?? ''
  }

  together<T>(issue: () => T): T {
    const stream = this.handle.connection?.stream
    stream?.cork?.()
    try {
      return issue()
    } finally {
      stream?.uncork?.()
    }
  }

  async refresh(): Promise<boolean> {
    const { connection: protocol } = this.handle
    // What is prepared on a connection of the app's own is the app's.
    if (!this.#parts.isPooled || !isProtocol(protocol)) return false
    try {
      await this.script('rollback; deallocate all')
    } catch {
      return false
    }
    forgetPrepared(protocol)
    return true
  }

  doubt(error: unknown): void {
    this.#isGivenUp ||= isOfSession(error)
  }

  release(broken: boolean): void {
    if (this.#parts.isPooled) this.handle.release(broken || this.#isGivenUp)
    else this.handle.removeListener('error', ignore)
  }

  fly(calls: readonly Call[], answers: Answer[]): Promise<unknown> | undefined {
    if (!this.#flies) return undefined
    return fly(this.handle, calls, answers) ?? this.#prepare(calls, answers)
  }

  /** One by one, which prepares them for the next time. */
  async #prepare(calls: readonly Call[], answers: Answer[]): Promise<void> {
    const { toQuery } = this.#parts
    const flight = this.together(() => calls.map((call) => this.handle.query(toQuery(call))))
    answers.push(...(await Promise.all(flight)))
  }
}

function atOnce<T>(run: () => Promise<T>): Promise<T> {
  return run()
}

async function listenOn(connection: PgPoolClient, listener: Listener): Promise<() => void> {
  let isOver = false
  const stop = (isLost: boolean) => {
    if (isOver) return
    isOver = true
    // Never back into the pool: it would go on listening there.
    connection.release(true)
    if (isLost) listener.lost()
  }
  connection.on('error', () => stop(true))
  connection.on('end', () => stop(true))
  connection.on('notification', ({ payload = '' }) => listener.hear(payload))
  try {
    await connection.query(`listen "${listener.channel}"`)
  } catch (error) {
    stop(false)
    throw error
  }
  return () => stop(false)
}
