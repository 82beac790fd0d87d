/**
 * What an operator may do with a request, and what becomes of an order: pure, on what stands under the
 * store's lock.
 *
 * @module
 */

import { createHash } from 'node:crypto'
import { STARTED } from '../core/record.ts'
import type { DeskChange, DeskRow, Ruling, Seen } from '../engine/desk.ts'
import type { Order, Possibility, RequestAction } from './admin.ts'
import { utc } from './texts.ts'

/** Every action, in the order in which they are shown. */
export const ACTIONS: readonly RequestAction[] = ['resume', 'release', 'expire']

/** How many characters of the key confirm what is dangerous. */
const CONFIRMING = 4

/** What is possible, with what it changes in the store. */
interface Judged extends Possibility {
  readonly change: DeskChange | null
}

/**
 * Changes with every change that somebody who acts ought to have seen: another fence, recovery point,
 * end, letter or order. Not with a heartbeat: who works on it goes on working.
 */
export function versionOf(row: DeskRow): string {
  const isOpen = row.status === null
  const parts = [
    ...[row.createdAt, row.fence, row.recoveryPoint, row.status, row.owner === null],
    ...[row.letter, row.resumeAt, row.finishedAt, isOpen ? null : row.expiresAt],
    row.state === 'expired',
  ]
  return createHash('sha256').update(JSON.stringify(parts)).digest('base64url').slice(0, 16)
}

/** What may be done now, and why not. */
export function possibilitiesOf(seen: Seen, hasCompleter: boolean): readonly Possibility[] {
  return ACTIONS.map((action) => {
    const { change: _, ...possibility } = judge(action, seen, hasCompleter)
    return possibility
  })
}

/** What becomes of an order on what stands. */
export function ruleOrder(
  action: RequestAction,
  { order, hasCompleter, isConfirmed = false }: Ruled,
  seen: Seen | undefined,
): Ruling<DeskChange> {
  if (seen === undefined)
    return { outcome: 'not_found', text: 'There is no such request.', change: null }
  const { row } = seen
  if (order.version !== undefined && order.version !== versionOf(row)) {
    const text = `It changed since it was shown. It is now ${row.state.replace('_', ' ')}.`
    return { outcome: 'conflict', text, change: null }
  }
  const { isAllowed, isDangerous, reason, change } = judge(action, seen, hasCompleter)
  if (!isAllowed) return { outcome: 'refused', text: reason, change: null }
  if (isDangerous && !isConfirmed && order.confirm !== confirmationOf(row.key)) {
    return { outcome: 'unconfirmed', text: unconfirmed(seen), change: null }
  }
  return { outcome: 'done', text: reason, change }
}

interface Ruled {
  readonly order: Order
  readonly hasCompleter: boolean
  /** Whether the danger was confirmed in another way, as for a batch. */
  readonly isConfirmed?: boolean
}

/** What has to be typed where an action is dangerous: the end of the key. */
function confirmationOf(key: string): string {
  return key.slice(-CONFIRMING)
}

function unconfirmed(seen: Seen): string {
  const happened = effectsOf(seen)
  const confirm = 'To go on, confirm with the last four characters of the key.'
  return [...happened, 'It can lead to a second effect.', confirm].join(' ')
}

/** What has already happened, or may have, in sentences. */
function effectsOf({ row, history }: Seen): readonly string[] {
  const calls = history.flatMap(({ callKey, point, beganAt, ending }) => {
    if (callKey === null) return []
    const known = ending === null ? ', and its outcome is not known' : ''
    return [`The foreign call from ${point} was sent at ${utc(beganAt)}${known}.`]
  })
  const reached = history.flatMap(({ reached: point, endedAt }) => {
    return point === null || endedAt === null ? [] : [`It reached ${point} at ${utc(endedAt)}.`]
  })
  const ends: string[] = []
  if (row.status !== null && row.finishedAt !== null) {
    ends.push(`It was answered with ${row.status} at ${utc(row.finishedAt)}.`)
  } else if (row.recoveryPoint === null) {
    ends.push('Its handler began, and may have taken effect.')
  }
  if (isHeld(row) && row.leaseUntil !== null) {
    ends.push(`A run holds the lease until ${utc(row.leaseUntil)} and may be at work.`)
  }
  return [...calls, ...reached, ...ends]
}

function isHeld({ state }: DeskRow): boolean {
  return state === 'running' || state === 'recovering'
}

function judge(action: RequestAction, seen: Seen, hasCompleter: boolean): Judged {
  const judged = JUDGES[action](seen, hasCompleter)
  return { action, ...judged }
}

type Judgement = Omit<Judged, 'action'>

const JUDGES: Readonly<Record<RequestAction, (seen: Seen, hasCompleter: boolean) => Judgement>> = {
  resume({ row }, hasCompleter) {
    if (isHeld(row)) return no('Somebody works on it.')
    if (row.state === 'needs_person') return no(settleFirst(row))
    if (row.status !== null) return no('It is finished.')
    if (row.state === 'expired') return no('It is past its retention.')
    if (row.recoveryPoint === null) {
      return no('Where it stopped is not known. Release it, if it did not take effect.')
    }
    if (!hasCompleter) {
      return no('No completer works on this store. The next request with this key resumes it.')
    }
    const point = row.recoveryPoint
    return yes('resume', `The completer takes it up from ${point} at its next run.`)
  },

  release({ row }) {
    if (isHeld(row)) {
      const next =
        row.recoveryPoint === null ? 'Its outcome is unknown then.' : 'It can be resumed.'
      return danger('suspend', `The lease is taken away; the run can write no more. ${next}`)
    }
    if (row.state === 'needs_person') return no(settleFirst(row))
    if (row.status !== null) return no('Nobody holds it. To free the key, expire it.')
    if (row.state === 'expired') return no('It is past its retention: the key is free.')
    if (row.recoveryPoint !== null) return no('Nobody holds the lease. Resume it.')
    return danger('forget', 'The key is free: the next request runs from the start.')
  },

  expire(seen) {
    const { row, history } = seen
    if (isHeld(row)) return no('Somebody works on it. Release it first.')
    if (row.state === 'needs_person') return no(settleFirst(row))
    if (row.state === 'expired') return no('It is past its retention: the key is free.')
    if (row.status !== null) return danger('expire', `${FREED} ${CACHED}`)
    const isUntouched = row.recoveryPoint === STARTED && history.every(isHarmless)
    const text = `${FREED} What was left of it is put before a person.`
    return isUntouched ? yes('expire', text) : danger('expire', text)
  },
}

function settleFirst({ letter }: DeskRow): string {
  return `It is dead letter ${letter}, which has to be settled.`
}

const FREED = 'The next request with this key runs from the start.'
const CACHED = 'A process that has the answer at hand may give it for another minute.'

/** Whether the try has rolled back whatever it did. */
function isHarmless({ callKey, ending }: Seen['history'][number]): boolean {
  return callKey === null && (ending === 'threw' || ending === 'retry_later')
}

function no(reason: string): Judgement {
  return { isAllowed: false, isDangerous: false, reason, change: null }
}

function yes(change: DeskChange, reason: string): Judgement {
  return { isAllowed: true, isDangerous: false, reason, change }
}

function danger(change: DeskChange, reason: string): Judgement {
  return { isAllowed: true, isDangerous: true, reason, change }
}
