/**
 * Checks of what goes on: workers, what waits for them, and what waits for a person.
 *
 * @module
 */

import { AT_ONCE } from '../../admin/explain.ts'
import { isSilent, WORKERS } from '../../admin/workers.ts'
import { GRACE_MS } from '../../phases/patience.ts'
import { unknownIn, usesOf, waitingIn, workersOf } from '../queries.ts'
import { duration, plural } from '../words.ts'
import { type Check, type Finding, failed, fine, warn } from './check.ts'

/** How long after its retention a record is to be gone, in milliseconds. */
const REAPED_MS_MAX = 3 * 3_600_000

type Worker = (typeof WORKERS)[number]

/** Workers, and what waits for them or for a person. */
export const checkWork: Check = async ({ context, database, hasSchema }) => {
  if (!hasSchema) return []
  const { schema } = database
  const { config } = context.project
  const [row = []] = await database.query(waitingIn(schema), [GRACE_MS])
  const [stuck = 0, dead = 0, due = 0, aside = 0, overdueMs = 0] = row.map(Number)
  const [left = []] = await database.query(unknownIn(schema))
  const [unknown = 0, sinceMs = 0] = left.map(Number)
  const [uses = []] = await database.query(usesOf(schema))
  const [hasJobs, hasPhases, hasRecords] = uses
  const workers = await database.query(workersOf(schema))
  const backlog: Readonly<Record<Worker, number>> = {
    ...{ enqueuer: due, completer: stuck + (sinceMs > GRACE_MS ? unknown : 0) },
    reaper: overdueMs > REAPED_MS_MAX ? 1 : 0,
  }
  const isUsed: Readonly<Record<Worker, boolean>> = {
    enqueuer: hasJobs === true || config['sink'] !== undefined,
    completer: hasPhases === true || unknown > 0 || config['operations'] !== undefined,
    reaper: hasRecords === true,
  }
  const found = WORKERS.map((worker) => {
    const hasSink = config['sink'] !== undefined
    const need = { waits: backlog[worker], isUsed: isUsed[worker], hasSink }
    return workerFinding(worker, need, workers)
  })
  const isAwake = found.some(({ check, level }) => check === 'completer' && level === 'ok')
  return [
    ...found,
    stuckFinding(stuck),
    unknownFinding({ unknown, sinceMs, isAwake }),
    deadFinding(dead),
    jobsFinding(due, aside),
    overdueMs <= REAPED_MS_MAX
      ? fine('reaping', 'nothing is kept long past its retention')
      : warn(
          'reaping',
          `The oldest record is ${duration(overdueMs)} past its retention.`,
          'npx reprise worker --only reaper --once',
        ),
  ]
}

function stuckFinding(stuck: number): Finding {
  if (stuck === 0) return fine('stuck', 'no request is stuck')
  const text = `${plural(stuck, 'request')} nobody finishes.`
  return warn('stuck', text, 'npx reprise keys list --state stuck')
}

function unknownFinding({
  unknown,
  sinceMs,
  isAwake,
}: {
  readonly unknown: number
  readonly sinceMs: number
  readonly isAwake: boolean
}): Finding {
  if (unknown === 0) return fine('unknown', 'no run has stopped and left its outcome unknown')
  const have = plural(unknown, 'request has', 'requests have')
  const text = `${have} an unknown outcome, after a run that stopped.`
  if (!isAwake) {
    return warn(
      'unknown',
      `${text} The completer would put ${unknown === 1 ? 'it' : 'them'} before a person.`,
      ...['npx reprise worker --only completer', 'npx reprise keys list --unknown'],
    )
  }
  const inMs = GRACE_MS - sinceMs
  const when = inMs > 0 ? `in ${duration(inMs)}` : 'at its next run'
  return warn(
    'unknown',
    `${text} The completer puts ${unknown === 1 ? 'it' : 'the first'} before a person ${when}.`,
    ...['npx reprise keys list --unknown', `at once: ${AT_ONCE}`],
  )
}

function deadFinding(dead: number): Finding {
  if (dead === 0) return fine('dead letters', 'nothing waits for a person')
  const text = `${plural(dead, 'request needs', 'requests need')} a person.`
  return warn('dead letters', text, 'npx reprise dead list')
}

function jobsFinding(due: number, aside: number): Finding {
  if (aside === 0) return fine('jobs', due === 0 ? 'no job waits' : `${plural(due, 'job')} due`)
  return warn(
    'jobs',
    `${plural(aside, 'job was', 'jobs were')} set aside after too many tries.`,
    'Open the dashboard: npx reprise dashboard',
  )
}

/** Whether there is anything for a worker to do. */
interface Need {
  /** What waits for it. */
  readonly waits: number
  /** Whether the app has, or once had, what the worker is for. */
  readonly isUsed: boolean
  /** Whether the configuration says where jobs go. */
  readonly hasSink: boolean
}

const IDLE: Readonly<Record<Worker, string>> = {
  enqueuer: 'not needed: no job is staged',
  completer: 'not needed: no phases are used, and no outcome is unknown',
  reaper: 'not needed yet: there is no record',
}

function workerFinding(
  worker: Worker,
  { waits, isUsed, hasSink }: Need,
  rows: readonly (readonly unknown[])[],
): Finding {
  const own = rows.filter(([name]) => name === worker)
  const [, node, agoMs = Number.POSITIVE_INFINITY, error] = own[0] ?? []
  const start = startOf(worker, hasSink)
  if (own.length === 0) {
    if (!isUsed) return fine(worker, IDLE[worker])
    const text = `The ${worker} has never run${waits > 0 ? ', and there is work for it' : ''}.`
    return waits > 0 ? failed(worker, text, start) : warn(worker, text, start)
  }
  const isAsleep = own.every(([, , ago, , every]) => {
    return isSilent(worker, { agoMs: Number(ago), everyMs: every === null ? null : Number(every) })
  })
  if (isAsleep) {
    const text = `The ${worker} last ran ${duration(Number(agoMs))} ago, on ${String(node)}.`
    return waits > 0 ? failed(worker, text, start) : warn(worker, text, start)
  }
  if (typeof error === 'string') {
    return warn(worker, `Its last run failed: ${error}`, 'See the log of the process that runs it.')
  }
  return fine(worker, `ran ${duration(Number(agoMs))} ago on ${plural(own.length, 'node')}`)
}

function startOf(worker: Worker, hasSink: boolean): string {
  if (worker !== 'enqueuer' || hasSink) {
    return `npx reprise worker --only ${worker}, or createWorkers(reprise, …).start() in the app`
  }
  return 'Say where jobs go: export sink from reprise.config, then npx reprise worker --only enqueuer; or createWorkers(reprise, { sink }).start() in the app'
}
