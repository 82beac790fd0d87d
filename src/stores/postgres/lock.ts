import { hash } from 'node:crypto'
import { pack, UNKEYED_BYTE } from './record.ts'

/**
 * The number of an advisory lock, as PostgreSQL takes it: 64 bits of a digest over the parts. The
 * first part keeps our locks apart from those that the user's own code takes.
 */
export function lockNumber(...parts: readonly string[]): string {
  return number(parts).toString()
}

/** The numbers of the locks that keep a record: for the same request, and for any with its identity. */
export interface RecordLocks {
  readonly same: string
  readonly any: string
}

/** Bytes of a digest, as ids are; and of one behind a byte of its own, as fingerprints are. */
const ID_BYTES = 32
const FINGERPRINT_BYTES = 33

/**
 * The locks of a record. Where id and fingerprint are digests their own bits do: to digest both again
 * costs more than all else that is done to ask for the locks.
 */
export function recordLocks(schema: string, id: string, fingerprint: string): RecordLocks {
  const own = Buffer.from(pack(id))
  const said = Buffer.from(pack(fingerprint))
  const areDigests =
    own.length === ID_BYTES && said.length === FINGERPRINT_BYTES && said[0] === UNKEYED_BYTE
  if (!areDigests) {
    return { same: lockNumber(schema, id, fingerprint), any: lockNumber(schema, id) }
  }
  const here = schemaNumber(schema)
  const any = own.readBigInt64BE(ID_BYTES - 16) ^ here
  const same = own.readBigInt64BE(ID_BYTES - 8) ^ said.readBigInt64BE(FINGERPRINT_BYTES - 8) ^ here
  return { same: same.toString(), any: any.toString() }
}

const schemaNumbers = new Map<string, bigint>()

function schemaNumber(schema: string): bigint {
  const known = schemaNumbers.get(schema)
  if (known !== undefined) return known
  const made = number([schema])
  schemaNumbers.set(schema, made)
  return made
}

function number(parts: readonly string[]): bigint {
  return hash('sha256', JSON.stringify(['reprise', ...parts]), 'buffer').readBigInt64BE()
}
