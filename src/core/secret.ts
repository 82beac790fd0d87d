/**
 * Secrets: hashing those that would otherwise be stored as callers, and the ring of those that
 * fingerprints are keyed with.
 *
 * @module
 */

import { createHash, createHmac, createSecretKey, type KeyObject } from 'node:crypto'
import { checkNames, type Names, said } from './known-options.ts'
import { invalid } from './options.ts'

/** 132 bits: nobody finds a second API key with the same digest. */
const DIGEST_LENGTH = 22

const SECRET_BYTES_MIN = 16

const RING_ID = /^[A-Za-z0-9_-]{1,16}$/

/**
 * What to call a caller that is known by its API key alone. The same for the same key, and of no use
 * to whoever reads the store. Not for passwords: those can be guessed from a plain digest.
 */
export function hashSecret(secret: string): string {
  if (typeof secret !== 'string') {
    throw invalid(
      `hashSecret takes the caller's API key as a text, not ${said(secret)}: refuse requests without one first`,
    )
  }
  if (secret === '') throw invalid('hashSecret got an empty text; all such callers would be one')
  const digest = createHash('sha256').update('reprise caller 1\n').update(secret)
  return `sha_${digest.digest('base64url').slice(0, DIGEST_LENGTH)}`
}

/**
 * Secrets that fingerprints are keyed with, so that nobody who reads the store can guess a body from
 * its digest. To rotate, add a secret and make it current; remove the old one when its records are
 * past their retention.
 */
export interface SecretRing {
  /** Id of the secret that new records get. */
  readonly current: string
  /** Secrets by id, at least 16 bytes each. An id has 1 to 16 letters, digits, `_` or `-`. */
  readonly keys: Readonly<Record<string, string | Uint8Array>>
  /**
   * Also accepts records that were made without a secret. Set it when the first secret is
   * introduced, and take it away when those records are past their retention.
   *
   * @default false
   */
  readonly acceptUnkeyed?: boolean
}

const RING: Names<SecretRing> = {
  current: true,
  keys: true,
  acceptUnkeyed: true,
}

/** A ring that has been checked. */
export interface OpenSecretRing {
  readonly acceptUnkeyed: boolean
  /** The digest of `data` under each secret, in base64url; that of the current one first. */
  digests(data: Uint8Array): readonly KeyedDigest[]
}

/** A digest, and the id of the secret that it was made with. */
export interface KeyedDigest {
  readonly id: string
  readonly text: string
}

interface RingKey {
  readonly id: string
  readonly key: KeyObject
}

/** Checks a ring, once, at the start. Throws `reprise-options-invalid`; no secret is in its message. */
export function openSecretRing(ring: SecretRing): OpenSecretRing {
  checkNames('openSecretRing()', ring, RING)
  if (typeof ring.keys !== 'object')
    throw invalid(`keys of openSecretRing() must be secrets by id, not ${said(ring.keys)}`)
  const keys = Object.entries(ring.keys).map(([id, secret]) => openKey(id, secret))
  const current = keys.find(({ id }) => id === ring.current)
  if (current === undefined) throw invalid('the ring of secrets has no secret under its current id')
  const ordered = [current, ...keys.filter((key) => key !== current)]
  return {
    acceptUnkeyed: ring.acceptUnkeyed ?? false,
    digests: (data) =>
      ordered.map(({ id, key }) => {
        return { id, text: createHmac('sha256', key).update(data).digest('base64url') }
      }),
  }
}

function openKey(id: string, secret: string | Uint8Array): RingKey {
  if (!RING_ID.test(id)) {
    throw invalid('an id in the ring of secrets is not 1 to 16 letters, digits, _ or -')
  }
  const bytes = Buffer.from(secret)
  if (bytes.length < SECRET_BYTES_MIN) {
    throw invalid(`secret ${id} has fewer than ${SECRET_BYTES_MIN} bytes`)
  }
  return { id, key: createSecretKey(bytes) }
}
