/**
 * Brings one request to its end: leads the flight, joins the one under way, or waits for a run in
 * another process and looks again. The same for every mode; the modes differ in how a flight is
 * flown.
 *
 * @module
 */

import { SHUTTING_DOWN } from '../core/error-table.ts'
import { RepriseError } from '../core/errors.ts'
import { within } from './bounded.ts'
import type { Context } from './context.ts'
import type { Flight } from './flights.ts'
import type { Job } from './job.ts'
import type { RunResult } from './result.ts'

/** Settles `job`; `start` begins a flight of its own when none is under way. */
export function settle<Tx>(
  context: Context<Tx>,
  job: Job,
  start: () => Flight,
): Promise<RunResult> {
  const cached = context.cache?.get(job)
  if (cached !== undefined) return told(context, job, Promise.resolve(cached))
  const way = job.waitMs > 0 ? decideOrWait : decide
  return told(context, job, way(context, job, start))
}

/** Tells the listener how `work` ended. */
export function told<Tx>(
  context: Context<Tx>,
  job: Job,
  work: Promise<RunResult>,
): Promise<RunResult> {
  if (!context.isHeard) return work
  return work.then(
    (result) => {
      context.ended(result.outcome, job)
      return result
    },
    (error: unknown) => {
      context.ended('failed', job, error)
      throw error
    },
  )
}

/** What the store decides, or what is known of the run under way. */
function decide<Tx>(context: Context<Tx>, job: Job, start: () => Flight): Promise<RunResult> {
  if (context.isClosing) return Promise.reject(new RepriseError(SHUTTING_DOWN))
  const underway = context.flights.find(job.request)
  if (underway !== undefined) return join(context, job, { underway, start })
  // A refusal is how it ends, whenever the key was claimed.
  return context.flights.begin(job.request, start).result
}

/**
 * What is known of the run under way. Whether it runs at all is the store's to say: the flight may be
 * that of a request that is finished, and then this one is given the same answer.
 */
async function join<Tx>(
  context: Context<Tx>,
  job: Job,
  { underway, start }: { underway: Flight; start: () => Flight },
): Promise<RunResult> {
  const refusal = await decision(context, job, underway)
  if (refusal !== undefined) return refusal
  // It has landed since, so the store has more to say than that it runs.
  if (context.flights.find(job.request) !== underway) return decide(context, job, start)
  return context.running(job, context.clock.now() - underway.startedAt)
}

/**
 * What the store decided about a flight that another request leads. A handler may take long to send
 * the statement that its claim goes with: then the flight counts as granted.
 */
function decision<Tx>(
  { clock }: Context<Tx>,
  job: Job,
  { decided }: Flight,
): Promise<RunResult | undefined> {
  return within(clock, { ms: job.options.storeTimeoutMs, work: decided, fallback: undefined })
}

async function decideOrWait<Tx>(
  context: Context<Tx>,
  job: Job,
  start: () => Flight,
): Promise<RunResult> {
  const { clock, flights, waiters } = context
  const deadline = job.startedAt + job.waitMs
  // A place is taken before the first look, so that waiting is refused at once when it is refused.
  const seat = waiters.enter(job.identity.id, job.request)
  const left = () => (seat === undefined ? 0 : deadline - clock.now())
  let hasLooked = false
  try {
    for (;;) {
      if (context.isClosing) throw new RepriseError(SHUTTING_DOWN)
      // Who was told by others has looked for himself before he goes.
      let result = left() > 0 ? seat?.told() : undefined
      if (result === undefined) {
        hasLooked = true
        const underway = flights.find(job.request)
        const isLeader = underway === undefined
        const flight = underway ?? flights.begin(job.request, start)
        const refusal = await (isLeader ? flight.decided : decision(context, job, flight))
        if (refusal === undefined && isLeader) {
          seat?.leave()
          return await flight.result
        }
        const followed = () => follow(context, { job, flight, left: left() })
        result = refusal ?? (await context.timed(job, 'waitedMs', followed))
      }
      if (result === undefined) continue
      if (result.outcome !== 'in_progress' || seat === undefined || left() <= 0) return result
      const known = result
      const woken = () => seat.next(left(), known)
      if (!(await context.timed(job, 'waitedMs', woken)) && hasLooked) return known
    }
  } finally {
    seat?.leave()
  }
}

/** Waits for a run in this process; `undefined` when it left nothing to replay: look again. */
async function follow<Tx>(
  context: Context<Tx>,
  { job, flight, left }: { job: Job; flight: Flight; left: number },
): Promise<RunResult | undefined> {
  const running = context.running(job, context.clock.now() - flight.startedAt)
  if (left <= 0) return running
  try {
    const work = flight.ended
    const ended = await within(context.clock, { ms: left, work, fallback: running })
    if (ended.outcome !== 'executed' && ended.outcome !== 'resumed') return ended
    return ended.fate === 'stored' ? context.replayOf(flight.job, ended) : undefined
  } catch {
    // The error belongs to the request that led; this one tries for itself.
    return undefined
  }
}
