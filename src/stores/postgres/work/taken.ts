/**
 * Records as workers take them.
 *
 * @module
 */

import type { TakenRecord, TakeRequest } from '../../../engine/work.ts'
import type { Rows, Value } from '../client.ts'
import { pack, unpack } from '../record.ts'

/** What the statements that take a record return, in the order of the columns. */
type TakenRow = readonly [
  id: Uint8Array,
  caller: string,
  operation: string,
  key: string,
  fingerprint: Uint8Array,
  fence: number,
  recoveryPoint: string | null,
  state: Uint8Array | null,
  input: Uint8Array | null,
  requestId: string | null,
  ip: string | null,
  userAgent: string | null,
  tries: number,
]

/** The first values of every statement that takes a record. */
export function takeValues({ owner, leaseMs, retentionMs }: TakeRequest): readonly Value[] {
  return [pack(owner), leaseMs, retentionMs]
}

/** The record that was taken, if one was. */
export function taken([row]: Rows, { owner }: TakeRequest): TakenRecord | undefined {
  if (row === undefined) return undefined
  // The statements return exactly these columns.
  const columns = row as TakenRow
  const [id, caller, operation, key, fingerprint, fence, recoveryPoint, state, input] = columns
  const [, , , , , , , , , requestId, ip, userAgent, tries] = columns
  return {
    ...{ id: unpack(id), caller, operation, key, fingerprint: unpack(fingerprint) },
    claim: { id: unpack(id), owner, fence },
    ...{ recoveryPoint, state, input, tries, origin: { requestId, ip, userAgent } },
  }
}
