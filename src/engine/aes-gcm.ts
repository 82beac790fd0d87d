/**
 * Encryption of what is stored with AES-256-GCM, under a ring of keys that can be rotated. An import
 * of its own: apps that store in clear do not carry it.
 *
 * ```
 * encrypted = keyIdLength(1) keyId iv(12) tag(16) ciphertext
 * ```
 *
 * @module
 */

import { createCipheriv, createDecipheriv } from 'node:crypto'
import { SEAL_BROKEN } from '../core/error-table.ts'
import { RepriseError } from '../core/errors.ts'
import { checkNames, type Names, said } from '../core/known-options.ts'
import { type Encryption, invalid } from '../core/options.ts'
import { type Random, systemRandom } from './clock.ts'

/** Keys for encrypting what is stored. Old keys stay in the ring for as long as records live. */
export interface EncryptionKeys {
  /** Id of the key that seals; every key of the ring opens. */
  readonly current: string
  /** 32 bytes each, by id of 1–64 characters. */
  readonly keys: Readonly<Record<string, Uint8Array>>
}

const RING: Names<EncryptionKeys> = {
  current: true,
  keys: true,
}
const IV_BYTES = 12
const TAG_BYTES = 16

/**
 * Encrypts stored answers and inputs with AES-256-GCM.
 *
 * @example
 * ```ts
 * createReprise({ store, encryption: aesGcm({ current: '2026-10', keys: { '2026-10': key } }) })
 * ```
 * @param ring - the keys
 * @param random - where initialisation vectors come from, for tests
 * @throws RepriseError `reprise-options-invalid`
 */
export function aesGcm(
  ring: EncryptionKeys,
  random: Pick<Random, 'bytes'> = systemRandom,
): Encryption {
  const { current, keys } = checkedRing(ring)
  return {
    encrypt(content, bound) {
      const iv = random.bytes(IV_BYTES)
      const cipher = createCipheriv('aes-256-gcm', keyOf(keys, current), iv).setAAD(bound)
      const encrypted = Buffer.concat([cipher.update(content), cipher.final()])
      const keyId = Buffer.from(current)
      const head = [Uint8Array.of(keyId.byteLength), keyId, iv, cipher.getAuthTag()]
      return Buffer.concat([...head, encrypted])
    },

    decrypt(encrypted, bound) {
      const bytes = Buffer.from(encrypted.buffer, encrypted.byteOffset, encrypted.byteLength)
      const ivAt = 1 + (bytes[0] ?? 0)
      const tagAt = ivAt + IV_BYTES
      const contentAt = tagAt + TAG_BYTES
      const keyId = bytes.toString('utf8', 1, ivAt)
      const key = keyOf(keys, keyId)
      try {
        const decipher = createDecipheriv('aes-256-gcm', key, bytes.subarray(ivAt, tagAt))
        decipher.setAAD(bound).setAuthTag(bytes.subarray(tagAt, contentAt))
        return Buffer.concat([decipher.update(bytes.subarray(contentAt)), decipher.final()])
      } catch (cause) {
        const detail = `Key ${keyId} does not open what is stored: it was changed, moved or damaged`
        throw new RepriseError(SEAL_BROKEN, detail, { cause })
      }
    },
  }
}

function keyOf(keys: EncryptionKeys['keys'], id: string): Uint8Array {
  const key = Object.hasOwn(keys, id) ? keys[id] : undefined
  if (key !== undefined) return key
  throw new RepriseError(SEAL_BROKEN, `Encryption key ${JSON.stringify(id)} is missing`)
}

function checkedRing(ring: EncryptionKeys): EncryptionKeys {
  checkNames('aesGcm()', ring, RING)
  const { current, keys } = ring
  if (typeof keys !== 'object')
    throw invalid(`keys of aesGcm() must be keys by id, not ${said(keys)}`)
  if (!Object.hasOwn(keys, current)) {
    throw invalid(`encryption.current names ${JSON.stringify(current)}, which is not in keys`)
  }
  for (const [id, key] of Object.entries(keys)) {
    if (id.length === 0 || Buffer.byteLength(id) > 64) {
      throw invalid(`encryption key id ${JSON.stringify(id)} must have 1 to 64 bytes`)
    }
    if (!(key instanceof Uint8Array) || key.byteLength !== 32) {
      throw invalid(`encryption key ${JSON.stringify(id)} must have 32 bytes`)
    }
  }
  return ring
}
