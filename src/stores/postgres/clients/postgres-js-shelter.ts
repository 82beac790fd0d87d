/**
 * Keeps statements of a transaction of postgres.js from being sent when its connection is lost.
 *
 * The library sends them all the same, its own `rollback` included: to a socket that is not there, which
 * ends the process with an exception that nobody can catch, or to the connection that comes next, outside
 * of any transaction. So the function by which a connection executes is replaced, once per connection, by
 * one that rejects the statements of a transaction whose connection was lost. Those that the library still
 * queues for the transaction would never be answered, and are rejected as well.
 *
 * What is used of the inside of the library is declared by shape and looked for before it is used; where
 * a version has none of it, nothing is replaced.
 *
 * @module
 */

import type { PostgresJsQueries } from './postgres-js.ts'

/** A query on its way. */
interface InnerQuery {
  /** What sends it: one for the pool, one for each transaction, and one for each savepoint. */
  readonly handler?: unknown
  reject(error: unknown): void
  resolve(rows: readonly unknown[]): void
}

/** Connections in the same state. */
interface InnerQueue {
  push(connection: InnerConnection): unknown
  remove(connection: InnerConnection): unknown
}

/** A connection, which outlives its sockets. */
interface InnerConnection {
  /** The state that it is in. */
  queue?: InnerQueue
  /**
   * Set while a transaction has the connection; another function for each. Executes the next statement
   * that is queued for the transaction; where there is none, the connection becomes one that is reserved.
   */
  reserved?: unknown
  /** Called when the socket is closed under a transaction. */
  onclose?: ((error: unknown) => void) | null
  execute(query: InnerQuery): unknown
}

/** What has, or had, a connection for itself. */
interface Tenancy {
  readonly reserved: unknown
  loss: Error | undefined
}

/** By what sends the queries of a transaction or of a savepoint in it. */
const tenancies = new WeakMap<object, Tenancy>()

/** What sends the queries of a pool, which are of no transaction. */
const pools = new WeakSet<object>()

/** Statements that only ask for the connection. */
const probes = new WeakSet<object>()

const sheltered = new WeakMap<object, (connection: InnerConnection) => void>()

/** Shelters the connection of a transaction of `sql`, before the app has sent anything on it. */
export function shelter(sql: PostgresJsQueries, tx: PostgresJsQueries): void {
  // Neither is sent before somebody waits for it; the first never is.
  const pooled: object = sql.unsafe('select')
  // The library passes options on that its types do not name; its own `begin` uses this one.
  const probe: object = tx.unsafe('select', [], { onexecute } as never)
  if (!isQuery(pooled) || !isQuery(probe)) return
  if (typeof pooled.handler === 'function') pools.add(pooled.handler)
  probes.add(probe)
  Promise.resolve(probe).catch(() => {})
}

function isQuery(query: object): query is InnerQuery {
  return 'handler' in query && 'reject' in query && 'resolve' in query
}

/** Called by the library with the connection on which it has sent a probe. */
function onexecute(connection: unknown): boolean {
  if (isConnection(connection)) replaceExecute(connection)
  // That it may send more.
  return true
}

function isConnection(connection: unknown): connection is InnerConnection {
  return (
    typeof connection === 'object' &&
    connection !== null &&
    'execute' in connection &&
    typeof connection.execute === 'function' &&
    'reserved' in connection
  )
}

function replaceExecute(connection: InnerConnection): void {
  const known = sheltered.get(connection)
  if (known !== undefined) return known(connection)
  const execute = connection.execute.bind(connection)
  let tenancy: Tenancy | undefined
  let rejected = 0
  const begin = ({ reserved, onclose }: InnerConnection): void => {
    const begun: Tenancy = { reserved, loss: undefined }
    tenancy = begun
    const lost = (error: unknown) => {
      begun.loss = error instanceof Error ? error : new Error('The connection was lost.')
      onclose?.(error)
      rejectQueued(connection, reserved, () => rejected)
    }
    Object.assign(connection, { onclose: lost })
  }
  sheltered.set(connection, begin)
  connection.execute = (query) => {
    if (probes.has(query)) {
      begin(connection)
      query.resolve([])
      return true
    }
    const loss = lossOf(query, connection, tenancy)
    if (loss === undefined) return execute(query)
    rejected++
    query.reject(loss)
    return true
  }
  begin(connection)
}

/** Has what is queued for a transaction whose connection was lost executed, which rejects it. */
function rejectQueued(
  connection: InnerConnection,
  reserved: unknown,
  countRejected: () => number,
): void {
  const { queue } = connection
  if (typeof reserved !== 'function' || queue === undefined) return
  for (let before = -1; before < countRejected(); ) {
    before = countRejected()
    reserved()
  }
  // The last call found none left, and took the connection from the state that it is in.
  connection.queue?.remove(connection)
  queue.push(connection)
  connection.queue = queue
}

/** Why a query can not be sent, if it is of a transaction whose connection was lost. */
function lossOf(
  { handler }: InnerQuery,
  { reserved }: InnerConnection,
  latest: Tenancy | undefined,
): Error | undefined {
  if (typeof handler !== 'function' || pools.has(handler)) return undefined
  const known = tenancies.get(handler)
  if (known !== undefined) return known.loss
  // The first statement of a savepoint, when no transaction has the connection any more.
  if (!reserved) return latest?.loss
  if (reserved === latest?.reserved) tenancies.set(handler, latest)
  return undefined
}
