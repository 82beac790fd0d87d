/**
 * A guard for what postgres.js sends statements by: a transaction, a savepoint or a reserved connection.
 *
 * Its queries are lazy: one is sent when it is first awaited, by its member `handler`. So that is where
 * access is asked, and a query that is only made, or is a fragment of another, counts as nothing.
 *
 * @module
 */

import type { AppAccess } from './app-access.ts'

/** A query, as far as it is known by what it has. */
interface LazyQuery extends Promise<unknown> {
  handler: ((query: LazyQuery) => unknown) & { debug?: unknown }
  reject(error: Error): void
  cursor(...values: unknown[]): unknown
  cursorFn?: unknown
}

type Callee = (...values: unknown[]) => unknown

/** The functions that make queries, besides the `sql` itself. */
const MAKING: ReadonlySet<PropertyKey> = new Set(['unsafe', 'file'])

/** The `sql` as the app's code gets it. */
export function guardPostgresJs<T extends object>(sql: T, access: AppAccess): T {
  return new Proxy(sql, {
    // Only functions are applied.
    apply: (callee, self: unknown, values: unknown[]) =>
      guardQuery(Reflect.apply(callee as unknown as Callee, self, values), access),
    get(object, name) {
      const value: unknown = Reflect.get(object, name)
      if (typeof value !== 'function') return value
      // Every function takes values.
      const callee = value as Callee
      if (name === 'savepoint') return (...values: unknown[]) => nest(callee, values, access)
      // A reserved connection is given back by whoever has reserved it.
      if (name === 'release') return () => {}
      if (!MAKING.has(name)) return value
      return (...values: unknown[]) => guardQuery(Reflect.apply(callee, object, values), access)
    },
  })
}

/** Opens a savepoint, in which the callback gets a guarded `sql` too. */
function nest(savepoint: Callee, values: readonly unknown[], access: AppAccess): unknown {
  const work = values.find((value) => typeof value === 'function')
  // It can be a template too, of which the library makes a query on an `sql` of its own.
  if (typeof work !== 'function') return access.send(async () => savepoint(...values))
  return access.nest<object, unknown>(
    async (within) => savepoint(...values.map((value) => (value === work ? within : value))),
    (inner) => {
      const given: unknown = work(guardPostgresJs(inner, access))
      // As the library does: a list of queries is awaited as one.
      return Array.isArray(given) ? Promise.all(given) : given
    },
  )
}

/** The query itself, which asks before it is sent. */
function guardQuery(made: unknown, access: AppAccess): unknown {
  if (!isQuery(made)) return made
  const { handler } = made
  const cursor = made.cursor.bind(made)
  let isIterated = false
  const send = (query: LazyQuery) => {
    if (access.isEnded) {
      query.catch(() => {})
      access.send(async () => undefined).catch((error: Error) => query.reject(error))
      return undefined
    }
    const answered = access.begin()
    // A query whose rows are iterated never settles: each step counts for itself.
    if (isIterated) answered()
    else query.then(answered, answered)
    return handler(query)
  }
  made.handler = Object.assign(send, { debug: handler.debug })
  made.cursor = (...values) => {
    const given: unknown = cursor(...values)
    if (given === made) return made
    isIterated = true
    // Without a function for the rows it gives what can be iterated.
    return guardRows(given as AsyncIterable<unknown>, access)
  }
  return made
}

/** Iterates while access lasts. The first step after its end closes the cursor on the server. */
function guardRows(rows: AsyncIterable<unknown>, access: AppAccess): AsyncIterable<unknown> {
  return {
    [Symbol.asyncIterator]() {
      const steps = rows[Symbol.asyncIterator]()
      const close = async () => steps.return?.() ?? { done: true, value: undefined }
      return {
        async next() {
          try {
            access.check()
          } catch (error) {
            await close()
            throw error
          }
          return access.send(async () => steps.next())
        },
        return: close,
      }
    },
  }
}

function isQuery(value: unknown): value is LazyQuery {
  return value instanceof Promise && 'handler' in value && typeof value.handler === 'function'
}
