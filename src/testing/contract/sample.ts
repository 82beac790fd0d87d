/**
 * Requests, answers and durations that the checks are made of. Durations are hours, so that the
 * real time a check takes decides nothing.
 *
 * @module
 */

import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { recordId } from '../../core/identity.ts'
import type { KeyRecord, SealedResponse } from '../../core/record.ts'
import { systemRandom } from '../../engine/clock.ts'
import type {
  Advance,
  Claim,
  ClaimRequest,
  ClaimResult,
  Finish,
  Granted,
  ListedRecord,
  Store,
} from '../../engine/store.ts'

/** A minute, in milliseconds. */
export const MINUTE_MS = 60_000
/** An hour, in milliseconds. */
export const HOUR_MS: number = 60 * MINUTE_MS
/** Lease of every sample claim. */
export const LEASE_MS: number = HOUR_MS
/** Retention of every sample record, finished or not. */
export const RETENTION_MS: number = 24 * HOUR_MS
/** Longer than the lease, shorter than the retention. */
export const LAPSE_MS: number = LEASE_MS + 10 * MINUTE_MS
/** Longer than the retention. */
export const EXPIRY_MS: number = RETENTION_MS + HOUR_MS

/** An owner that nobody else is. */
export function freshOwner(): string {
  return systemRandom.token()
}

/** A request under an identity of its own: nothing stands for it in any store. */
export function sampleRequest(overrides: Partial<ClaimRequest> = {}): ClaimRequest {
  const token = systemRandom.token()
  const key = overrides.key ?? token
  const fingerprint = overrides.fingerprint ?? `fingerprint of ${key}`
  return {
    id: recordId([token], key),
    ...{ caller: 'acct_1', operation: 'POST /charges', key, owner: freshOwner() },
    ...{ fingerprint, fingerprintsAccepted: [fingerprint] },
    ...{ leaseMs: LEASE_MS, retentionMs: RETENTION_MS },
    ...{ recoveryPoint: null, takesUnknown: false, input: null },
    origin: { requestId: `req_${key}`, ip: '192.0.2.1', userAgent: 'curl/8.5.0' },
    ...overrides,
  }
}

/** The same request, sent by another run. */
export function rivalOf(
  request: ClaimRequest,
  overrides: Partial<ClaimRequest> = {},
): ClaimRequest {
  return { ...request, owner: freshOwner(), ...overrides }
}

/** Another request under the same identity, sent by another run. */
export function impostorOf(request: ClaimRequest): ClaimRequest {
  const fingerprint = `another ${request.fingerprint}`
  return rivalOf(request, { fingerprint, fingerprintsAccepted: [fingerprint], takesUnknown: true })
}

/** An end with an answer. */
export function sampleFinish(overrides: Partial<Finish> = {}): Finish {
  return { response: sampleResponse(), resource: null, retentionMs: RETENTION_MS, ...overrides }
}

/** An answer that says `text`. */
export function sampleResponse(text = 'created'): SealedResponse {
  return { status: 201, sealed: bytes(text) }
}

/** A step to `recoveryPoint`. */
export function stepTo(recoveryPoint: string | null, state: Uint8Array | null = null): Advance {
  return { recoveryPoint, state, leaseMs: LEASE_MS }
}

/** `text` in UTF-8. */
export function bytes(text: string): Uint8Array {
  return new TextEncoder().encode(text)
}

/** A digest in the form of a record's id. */
export function digest(text: string): string {
  return createHash('sha256').update(text).digest('base64url')
}

/** Claims and demands that the lease was granted. */
export async function take(store: Store<unknown>, request: ClaimRequest): Promise<Granted> {
  return expectGranted(await store.claim(request))
}

/** Claims, finishes, and gives the claim that did. */
export async function takeAndFinish(
  store: Store<unknown>,
  request: ClaimRequest,
  finish: Finish = sampleFinish(),
): Promise<Claim> {
  const { claim } = await take(store, request)
  assert.equal(await store.finish(claim, finish), true)
  return claim
}

/** The grant, or a failed assertion. */
export function expectGranted(result: ClaimResult): Granted {
  if ('claim' in result) return result
  assert.fail(`The claim is refused with ${result.outcome}.`)
}

/** The record with its standing, or a failed assertion. */
export async function expectFound(store: Store<unknown>, id: string): Promise<ListedRecord> {
  return (await store.find(id)) ?? assert.fail('The record is gone.')
}

/** The record as it can be compared: payloads as text, whatever class of bytes the store gives. */
export function comparable(record: KeyRecord): Readonly<Record<string, unknown>> {
  const { input, state, response } = record
  return {
    ...record,
    input: hex(input),
    state: hex(state),
    response: response && { status: response.status, sealed: hex(response.sealed) },
  }
}

/** Everything that is stored for `id`, for comparison before and after. */
export async function snapshot(store: Store<unknown>, id: string): Promise<unknown> {
  return comparable((await expectFound(store, id)).record)
}

/** Demands equal bytes; nothing is not the same as no bytes. */
export function assertBytes(actual: Uint8Array | null, expected: Uint8Array | null): void {
  if (actual !== null) assert.ok(actual instanceof Uint8Array, 'A payload is a Uint8Array.')
  assert.equal(hex(actual), hex(expected))
}

/** Demands that a duration or an instant is as expected but for the real time that passed. */
export function assertNear(actual: number | null, expected: number): void {
  assert.ok(
    actual !== null && Math.abs(actual - expected) < 2 * MINUTE_MS,
    `Expected about ${expected}, got ${actual}.`,
  )
}

function hex(payload: Uint8Array | null): string | null {
  return payload && Buffer.from(payload).toString('hex')
}
