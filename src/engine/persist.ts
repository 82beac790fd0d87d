/**
 * The end of a run, carried to the store: at once if it can be, else in the background.
 *
 * Finish and release are fenced and safe to repeat, so they can be sent for as long as it takes; after
 * the lease another run may have taken over, and trying ends there.
 *
 * @module
 */

import type { Context } from './context.ts'
import type { Job } from './job.ts'

/** Carried out; refused, because another run has taken over; or not heard of, and being repeated. */
export type Persisted = 'done' | 'lost' | 'failed'

/** First pause between tries in the background; doubles. */
const RETRY_MS = 100

/** Carries out a fenced write. */
export function persist<Tx>(
  context: Context<Tx>,
  job: Job,
  write: () => Promise<boolean>,
): Promise<Persisted> {
  // What failed was told to the listener by `call`.
  return context.call(job, write).then(heard, () => again(context, job, write))
}

function heard(isHeld: boolean): Persisted {
  return isHeld ? 'done' : 'lost'
}

/** Once more before the answer is given, and then behind it. */
async function again<Tx>(
  context: Context<Tx>,
  job: Job,
  write: () => Promise<boolean>,
): Promise<Persisted> {
  try {
    return heard(await context.call(job, write))
  } catch {
    // As above.
  }
  // Refused or carried out, it is over once it was heard.
  context.background(repeat(context, job, () => write().then(() => true)))
  return 'failed'
}

/**
 * Repeats a call to the store until it goes through and answers `true`, further apart each time, for
 * as long as a lease, or until the engine is closed. It never throws.
 */
export async function repeat<Tx>(
  context: Context<Tx>,
  job: Job,
  call: () => Promise<boolean>,
): Promise<void> {
  const { clock } = context
  const until = clock.now() + job.options.leaseMs
  for (let ms = RETRY_MS; clock.now() < until; ms *= 2) {
    await context.rest(Math.min(ms, until - clock.now()))
    if (context.isClosed) return
    try {
      if (await context.call(job, call)) return
    } catch {
      // Told to the listener by `call`.
    }
  }
}
