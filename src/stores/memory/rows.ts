/**
 * Which records in memory an operator asks for, and in which pages.
 *
 * @module
 */

import { QUERY_INVALID } from '../../core/error-table.ts'
import { RepriseError } from '../../core/errors.ts'
import { isExpired, isLeaseLive, type KeyRecord } from '../../core/record.ts'
import type {
  DeskFilter,
  DeskNote,
  DeskPage,
  DeskQuery,
  DeskRow,
  DeskState,
  DeskView,
  NewNote,
} from '../../engine/desk.ts'

/** How a record stands. */
export function stateOf(
  { graceMs, gracesMs }: DeskView,
  record: KeyRecord,
  now: number,
): DeskState {
  if (isExpired(record, now)) return 'expired'
  if (record.response !== null) return record.response.status >= 400 ? 'failed' : 'finished'
  if (isLeaseLive(record, now)) return 'running'
  const grace = gracesMs[record.operation] ?? graceMs
  return record.createdAt <= now - grace ? 'stuck' : 'unfinished'
}

/** Whether the caller may be seen. */
export function isSeen({ callers }: DeskView, caller: string): boolean {
  return callers?.includes(caller) ?? true
}

/** Whether all that is asked for holds. */
export function isMatch(row: DeskRow, filter: DeskFilter): boolean {
  const { states, keyPrefix, olderThanMs = 0, duplicatesMin = 0, requestId } = filter
  return (
    (states?.includes(row.state) ?? true) &&
    (filter.operation ?? row.operation) === row.operation &&
    (filter.caller ?? row.caller) === row.caller &&
    (filter.key ?? row.key) === row.key &&
    row.key.startsWith(keyPrefix ?? '') &&
    (filter.recoveryPoint ?? row.recoveryPoint) === row.recoveryPoint &&
    (filter.hasPoint ?? row.recoveryPoint !== null) === (row.recoveryPoint !== null) &&
    (filter.status ?? row.status) === row.status &&
    (requestId ?? row.origin.requestId) === row.origin.requestId &&
    row.createdAt <= row.now - olderThanMs &&
    row.duplicates >= duplicatesMin
  )
}

/** Where an item stands among the others, newest first. */
export type Place = readonly [at: number, id: string]

/** The items behind the place where the page before ended. */
export function paged<T>(
  all: readonly T[],
  { limit, after }: DeskQuery,
  placeOf: (item: T) => Place,
): DeskPage<T> {
  const cursor = after === null ? null : placeIn(after)
  const rest = cursor === null ? all : all.filter((item) => isBehind(placeOf(item), cursor))
  const items = rest.slice(0, limit)
  const last = items.at(-1)
  const isMore = last !== undefined && rest.length > limit
  return { items, next: isMore ? placeOf(last).join(' ') : null }
}

function isBehind([at, id]: Place, [cursorAt, cursorId]: Place): boolean {
  return at < cursorAt || (at === cursorAt && id < cursorId)
}

function placeIn(cursor: string): Place {
  const [, at, id] = /^(\d+(?:\.\d+)?) (.*)$/.exec(cursor) ?? []
  if (at === undefined || id === undefined) {
    throw new RepriseError(QUERY_INVALID, 'The cursor is none of this list')
  }
  return [Number(at), id]
}

/** A duplicate as it is kept. */
export type KeptNote = NewNote & { readonly at: number; readonly number: number }

/** A duplicate as it is shown. */
export function noteOf(note: KeptNote): DeskNote {
  const { id, operation, at, result, requestId, ip, userAgent, fingerprint } = note
  return { id, operation, at, result, requestId, ip, userAgent, fingerprint }
}
