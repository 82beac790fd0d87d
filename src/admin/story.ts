/**
 * What happened to a request step by step, in words, for the note of an incident.
 *
 * @module
 */

import type { DeadLetter, HistoryEntry } from '../engine/letters.ts'
import type { Known } from './explain.ts'
import { counted, duration, utc } from './texts.ts'

/** One line for each thing that happened, oldest first. */
export function storyOf({ row, history, notes, jobs, letter }: Known): readonly string[] {
  const from = row.origin.requestId === null ? '' : ` as request ${row.origin.requestId}`
  const lines: [at: number, text: string][] = [[row.createdAt, `It came${from}.`]]
  for (const [index, entry] of history.entries()) {
    const before = history[index - 1]
    if (before !== undefined && before.fence < entry.fence) {
      const gapMs = entry.beganAt - (before.endedAt ?? before.beganAt)
      lines.push([entry.beganAt, `Taken up by the ${entry.actor}, ${duration(gapMs)} later.`])
    }
    lines.push([entry.beganAt, lineOf(entry, letter)])
  }
  for (const { name, stagedAt, state } of jobs) {
    lines.push([stagedAt, `The job ${name} was staged; it is ${state.replace('_', ' ')}.`])
  }
  for (const { at, result } of notes) lines.push([at, `A duplicate was ${RESULTS[result]}.`])
  if (letter !== undefined) {
    lines.push([letter.buriedAt, `Put before a person: ${letter.cause.replace('_', ' ')}.`])
  }
  if (row.finishedAt !== null) {
    const attempts = counted(row.fence, 'attempt', 'attempts')
    lines.push([row.finishedAt, `Answered with ${row.status}, after ${attempts}.`])
  }
  return lines.sort(([a], [b]) => a - b).map(([at, text]) => `${utc(at)} ${text}`)
}

const RESULTS = {
  replayed: 'given the stored answer',
  in_progress: 'told that the first is in progress',
  mismatch: 'refused, because it asked for something else under the same key',
  unknown: 'refused, because the outcome of the first is unknown',
}

function lineOf(entry: HistoryEntry, letter: DeadLetter | undefined) {
  const { actor, node, point, ending, reached, callKey, beganAt, endedAt } = entry
  // Of a call without an end its own run may have told, as when it took too long.
  const isTold = ending === null && letter?.fence === entry.fence && letter.point === point
  const error = entry.error ?? (isTold ? letter.error : null)
  const at = node === undefined ? '' : ` (${node})`
  const who = `${actor === 'completer' ? 'The completer' : 'The request'}${at}`
  const what = callKey === null ? 'ran the phase' : 'made the foreign call'
  const took = endedAt === null ? '' : ` in ${duration(endedAt - beganAt)}`
  const lost = error === null ? 'and nothing was heard of it' : 'whose outcome is unknown'
  const end = ending === null ? lost : ENDINGS[ending]
  const to = reached === null ? '' : ` to ${reached}`
  const because = error === null ? '' : `: ${error}`
  return `${who} ${what} from ${point}${took}, ${end}${to}${because}.`
}

const ENDINGS: Readonly<Record<NonNullable<HistoryEntry['ending']>, string>> = {
  advanced: 'and got',
  responded: 'and answered',
  threw: 'which failed',
  retry_later: 'and asked for more time',
  denied: 'of which the provider knew nothing',
  settled: 'which a person settled',
}
