/**
 * What `pg` makes of a query, and what it writes to, as far as the store meddles with either.
 *
 * @module
 */

import type { PgProtocol, PgQueryObject } from '../../src/stores/postgres/clients/pg-protocol.ts'

/** A statement on its way. */
export interface Asked {
  readonly text: string
  readonly values: readonly unknown[]
}

/** A query of the library, as it is extended. */
export class SimulatedQuery implements PgQueryObject {
  callback?: (error: Error | null, result: unknown) => void
  query_timeout?: number | undefined
  readonly #asked: Asked
  readonly #rows: unknown[] = []

  constructor(config: object | string, values?: unknown) {
    // What is sent has a text and values: it would not travel otherwise.
    const { text } = config as Asked
    this.#asked = { text, values: values as Asked['values'] }
  }

  submit(protocol: PgProtocol): unknown {
    protocol.bind({ statement: this.#asked.text, values: this.#asked.values })
    protocol.execute()
    return null
  }

  handleDataRow({ fields }: { readonly fields: readonly unknown[] }): void {
    this.#rows.push(fields)
  }

  handleCommandComplete(_message: object, _protocol: PgProtocol): void {
    this.callback?.(null, { rows: this.#rows, command: '' })
  }

  handleError(error: unknown, _protocol: PgProtocol): void {
    // The library gives its callback whatever the server said.
    this.callback?.(error as Error, undefined)
  }

  handleReadyForQuery(): void {}
}

/** What queries write to. */
export class SimulatedProtocol implements PgProtocol {
  readonly parsedStatements: Record<string, string> = {}
  readonly stream: { cork(): void; uncork(): void }
  executed: Asked[] = []
  #bound: Asked = { text: '', values: [] }

  constructor(stream: SimulatedProtocol['stream']) {
    this.stream = stream
  }

  /** By the name of what was prepared, else by its text. */
  bind({ statement, values }: { statement: string; values: readonly unknown[] }): void {
    this.#bound = { text: this.parsedStatements[statement] ?? statement, values }
  }

  execute(): void {
    this.executed.push(this.#bound)
  }

  /** What was executed is one sequence in any case. */
  sync(): void {}
}
