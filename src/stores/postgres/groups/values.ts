/**
 * The two verbs of lease mode that every fresh request asks for, for many requests at once.
 *
 * @module
 */

import type { Claim, ClaimRequest, ClaimResult, Finish } from '../../../engine/store.ts'
import type { Rows, Value } from '../client.ts'
import { pack } from '../record.ts'

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
  return JSON.stringify(requests.map(claimRow))
}

function claimRow(request: ClaimRequest): readonly unknown[] {
  const { leaseMs, retentionMs, input, origin } = request
  return [
    hex(pack(request.id)),
    hex(pack(request.owner)),
    request.caller,
    request.operation,
    request.key,
    hex(pack(request.fingerprint)),
    leaseMs,
    Math.max(retentionMs, leaseMs),
    request.recoveryPoint,
    input && hex(input),
    origin.requestId,
    origin.ip,
    origin.userAgent,
    request.writesFirst === true,
  ]
}

/**
 * The grants of those who have made their record. The others are to ask by themselves, as are claims that
 * were sent twice: one of the two inputs is not the one that stands.
 */
export function toGrants(
  rows: Rows,
  requests: readonly ClaimRequest[],
): readonly (ClaimResult | undefined)[] {
  const told = rows[0]?.[0]
  const made = new Set(typeof told === 'string' ? told.split(',') : [])
  const names = requests.map(nameOf)
  return requests.map(({ id, owner, recoveryPoint, input }, index) => {
    const name = names[index] ?? ''
    if (!made.has(name) || names.indexOf(name) !== names.lastIndexOf(name)) return undefined
    const claim = { id, owner, fence: 1 }
    return { outcome: 'execute', claim, recoveryPoint, state: null, input, abandoned: false }
  })
}

function nameOf({ id, owner }: Pick<ClaimRequest, 'id' | 'owner'>): string {
  return `${hex(pack(id))} ${hex(pack(owner))}`
}

/** What `finishMany` takes. */
export function endingsValue(endings: readonly Ending[]): Value {
  return JSON.stringify(endings.map(endingRow))
}

function endingRow({ claim, finish }: Ending): readonly unknown[] {
  const { response, resource, retentionMs } = finish
  return [
    hex(pack(claim.id)),
    hex(pack(claim.owner)),
    claim.fence,
    response.status,
    hex(response.sealed),
    resource?.type ?? null,
    resource?.id ?? null,
    retentionMs,
  ]
}

/** Whether each was carried out. */
export function toEnds(rows: Rows): readonly boolean[] {
  const told = rows[0]?.[0]
  return typeof told === 'string' ? Array.from(told, (digit) => digit === '1') : []
}

function hex(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('hex')
}
