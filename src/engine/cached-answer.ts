/**
 * Answers in the replay cache: as objects where they are asked for, and as they lie on the shelf until
 * then.
 *
 * @module
 */

import type { Job } from './job.ts'
import type { OpenedResponse } from './seal.ts'

/** What is cached for a request. */
export interface CachedReplay {
  readonly response: OpenedResponse
  readonly requestId: string | null
  /** When the answer expires, by the process's clock. */
  readonly expiresAt: number
}

/** The request that an answer is cached for. */
export type CachedFor = Pick<Job, 'request' | 'identity' | 'fingerprint'>

/** What an entry costs besides its body, and its text besides its characters. */
const ENTRY_BYTES = 512
const TEXT_BYTES = 1024

/** An answer that is kept at hand. */
export class Entry {
  readonly request: string
  readonly identity: CachedFor['identity']
  readonly fingerprint: string
  readonly response: OpenedResponse
  readonly requestId: string | null
  readonly expiresAt: number
  readonly staleAt: number
  /** All of the request, from when the answer was first given. */
  text: string | undefined

  constructor(asked: CachedFor, { response, requestId, expiresAt }: CachedReplay, staleAt: number) {
    this.request = asked.request
    this.identity = asked.identity
    this.fingerprint = asked.fingerprint
    this.response = response
    this.requestId = requestId
    this.expiresAt = expiresAt
    this.staleAt = staleAt
    this.text = undefined
  }

  get bytes(): number {
    const { byteLength } = this.response.body
    const own = ENTRY_BYTES + byteLength
    return this.text === undefined ? own : own + TEXT_BYTES + 2 * this.text.length
  }
}

/** An answer on the shelf, but for its body. */
export type Shelved = readonly [
  ...identity: [id: string, caller: string, operation: string, key: string],
  fingerprint: string,
  requestId: string | null,
  ...times: [expiresAt: number, staleAt: number],
  ...head: [
    OpenedResponse['status'],
    OpenedResponse['headers'],
    OpenedResponse['bodyBytesOmitted'],
    // Lists on the shelf are JSON, which has no `undefined`.
    OpenedResponse['delivery'] | null,
  ],
]

/** What of an answer lies beside its body on the shelf. */
export function shelvedOf(
  { identity, fingerprint }: CachedFor,
  { response, requestId, expiresAt }: CachedReplay,
  staleAt: number,
): Shelved {
  const { id, caller, operation, key } = identity
  const { status, headers, bodyBytesOmitted, delivery } = response
  // Not put together of shorter lists: this is done for every request.
  return [
    id,
    caller,
    operation,
    key,
    fingerprint,
    requestId,
    expiresAt,
    staleAt,
    status,
    headers,
    bodyBytesOmitted,
    delivery,
  ]
}

/** An answer that was taken off the shelf. */
export function entryOf(request: string, shelved: Shelved, body: Uint8Array): Entry {
  const [id, caller, operation, key, fingerprint, requestId, expiresAt, staleAt, ...head] = shelved
  const [status, headers, bodyBytesOmitted, delivery] = head
  const asked = { request, identity: { id, caller, operation, key }, fingerprint }
  const response = {
    status,
    headers,
    body,
    bodyBytesOmitted,
    delivery: delivery ?? undefined,
  }
  return new Entry(asked, { response, requestId, expiresAt }, staleAt)
}
