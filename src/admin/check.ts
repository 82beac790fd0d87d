/**
 * What comes from outside is checked before the store is asked.
 *
 * @module
 */

import { QUERY_INVALID } from '../core/error-table.ts'
import { RepriseError } from '../core/errors.ts'
import { DESK_STATES, type DeskFilter, type DeskQuery, type OrderEntry } from '../engine/desk.ts'
import type { Order, PageQuery, RequestFilter, RequestState } from './admin.ts'

/** How many a page has at most. */
const LIMIT_MAX = 200

/** A hundred years, in milliseconds. */
const AGE_MS_MAX = 3_155_760_000_000

/** Longer texts are cut by nobody; they are refused. */
const TEXT_MAX = 2000

/** What was asked for can not be. */
export function queryInvalid(detail: string): RepriseError {
  return new RepriseError(QUERY_INVALID, detail)
}

/** @throws RepriseError `reprise-query-invalid` */
export function checkPage({ limit, after }: PageQuery): DeskQuery {
  if (!Number.isInteger(limit) || limit < 1 || limit > LIMIT_MAX) {
    throw queryInvalid(`limit is from 1 to ${LIMIT_MAX}, not ${limit}`)
  }
  return { limit, after: after ?? null }
}

/** @throws RepriseError `reprise-query-invalid` */
export function checkFilter(filter: RequestFilter): DeskFilter {
  const { isUnknown, ...given } = filter
  const { status, olderThanMs, duplicatesMin, key } = given
  const states = isUnknown === true ? unknownStates(given) : given.states
  for (const state of states ?? []) {
    if (!DESK_STATES.includes(state)) {
      throw queryInvalid(`There is no state ${state}; there are ${DESK_STATES.join(', ')}`)
    }
  }
  checkWhole('status', status, 999)
  checkWhole('olderThanMs', olderThanMs, AGE_MS_MAX)
  checkWhole('duplicatesMin', duplicatesMin, 1_000_000_000)
  const isPrefix = key?.endsWith('*') === true
  const texts = [filter.operation, filter.caller, key, filter.recoveryPoint, filter.requestId]
  for (const text of texts) if (text !== undefined) checkText('A filter', text, 0)
  return {
    ...given,
    ...(isUnknown === true ? { hasPoint: false } : {}),
    states: states?.length === 0 ? undefined : states,
    key: isPrefix ? undefined : key,
    keyPrefix: isPrefix ? key.slice(0, -1) : undefined,
  }
}

/** What nobody holds and no dead letter stands for. */
const LEFT: readonly RequestState[] = ['unfinished', 'stuck']

function unknownStates({ states = [], recoveryPoint }: RequestFilter): readonly RequestState[] {
  if (recoveryPoint !== undefined || states.some((state) => !LEFT.includes(state))) {
    throw queryInvalid(`isUnknown goes with the states ${LEFT.join(', ')}, and no recoveryPoint`)
  }
  return states.length === 0 ? LEFT : states
}

function checkWhole(name: string, value: number | undefined, most: number): void {
  if (value === undefined || (Number.isInteger(value) && value >= 0 && value <= most)) return
  throw queryInvalid(`${name} is a whole number from 0 to ${most}, not ${value}`)
}

/** @throws RepriseError `reprise-query-invalid` when it does not say who and why */
export function entryOf(action: string, subject: string, order: Order): OrderEntry {
  const { author, reason, ip = null, orderKey = null } = order
  checkText('what it is about', subject)
  checkText('author', author)
  checkText('reason', reason)
  if (orderKey !== null) checkText('orderKey', orderKey)
  return { action, subject, author, note: reason, ip, orderKey }
}

/** @throws RepriseError `reprise-query-invalid` */
export function checkText(name: string, text: string, least = 1): void {
  const length = typeof text === 'string' ? text.trim().length : -1
  if (length < least || text.length > TEXT_MAX || text.includes('\0')) {
    throw queryInvalid(`${name} has from ${least} to ${TEXT_MAX} characters`)
  }
}
