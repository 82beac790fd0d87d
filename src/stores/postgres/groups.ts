/**
 * The two verbs of lease mode that every fresh request asks for, for many requests at once.
 *
 * @module
 */

import type { Claim, ClaimRequest, ClaimResult, Finish } from '../../engine/store.ts'
import type { Rows, Value } from './client.ts'
import { pack } from './record.ts'

/** What travels as text, twice its size, is better off alone from here on, in bytes. */
const BYTES_MAX = 4096

/** An end of a run. */
export interface Ending {
  readonly claim: Claim
  readonly finish: Finish
}

/** Whether a claim may go with others: room in a quota is found for one after the other. */
export function isClaimGroupable({ quota, input }: ClaimRequest): boolean {
  return quota === undefined && (input?.byteLength ?? 0) <= BYTES_MAX
}

/** Whether an end may go with others. */
export function isEndingGroupable({ finish }: Ending): boolean {
  return finish.response.sealed.byteLength <= BYTES_MAX
}

/** What `claimMany` takes. */
export function claimsValue(requests: readonly ClaimRequest[]): Value {
  return JSON.stringify(
    requests.map(({ id, owner, caller, operation, key, fingerprint, origin, ...request }) => [
      ...[hex(pack(id)), hex(pack(owner)), caller, operation, key, hex(pack(fingerprint))],
      ...[request.leaseMs, Math.max(request.retentionMs, request.leaseMs), request.recoveryPoint],
      ...[request.input && hex(request.input), origin.requestId, origin.ip, origin.userAgent],
    ]),
  )
}

/** The grants of those who have made their record; the others are to ask by themselves. */
export function toGrants(
  rows: Rows,
  requests: readonly ClaimRequest[],
): readonly (ClaimResult | undefined)[] {
  const told = rows[0]?.[0]
  const made = new Set(typeof told === 'string' ? told.split(',') : [])
  return requests.map(({ id, owner, recoveryPoint, input }) =>
    made.has(`${hex(pack(id))} ${hex(pack(owner))}`)
      ? {
          ...{ outcome: 'execute', claim: { id, owner, fence: 1 } },
          ...{ recoveryPoint, state: null, input, abandoned: false },
        }
      : undefined,
  )
}

/** What `finishMany` takes. */
export function endingsValue(endings: readonly Ending[]): Value {
  return JSON.stringify(
    endings.map(({ claim, finish: { response, resource, retentionMs } }) => [
      ...[hex(pack(claim.id)), hex(pack(claim.owner)), claim.fence, response.status],
      ...[hex(response.sealed), resource?.type ?? null, resource?.id ?? null, retentionMs],
    ]),
  )
}

/** Whether each was carried out. */
export function toEnds(rows: Rows): readonly boolean[] {
  return Array.from(String(rows[0]?.[0]), (digit) => digit === '1')
}

function hex(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('hex')
}
