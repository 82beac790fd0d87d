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
  /** Sends a command to the server that holds `key`. Never throws: what fails is rejected. */
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

/** A command that runs a script: digest, number of keys, keys, arguments. */
export type ScriptCommand = readonly [
  name: 'evalsha',
  sha: string,
  keys: string,
  key: string,
  ...rest: Argument[],
]

/** What a script works on; on a cluster all keys belong to one record and so to one hash slot. */
export interface ScriptInput {
  readonly keys: readonly [string, ...string[]]
  readonly args?: readonly Argument[]
}

/** Runs a script. */
export function run(
  connection: Connection,
  script: Script,
  { keys, args = [] }: ScriptInput,
): Promise<Reply> {
  const [first, ...more] = keys
  const count = String(keys.length)
  const command: ScriptCommand = ['evalsha', script.sha, count, first, ...more, ...args]
  return evaluate(connection, { script, command, parse: asIs })
}

function asIs(reply: Reply): Reply {
  return reply
}

/** A command with what it runs, and what is made of the reply. */
export interface Evaluation<T> {
  readonly script: Script
  readonly command: ScriptCommand
  readonly parse: (reply: Reply) => T
}

/**
 * Runs a script: by its digest, and in full where the server does not know it yet. Every request
 * runs some, so each is one promise beside the driver's own.
 *
 * @throws RepriseError `idempotency-store-unavailable`
 */
export function evaluate<T>(connection: Connection, evaluation: Evaluation<T>): Promise<T> {
  const { command, parse } = evaluation
  return connection.send(command[3], command).then(parse, (error: unknown) => {
    if (!(error instanceof Error && error.message.startsWith('NOSCRIPT'))) throw failed(error)
    const full = ['eval', evaluation.script.source, ...command.slice(2)]
    return connection.send(command[3], full).then(parse, fail)
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
    throw failed(cause)
  }
}

/**
 * Redis replied something else than the script gives: a `MULTI` of the app's on the same connection
 * has it reply `QUEUED`. Nobody knows what became of the command.
 */
export function unexpected(expected: string): RepriseError {
  return failed(new TypeError(`Redis replied something else than ${expected}.`))
}

function failed(cause: unknown): RepriseError {
  return isRepriseError(cause)
    ? cause
    : new RepriseError(STORE_UNAVAILABLE, 'Redis failed', { cause })
}

function fail(cause: unknown): never {
  throw failed(cause)
}
