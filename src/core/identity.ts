/**
 * The identity: one short digest for the parts that select a record, so that no key, however it is
 * made, can reach into the syntax of a store or stand for a record of another caller.
 *
 * @module
 */

import { hash } from 'node:crypto'

/** Keeps these digests apart from all others, and from those of later versions. */
const TAG = 'reprise 2\n'

/** Characters of the key's own digest, 9 bytes; the other 23 are enough to keep all records apart. */
const KEY_LENGTH = 12

/**
 * The id of the record that the parts select: 32 bytes, as 43 characters. Ids of the same key begin
 * alike, so that the index on ids also finds what only the key is known of.
 *
 * @param parts - in a fixed order: by default caller, operation and key
 */
export function recordId(parts: readonly string[], key: string): string {
  return keyDigest(key) + digest(...parts).slice(KEY_LENGTH)
}

/** How the ids of all records with this key begin. */
export function keyDigest(key: string): string {
  return digest(key).slice(0, KEY_LENGTH)
}

/** What a caller is called where nobody needs to know who it is: in counters and logs. */
export function callerDigest(caller: string): string {
  return digest('caller', caller).slice(0, 22)
}

function digest(...parts: readonly string[]): string {
  // UTF-16 tells all strings apart; UTF-8 would make one of all lone surrogates.
  const text = Buffer.from(TAG + lengthPrefixed(parts), 'utf16le')
  return hash('sha256', text, 'base64url')
}

/**
 * Joins parts so that no two lists give the same text: each part is preceded by its length, in UTF-16
 * code units, and a colon.
 */
export function lengthPrefixed(parts: readonly string[]): string {
  let text = ''
  for (const part of parts) text += `${part.length}:${part}`
  return text
}
