/**
 * Ways to send a batch: all at once to a queue elsewhere, or one by one in the transaction.
 *
 * @module
 */

import type { Delivery, StagedJob, Undelivered } from '../workers/sink.ts'
import { isSinkTrouble, refused, untried } from './trouble.ts'

/**
 * Sends every job without waiting for the one before it, and gives back those that were not taken.
 * What has no answer when the time is up was not taken, as far as anybody knows.
 */
export async function sendAll(
  jobs: readonly StagedJob[],
  { signal }: Pick<Delivery<unknown>, 'signal'>,
  { send, isDown }: { send(job: StagedJob): Promise<unknown>; isDown(error: unknown): boolean },
): Promise<readonly Undelivered[]> {
  const ends = new Map<string, readonly Undelivered[]>()
  const sent = jobs.map(async (job) => {
    try {
      await send(job)
      ends.set(job.id, [])
    } catch (error) {
      ends.set(job.id, isDown(error) ? untried([job], error) : [refused(job, error)])
    }
  })
  const heard = new AbortController()
  await Promise.race([Promise.all(sent), aborted(signal, heard.signal)])
  heard.abort()
  return jobs.flatMap((job) => ends.get(job.id) ?? untried([job], signal.reason))
}

/** Resolves when the time is up; listens no longer than until `heard`. */
function aborted(signal: AbortSignal, heard: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve()
    signal.addEventListener('abort', () => resolve(), { once: true, signal: heard })
  })
}

/**
 * Sends the jobs in the transaction that removes them. When one fails, its own part of the
 * transaction is undone, and it alone is given back.
 */
export async function sendWithin<Tx>(
  jobs: readonly StagedJob[],
  { within }: Pick<Delivery<Tx>, 'within'>,
  send: (job: StagedJob, tx: Tx) => Promise<void>,
): Promise<readonly Undelivered[]> {
  const together = async (tx: Tx) => {
    for (const job of jobs) await send(job, tx)
  }
  const isTaken = await within(together).then(
    () => true,
    // Which one it was shows when each has a part of its own.
    () => false,
  )
  const undelivered: Undelivered[] = []
  for (const job of isTaken ? [] : jobs) {
    try {
      await within((tx) => send(job, tx))
    } catch (error) {
      if (isSinkTrouble(error)) throw error
      undelivered.push(refused(job, error))
    }
  }
  return undelivered
}
