/**
 * What is used of the inside of a connection of `pg`, declared by shape and looked for before it is
 * used: where a version has none of it, statements go one by one.
 *
 * @module
 */

import type { Call, Value } from '../client.ts'
import { executions } from './pg-messages.ts'

/** What messages leave by; a library of another kind may have something else in its place. */
export interface PgStream {
  readonly writable?: boolean
  write?(bytes: Uint8Array): unknown
  cork?(): void
  uncork?(): void
}

/** What is written to, as far as it is used. */
export interface PgProtocol {
  readonly stream?: PgStream
  /** Texts of the statements that were prepared, by name. */
  readonly parsedStatements: Record<string, unknown>
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
    'parsedStatements' in protocol &&
    'bind' in protocol &&
    'execute' in protocol &&
    'sync' in protocol &&
    'stream' in protocol
  )
}

/** Whether the statement needs no parsing on this connection. */
export function isPrepared(
  { parsedStatements }: PgProtocol,
  { name, text }: Call['statement'],
): boolean {
  return name !== '' && parsedStatements[name] === text
}

/** Has the library parse every statement again. */
export function forgetPrepared({ parsedStatements }: PgProtocol): void {
  for (const name of Object.keys(parsedStatements)) delete parsedStatements[name]
}

/**
 * Executes prepared statements, without a description of their rows; with `isLast`, the sequence ends
 * with them.
 */
export function execute(protocol: PgProtocol, calls: readonly Call[], isLast: boolean): void {
  const { stream } = protocol
  if (stream?.write === undefined) return executeApart(protocol, calls, isLast)
  // As the library does it: who has the connection hears by other means that it has ended.
  if (stream.writable !== false) stream.write(executions(calls, isLast))
}

function executeApart(protocol: PgProtocol, calls: readonly Call[], isLast: boolean): void {
  for (const { statement, values } of calls) {
    protocol.bind({ statement: statement.name, values: values.map(toWire) })
    protocol.execute()
  }
  if (isLast) protocol.sync()
}

/** Texts and bytes go as they are; the library takes nothing else without its own mapping. */
function toWire(value: Value): unknown {
  if (value === null || typeof value === 'string') return value
  if (value instanceof Uint8Array) return Buffer.isBuffer(value) ? value : Buffer.from(value)
  return String(value)
}
