/**
 * Broken quotas of a store.
 *
 * @module
 */

import { isFresh } from '../../src/core/decide.ts'
import type { Parts } from './pliable-store.ts'

const HOUR_MS = 3_600_000

/** What is wrong, and the part that makes it so. */
export const BROKEN_QUOTAS: Readonly<Record<string, Partial<Parts>>> = {
  'knows no quota': { quota: () => undefined },
  'has a quota for who brings none': {
    quota: ({ quota }) => quota ?? { keys: 1, perMs: HOUR_MS },
  },
  'has one key for every quota': { quota: ({ quota }) => quota && { ...quota, keys: 1 } },
  'keeps what it refuses for its quota': { keepsRefused: true },
  'tells every time that the quota has room at once': {
    roomInMs: (counted, { keys }, now) =>
      counted.filter((until) => until > now).length >= keys ? 1 : 0,
  },
  'counts keys for ever': {
    roomInMs: (counted, { keys }) => (counted.length >= keys ? HOUR_MS : 0),
  },
  'has room for all when one key no longer counts': {
    roomInMs: (counted, { keys }, now) =>
      counted.length >= keys && counted.every((until) => until > now) ? HOUR_MS : 0,
  },
  'counts what has a record': { isCounted: () => true },
  'replaces what has expired beyond the quota': {
    isCounted: (decision) =>
      isFresh(decision) && !(decision.kind === 'execute' && decision.abandoned),
  },
  'counts the keys of all callers': { counts: (record) => record !== undefined },
  'counts what was forgotten': {
    counts: (record, caller) => record === undefined || record.caller === caller,
  },
  'counts what is held only': {
    counts: (record, caller) => record?.caller === caller && record.owner !== null,
  },
  'counts what is unfinished only': {
    counts: (record, caller) => record?.caller === caller && record.response === null,
  },
}
