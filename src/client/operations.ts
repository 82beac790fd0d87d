/**
 * Operations and their entries in the journal.
 *
 * @module
 */

import type { Context, Operation } from './context.ts'
import { isOpen, type JournalEntry, packed, unpacked } from './entry.ts'
import type { Outgoing } from './request.ts'

/** Headers that are not written down. */
const SECRET = /authorization|cookie|token|secret|api-?key|password/

/** What an entry says besides the request. */
export type Place = Pick<JournalEntry, 'caller' | 'resource' | 'createdAt'>

/** The operation of a fresh call, or the continuation of one that is in the journal. */
export async function begun(
  request: Outgoing,
  place: Place,
  { journal, dialect, secretHeaders }: Context,
): Promise<Operation> {
  const { key, method, url, options } = request
  const id = [place.caller, method, url, key].join(' ')
  const known = await journal.get(id)
  const isKept = (name: string) =>
    name === dialect.header.toLowerCase() || !(SECRET.test(name) || secretHeaders?.test(name))
  const entry: JournalEntry = {
    ...{ ...place, id, key, method, url, options, ...packed(request.body) },
    headers: [...request.headers].filter(([name]) => isKept(name)),
    ...{ state: 'queued', answeredAt: null, attempts: 0, status: null },
    // The key counts from when it was sent first, also where that was answered.
    sentAt: known?.sentAt ?? null,
  }
  if (!known || !isOpen(known)) return { request, entry, isResumed: false }
  if (known.body !== entry.body) {
    throw new TypeError('The key belongs to another request.')
  }
  return { request, entry: known, isResumed: true }
}

/** The operation of an entry that was left. */
export function leftBehind(entry: JournalEntry): Operation {
  const { key, method, url, options } = entry
  // The constructor does not write to what it is given.
  const headers = new Headers(entry.headers as [string, string][])
  const request = { key, method, url, headers, body: unpacked(entry), options, extra: {} }
  return { request, entry, isResumed: true }
}
