/**
 * Statements of the store that travel together on a connection of `pg`: as one sequence of the
 * extended protocol with one `Sync` at its end. PostgreSQL skips what is left of it once something in
 * it has failed.
 *
 * To `pg` it is one query. What `pg` makes of each query otherwise, a copy of it, a description of its
 * rows, a result and two promises, costs this process as much as everything else about a statement.
 *
 * @module
 */

import type { Answer, Call } from '../client.ts'
import {
  execute,
  isPrepared,
  isProtocol,
  type PgProtocol,
  type PgQueryClass,
  queryClassOf,
} from './pg-protocol.ts'

/** Sends the statements, if all of them are prepared on the connection; they answer in texts. */
export function fly(
  connection: { readonly connection?: object; query(query: never): unknown },
  calls: readonly Call[],
  answers: Answer[],
): Promise<void> | undefined {
  const { connection: protocol } = connection
  const Query = queryClassOf(connection)
  if (Query === undefined || !isProtocol(protocol)) return undefined
  for (const { statement } of calls) if (!isPrepared(protocol, statement)) return undefined
  const Flight = classOf(Query)
  return new Promise((resolve, reject) => {
    const flight = new Flight(calls, answers, (error) =>
      error === null ? resolve() : reject(error),
    )
    // It takes queries of its own class, which this is to it.
    connection.query(flight as never)
  })
}

type Callback = (error: Error | null) => void

type FlightClass = new (calls: readonly Call[], answers: Answer[], callback: Callback) => object

const classes = new WeakMap<PgQueryClass, FlightClass>()

/** One class per class of the library, which is not ours to import. */
function classOf(Query: PgQueryClass): FlightClass {
  const known = classes.get(Query)
  if (known !== undefined) return known
  const made = flightClass()
  // In a pipeline it takes no other. What its constructor makes is never used, so that is not called.
  Object.setPrototypeOf(made.prototype, Query.prototype)
  classes.set(Query, made)
  return made
}

function flightClass(): FlightClass {
  return class Flight {
    readonly #calls: readonly Call[]
    readonly #answers: Answer[]
    #rows: (readonly unknown[])[] = []
    /** The library puts its own around it, where it has a timeout for queries. */
    callback: Callback

    constructor(calls: readonly Call[], answers: Answer[], callback: Callback) {
      this.#calls = calls
      this.#answers = answers
      this.callback = callback
    }

    submit(protocol: PgProtocol): null {
      execute(protocol, this.#calls, true)
      return null
    }

    handleDataRow({ fields }: { readonly fields: readonly unknown[] }): void {
      this.#rows.push(fields)
    }

    handleCommandComplete({ text }: { readonly text: string }): void {
      this.#answers.push({ rows: this.#rows, command: text })
      this.#rows = []
    }

    handleError(error: Error): void {
      this.callback(error)
    }

    handleReadyForQuery(): void {
      this.callback(null)
    }
  }
}
