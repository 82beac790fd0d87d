/**
 * Messages of PostgreSQL's extended protocol, put together in one piece: what is written to a stream
 * bit by bit costs the process more than all that the bits say.
 *
 * @module
 */

import type { Call, Value } from '../client.ts'

const BIND = 66
const EXECUTE: Uint8Array = Uint8Array.of(69, 0, 0, 0, 9, 0, 0, 0, 0, 0)
const SYNC: Uint8Array = Uint8Array.of(83, 0, 0, 0, 4)

/** A format for all columns of an answer: text. */
const IN_TEXT: Uint8Array = Uint8Array.of(0, 1, 0, 0)

/** UTF-8 takes at most three bytes for a unit of UTF-16. */
const BYTES_PER_UNIT = 3

const SCRATCH_BYTES = 8192

/** What messages are put together in; it grows to the largest. */
let scratch: Buffer = Buffer.allocUnsafe(SCRATCH_BYTES)

/** One that grew beyond is not kept. */
const SCRATCH_BYTES_MAX = 1_048_576

/**
 * Binds and executes prepared statements one after the other, their answers in text; with `isLast`,
 * the `Sync` that ends the sequence.
 */
export function executions(calls: readonly Call[], isLast: boolean): Buffer {
  let at = 0
  for (const call of calls) at = put(EXECUTE, putBind(call, at))
  if (isLast) at = put(SYNC, at)
  const message = Buffer.allocUnsafe(at)
  scratch.copy(message, 0, 0, at)
  if (scratch.length > SCRATCH_BYTES_MAX) scratch = Buffer.allocUnsafe(SCRATCH_BYTES)
  return message
}

function putBind({ statement, values }: Call, start: number): number {
  const { name } = statement
  const count = values.length
  reserve(start, 16 + BYTES_PER_UNIT * name.length + 2 * count)
  scratch[start] = BIND
  // The portal has no name.
  scratch[start + 5] = 0
  let at = start + 6
  at += scratch.write(name, at)
  scratch[at++] = 0
  at = scratch.writeInt16BE(count, at)
  let format = at
  at = scratch.writeInt16BE(count, at + 2 * count)
  for (const value of values) {
    format = scratch.writeInt16BE(value instanceof Uint8Array ? 1 : 0, format)
    at = putValue(value, at)
  }
  at = put(IN_TEXT, at)
  scratch.writeInt32BE(at - start - 1, start + 1)
  return at
}

/** Bytes go as they are, all else as text. */
function putValue(value: Value, at: number): number {
  if (value === null) {
    reserve(at, 4)
    return scratch.writeInt32BE(-1, at)
  }
  if (value instanceof Uint8Array) {
    reserve(at, 4 + value.byteLength)
    scratch.set(value, at + 4)
    return scratch.writeInt32BE(value.byteLength, at) + value.byteLength
  }
  const text = String(value)
  reserve(at, 4 + BYTES_PER_UNIT * text.length)
  const bytes = scratch.write(text, at + 4)
  return scratch.writeInt32BE(bytes, at) + bytes
}

function put(bytes: Uint8Array, at: number): number {
  reserve(at, bytes.byteLength)
  scratch.set(bytes, at)
  return at + bytes.byteLength
}

function reserve(at: number, bytes: number): void {
  if (at + bytes <= scratch.length) return
  const larger = Buffer.allocUnsafe(2 * (at + bytes))
  scratch.copy(larger, 0, 0, at)
  scratch = larger
}
