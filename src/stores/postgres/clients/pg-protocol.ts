/**
 * What is used of the inside of a connection of `pg`, declared by shape and looked for before it is
 * used: where a version has none of it, statements go one by one.
 *
 * @module
 */

import type { Call, Value } from '../client.ts'

/** What is written to, as far as it is used. */
export interface PgProtocol {
  readonly stream?: { cork?(): void; uncork?(): void }
  /** Texts of the statements that were prepared, by name. */
  readonly parsedStatements: Readonly<Record<string, unknown>>
  bind(config: { statement: string; values: readonly unknown[] }): void
  execute(config?: object): void
  sync(): void
}

/** A query of `pg`, as the library handles it. */
export interface PgQueryObject {
  callback?: (error: Error | null, result: unknown) => void
  query_timeout?: number | undefined
  submit(protocol: PgProtocol): unknown
  handleDataRow(message: { readonly fields: readonly unknown[] }): void
  handleCommandComplete(message: object, protocol: PgProtocol): void
  handleError(error: unknown, protocol: PgProtocol): void
}

/** The class of queries that a connection of `pg` takes. */
export type PgQueryClass = new (config: object | string, values?: unknown) => PgQueryObject

/** The class of its queries, which every version of `pg` names by its connections' class. */
export function queryClassOf(connection: object): PgQueryClass | undefined {
  const found: unknown = Reflect.get(connection.constructor, 'Query')
  // Only `pg` names a class so, and this is how it makes its own queries.
  return typeof found === 'function' ? (found as PgQueryClass) : undefined
}

/** Whether all of it is there. */
export function isProtocol(protocol: object | undefined): protocol is PgProtocol {
  return (
    protocol !== undefined &&
    ['parsedStatements', 'bind', 'execute', 'sync', 'stream'].every((name) => name in protocol)
  )
}

/** Whether the statement needs no parsing on this connection. */
export function isPrepared(
  { parsedStatements }: PgProtocol,
  { name, text }: Call['statement'],
): boolean {
  return name !== '' && parsedStatements[name] === text
}

/** Executes a prepared statement, without a description of its rows and without a Sync. */
export function execute(protocol: PgProtocol, { statement, values }: Call): void {
  protocol.bind({ statement: statement.name, values: values.map(toWire) })
  protocol.execute()
}

/** Texts and bytes go as they are; the library takes nothing else without its own mapping. */
function toWire(value: Value): unknown {
  if (value === null || typeof value === 'string') return value
  if (value instanceof Uint8Array) return Buffer.isBuffer(value) ? value : Buffer.from(value)
  return String(value)
}
