/**
 * Why a request is not finished, or how it ended, and what happened step by step, in words: pure, from
 * what the store knows.
 *
 * @module
 */

import type { DeskDetail, DeskRow } from '../engine/desk.ts'
import type { DeadLetter, HistoryEntry } from '../engine/letters.ts'
import type { CompleterPatience } from '../phases/patience.ts'
import { counted, duration, soon, utc } from './texts.ts'

/** What is known of a request. */
export interface Known extends Pick<DeskDetail, 'row' | 'history' | 'notes' | 'jobs'> {
  /** Its dead letter, if it is not settled. */
  readonly letter: DeadLetter | undefined
  readonly patience: CompleterPatience
  readonly hasCompleter: boolean
  /** Whether no completer has run for a while. */
  readonly isCompleterSilent: boolean
  /** When the completer puts it before a person, if it does. */
  readonly personAt: number | null
}

/** Why it is not finished, or how it ended. */
export function explain(known: Known): string {
  const { row } = known
  switch (row.state) {
    case 'running':
    case 'recovering':
      return held(known)
    case 'unfinished':
    case 'stuck':
      return row.recoveryPoint === null ? unknown(known) : waiting(known)
    case 'needs_person':
      return buried(known)
    case 'finished':
    case 'failed':
      return ended(row)
    case 'expired':
      return `Its retention ended at ${utc(row.expiresAt)}. The next request with this key starts anew.`
  }
}

function held({ row, history, patience }: Known): string {
  const { leaseUntil, now, recoveryPoint } = row
  const isDriven = row.state === 'recovering'
  const who = isDriven ? 'The completer' : 'The request'
  const point = recoveryPoint === null ? '' : ` from ${recoveryPoint}`
  const tries = isDriven ? ` This is try ${row.tries} of ${patience.triesMax}.` : ''
  const taken = `${who} has held the lease for ${duration(now - takenAt(row))}${point}.${tries}`
  const lapse =
    leaseUntil === null
      ? ''
      : ` The lease lapses in ${duration(leaseUntil - now)} unless it is renewed.`
  return `${taken}${lapse}${callUnderway(history)}`
}

/** When the lease was last taken. */
function takenAt({ triedAt, createdAt }: DeskRow): number {
  return triedAt ?? createdAt
}

function waiting(known: Known): string {
  const { row, history } = known
  const idle = `Nobody works on it. It stopped at ${row.recoveryPoint} ${duration(row.now - lastAt(known))} ago.`
  return [idle, lastError(history), callUnderway(history).trim(), next(known)]
    .filter((text) => text !== '')
    .join(' ')
}

function unknown(known: Known): string {
  const { row, history } = known
  const stopped = `The run that held it stopped ${duration(row.now - takenAt(row))} ago or later, without an answer.`
  const call = callUnderway(history)
  return `${stopped}${call} Nobody can say whether it took effect, so it is not repeated. ${whenBuried(known)}`
}

function whenBuried({ row, personAt, hasCompleter, isCompleterSilent }: Known): string {
  if (!hasCompleter || personAt === null) {
    return 'No completer works on this store, so a person has to find out: release it, if it did not take effect.'
  }
  if (isCompleterSilent) {
    return `The completer would put it before a person, and none is running: npx reprise worker --only completer`
  }
  const inMs = personAt - row.now
  if (inMs <= 0) return 'The completer puts it before a person at its next run.'
  return `The completer puts it before a person in ${soon(inMs)}; at once with: ${AT_ONCE}`
}

/** Puts everything whose outcome is unknown before a person now. */
export const AT_ONCE = 'npx reprise worker --only completer --once --unknown-grace 0s'

/** When the completer puts what a stopped run left before a person; `null` if it does not. */
export function personAtOf(
  { state, recoveryPoint, leaseUntil, triedAt, createdAt }: DeskRow,
  unknownGraceMs: number,
): number | null {
  const isLeft = state === 'unfinished' || state === 'stuck'
  if (!isLeft || recoveryPoint !== null) return null
  return (leaseUntil ?? triedAt ?? createdAt) + unknownGraceMs
}

function buried({ row, letter }: Known): string {
  if (letter === undefined) return `It is dead letter ${row.letter}. A person has to settle it.`
  const error = letter.error === null ? '' : ` Last error: ${letter.error}`
  const at = letter.point === null ? '' : ` at ${letter.point}`
  return `${CAUSES[letter.cause]}${at}, after ${counted(letter.tries, 'try', 'tries')} of the completer.${error} It is dead letter ${letter.letter}: a person has to settle it.`
}

const CAUSES: Readonly<Record<DeadLetter['cause'], string>> = {
  outcome_unknown: 'Nobody can say whether it took effect',
  attempts_exhausted: 'It was tried as often as it may be',
  graph_changed: 'The app no longer knows where it stopped',
  abandoned: 'Nobody finished it within its retention',
}

function ended(row: DeskRow): string {
  const at = row.finishedAt === null ? '' : ` at ${utc(row.finishedAt)}`
  const attempts = counted(row.fence, 'attempt', 'attempts')
  return `It was answered with ${row.status}${at}, after ${attempts}. The answer is given again until ${utc(row.expiresAt)}.`
}

function next({ row, patience, hasCompleter }: Known): string {
  if (!hasCompleter) return 'The next request with this key resumes it.'
  if (row.resumeAt !== null) {
    return `An operator asked for it at ${utc(row.resumeAt)}; the completer takes it up at its next run.`
  }
  const { graceMs, retryMs, retryMsMax, triesMax } = patience
  const pauseMs = Math.min(retryMs * 2 ** Math.min(row.tries, 30), retryMsMax)
  const dueAt = Math.max(row.createdAt + graceMs, takenAt(row) + pauseMs)
  const left = counted(Math.max(0, triesMax - row.tries), 'try', 'tries')
  const when = dueAt <= row.now ? 'at its next run' : `in ${duration(dueAt - row.now)}`
  return `The completer takes it up ${when}, if it knows the operation; ${left} left.`
}

function lastAt({ row, history }: Known): number {
  const ends = history.map(({ endedAt, beganAt }) => endedAt ?? beganAt)
  return Math.max(takenAt(row), ...ends)
}

function lastError(history: readonly HistoryEntry[]): string {
  const error = history.findLast((entry) => entry.error !== null)?.error ?? null
  return error === null ? '' : `Last error: ${error}`
}

/** A foreign call of which nothing was heard yet. */
function callUnderway(history: readonly HistoryEntry[]): string {
  const open = history.findLast(({ callKey, endedAt }) => callKey !== null && endedAt === null)
  return open === undefined
    ? ''
    : ` The foreign call from ${open.point} was sent at ${utc(open.beganAt)} and has not been heard of.`
}
