/**
 * The calls by which a handler writes to a Node response.
 *
 * @module
 */

import type { ServerResponse } from 'node:http'

/** Does nothing. One for all, where each would be a function of its own. */
export const noop = (): void => {}

/** A call that is to be made later. */
export type HeldCall = readonly [method: string, args: readonly unknown[]]

type Callback = (...args: unknown[]) => void

/** The arguments of `write` and `end`, whichever are left out. */
export function partsOf(args: readonly unknown[]): {
  readonly chunk: unknown
  readonly encoding: unknown
  readonly callback: Callback | undefined
} {
  const [chunk, encoding, callback] = args
  // As most are called.
  if (!isCallback(chunk) && !isCallback(encoding)) {
    return { chunk, encoding: encoding ?? undefined, callback: callbackOf(callback) }
  }
  const [first, second] = silenced(args)
  return { chunk: first, encoding: second ?? undefined, callback: args.find(isCallback) }
}

function callbackOf(arg: unknown): Callback | undefined {
  return isCallback(arg) ? arg : undefined
}

function isCallback(arg: unknown): arg is Callback {
  return typeof arg === 'function'
}

/** Whoever writes bytes may use their memory again as soon as the call is done. */
export function copied(chunk: unknown): unknown {
  return chunk instanceof Uint8Array ? Buffer.from(chunk) : chunk
}

/** Has a call done on another response. */
export function invoke(stage: ServerResponse, name: string, args: readonly unknown[]): unknown {
  const method: unknown = Reflect.get(stage, name)
  if (typeof method !== 'function') throw new TypeError(`${name} is not a method`)
  return Reflect.apply(method, stage, args)
}

/** The same call without those who are to be told of its end. */
export function silenced(args: readonly unknown[]): readonly unknown[] {
  return args.filter((arg) => typeof arg !== 'function')
}

/** The bytes of a chunk that Node has accepted in this encoding. */
export function bytesOf(chunk: unknown, encoding: unknown): Buffer | undefined {
  if (Buffer.isBuffer(chunk)) return chunk
  if (typeof chunk !== 'string') return undefined
  // Node would have thrown at any other.
  return Buffer.from(chunk, encoding as BufferEncoding | undefined)
}
