/**
 * The client library `postgres`, known as postgres.js.
 *
 * Its transactions outlive their connection: when that breaks, later statements of the same
 * transaction are sent on whatever connection comes next, outside of any transaction. So what the
 * user gets here refuses to work from then on, as it does once the handler has answered.
 *
 * Declared by shape, so that the library does not have to be installed by those who use another.
 *
 * @module
 */

import { HandleAccess } from '../access/app-access.ts'
import { guardPostgresJs } from '../access/postgres-js.ts'
import { type Call, type Client, type Listener, parseValue, type Rows } from '../client.ts'
import { type ParkedWire, park, type Run } from './parked.ts'
import { shelter } from './postgres-js-shelter.ts'
import { beginOn, inSavepoint, isolationClause, joinOn, type Wire } from './wire.ts'

/** Rows of postgres.js as the server sent them. */
export interface PostgresJsRows extends Iterable<unknown> {
  readonly columns: readonly { readonly type: number }[] | null
  /** Has the columns in versions before 3.2. */
  readonly statement?: { readonly columns: readonly { readonly type: number }[] }
  readonly command: string
}

/** A query of postgres.js that has not been sent. */
export interface PostgresJsQuery extends PromiseLike<unknown> {
  raw(): PromiseLike<unknown>
}

/** Anything of postgres.js that takes statements. */
export interface PostgresJsQueries {
  unsafe(text: string, values?: never[], options?: { prepare?: boolean }): PostgresJsQuery
}

/** An `sql` of postgres.js, whose reserved connections are `Reserved` and transactions `Tx`. */
export interface PostgresJsSql<Reserved, Tx> extends PostgresJsQueries {
  /** From version 3.4 on. */
  reserve?(): Promise<Reserved>
  begin<T>(options: string, callback: (tx: Tx) => Promise<T>): Promise<unknown>
  listen(channel: string, hear: (payload: string) => void): Promise<{ unlisten(): Promise<void> }>
}

/** The store's view of an `sql`. */
export function postgresJsClient<Tx extends PostgresJsQueries>(
  sql: PostgresJsSql<unknown, Tx>,
  prepare: boolean,
): Client<Tx> {
  const parked: ParkedWire<Tx> = {
    isOrdered: true,
    send: (tx, call) => send(tx, call, prepare),
    script: (tx, text) => Promise.resolve(tx.unsafe(text)),
    nested,
    guard: guardPostgresJs,
  }
  const ask = (call: Call) => send(sql, call, prepare)
  return {
    source: sql,
    single: false,
    query: ask,
    begin(opening) {
      const { connection, isolation, first } = opening
      if (connection !== undefined) return beginOn(wireOf(connection, prepare), opening)
      const run: Run<Tx> = (callback) =>
        sql.begin(isolationClause(isolation), (tx) => {
          shelter(sql, tx)
          return callback(tx)
        })
      return park(run, parked, { first, ask })
    },
    join(tx, first) {
      // A statement that fails in a transaction of `sql.begin` fails all of it, unless it was in a
      // savepoint of the library's own. A reserved connection has no such thing.
      if (!hasSavepoint(tx)) return joinOn(wireOf(tx, prepare), first)
      return park((callback) => tx.savepoint(callback), parked, { first })
    },
    listen: (listener) => listen(sql, listener),
  }
}

async function listen(
  sql: PostgresJsSql<unknown, unknown>,
  { channel, hear }: Listener,
): Promise<() => void> {
  // The library listens on a connection of its own and opens it again by itself.
  const { unlisten } = await sql.listen(channel, hear)
  return () => void unlisten().catch(() => {})
}

async function send(on: PostgresJsQueries, call: Call, prepare: boolean): Promise<Rows> {
  const { text } = call.statement
  // The library takes what it can serialize, which all our values are.
  const query = on.unsafe(text, [...call.values] as never[], { prepare }).raw()
  // Raw rows are arrays of the bytes that the server sent.
  const rows = (await query) as PostgresJsRows & readonly (Buffer | null)[][]
  const columns = rows.columns ?? rows.statement?.columns
  return rows.map((row) =>
    row.map((value, index) => {
      const type = columns?.[index]?.type ?? 0
      return value === null ? null : parseValue(type, value.toString())
    }),
  )
}

function wireOf<Tx extends PostgresJsQueries>(connection: Tx, prepare: boolean): Wire<Tx> {
  return {
    handle: connection,
    guard: (access) => guardPostgresJs(connection, new HandleAccess(access)),
    send: (call) => send(connection, call, prepare),
    async script(text) {
      const answer: unknown = await connection.unsafe(text)
      return commandOf(Array.isArray(answer) && Array.isArray(answer[0]) ? answer.at(-1) : answer)
    },
    together: (issue) => issue(),
    release: () => {},
  }
}

function commandOf(answer: unknown): string {
  const isNamed = typeof answer === 'object' && answer !== null && 'command' in answer
  return isNamed ? String(answer.command) : ''
}

interface WithSavepoint<Tx> {
  savepoint<T>(callback: (tx: Tx) => Promise<T>): Promise<T>
}

/** In a savepoint of the library's own: else a statement that failed would fail the commit too. */
function nested<Tx extends PostgresJsQueries, T>(
  tx: Tx,
  work: (inner: Tx) => Promise<T>,
): Promise<T> {
  if (hasSavepoint(tx)) return tx.savepoint(work)
  return inSavepoint(
    (text) => Promise.resolve(tx.unsafe(text)),
    () => work(tx),
  )
}

function hasSavepoint<Tx extends PostgresJsQueries>(tx: Tx): tx is Tx & WithSavepoint<Tx> {
  return 'savepoint' in tx
}
