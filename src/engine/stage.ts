/**
 * Staging: a job is written in the transaction at hand, and handed to a queue only after its commit.
 *
 * @module
 */

import { JOBS_UNSUPPORTED } from '../core/error-table.ts'
import { RepriseError } from '../core/errors.ts'
import type { NewJob } from './work.ts'

/** The app's code has committed or rolled back what was not its own to end. */
export class TransactionEnded extends TypeError {
  constructor(who = 'handler') {
    super(`The ${who} has ended the transaction itself: leave that to Reprise.`)
  }
}

/** How a job is staged. */
export interface StageOptions {
  /**
   * Not handed over before this instant.
   *
   * @default at once
   */
  readonly runAt?: Date
  /**
   * At most one job of this name and key waits at a time, and every one of them has the same id.
   *
   * @default every job is one of its own
   */
  readonly dedupeKey?: string
}

/** Stages a job in the transaction at hand; gives its id. */
export type Stage = (name: string, args: unknown, options?: StageOptions) => Promise<string>

/** What `stage` does in a transaction that takes jobs; a refusal in one that does not. */
export function stageOn(open: { stage?(job: NewJob): Promise<string> }): Stage {
  return async (name, args, options) => {
    const job = jobOf(name, args, options)
    if (open.stage !== undefined) return open.stage(job)
    throw new RepriseError(JOBS_UNSUPPORTED)
  }
}

/** A job as it is stored. */
function jobOf(name: string, args: unknown, { runAt, dedupeKey }: StageOptions = {}): NewJob {
  const text: string | undefined = JSON.stringify(args ?? null)
  if (text === undefined || name === '') {
    throw new TypeError('stage() takes a name and arguments that JSON has a form of.')
  }
  const instant = runAt instanceof Date ? runAt.getTime() : null
  if ((runAt !== undefined && instant === null) || Number.isNaN(instant)) {
    throw new TypeError(`stage() takes a runAt that is a valid Date, not ${String(runAt)}.`)
  }
  return { name, args: text, runAt: instant, dedupeKey: dedupeKey ?? null }
}
