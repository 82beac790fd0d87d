/**
 * What the store needs of Redis, whichever driver is behind it.
 *
 * @module
 */

import { createHash } from 'node:crypto'
import { STORE_UNAVAILABLE } from '../../core/error-table.ts'
import { isRepriseError, RepriseError } from '../../core/errors.ts'

/** One part of a command. */
export type Argument = string | Buffer

/** A reply; texts are bytes, except where the protocol itself calls them text. */
export type Reply = null | number | string | Buffer | readonly Reply[]

/** One Redis server, or a cluster of them. */
export interface Connection {
  /** Whether keys are spread over servers, so that a script has only those of one hash slot. */
  readonly isCluster: boolean
  /** Sends a command to the server that holds `key`. */
  send(key: string, command: readonly Argument[]): Promise<Reply>
  /** Every server that holds keys of its own; a single one unless it is a cluster. */
  primaries(): Promise<readonly Primary[]>
  /** Opens a further connection, only for messages. */
  listen(onMessage: (channel: string) => void): Promise<Listener>
}

/** A server that holds keys of its own. */
export interface Primary {
  /** Host and port, or another name that no other primary has. */
  readonly address: string
  send(command: readonly Argument[]): Promise<Reply>
}

/** A connection for messages. */
export interface Listener {
  subscribe(channel: string): Promise<void>
  unsubscribe(channel: string): Promise<void>
  close(): Promise<void>
}

/** A Lua script and the digest that Redis knows it by. */
export interface Script {
  readonly source: string
  readonly sha: string
}

/** Makes a script of its source. */
export function script(source: string): Script {
  return { source, sha: createHash('sha1').update(source).digest('hex') }
}

/** What a script works on; on a cluster all keys belong to one record and so to one hash slot. */
export interface ScriptInput {
  readonly keys: readonly [string, ...string[]]
  readonly args?: readonly Argument[]
}

/** Runs a script: by its digest, and in full where the server does not know it yet. */
export async function run(
  connection: Connection,
  { source, sha }: Script,
  { keys, args = [] }: ScriptInput,
): Promise<Reply> {
  const count = String(keys.length)
  return await reaching(async () => {
    try {
      return await connection.send(keys[0], ['evalsha', sha, count, ...keys, ...args])
    } catch (error) {
      if (!(error instanceof Error && error.message.startsWith('NOSCRIPT'))) throw error
      return await connection.send(keys[0], ['eval', source, count, ...keys, ...args])
    }
  })
}

/**
 * Every primary, in an order that does not depend on when they are asked for.
 *
 * @throws RepriseError `idempotency-store-unavailable`
 */
export async function primariesOf(connection: Connection): Promise<readonly Primary[]> {
  return await reaching(async () => {
    const primaries = [...(await connection.primaries())]
    if (primaries.length === 0) throw new Error('The cluster has no known primary.')
    return primaries.sort((a, b) => (a.address < b.address ? -1 : 1))
  })
}

/**
 * The outcome of work that needs Redis.
 *
 * @throws RepriseError `idempotency-store-unavailable` whatever the driver or Redis reports
 */
export async function reaching<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (cause) {
    if (isRepriseError(cause)) throw cause
    throw new RepriseError(STORE_UNAVAILABLE, 'Redis failed', { cause })
  }
}
