/**
 * The identity: one short digest for the parts that select a record, so that no key, however it is
 * made, can reach into the syntax of a store or stand for a record of another caller.
 *
 * @module
 */

import { hash } from 'node:crypto'

/** Keeps these digests apart from all others, and from those of later versions. */
const TAG = 'reprise record 1\n'

/**
 * The id of the record that the parts select, 43 characters.
 *
 * @param parts - in a fixed order: by default caller, operation and key
 * @param namespace - keeps deployments apart that share a store
 */
export function recordId(parts: readonly string[], namespace = ''): string {
  // UTF-16 tells all strings apart; UTF-8 would make one of all lone surrogates.
  const text = Buffer.from(TAG + lengthPrefixed([namespace, ...parts]), 'utf16le')
  return hash('sha256', text, 'base64url')
}

/** What a caller is called where nobody needs to know who it is: in counters and logs. */
export function callerDigest(caller: string): string {
  return recordId(['caller', caller]).slice(0, 22)
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
