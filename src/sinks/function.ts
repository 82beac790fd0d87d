/**
 * Jobs to a function of the app's own.
 *
 * @module
 */

import type { Delivery, Sink, StagedJob, Undelivered } from '../workers/sink.ts'
import { isSinkTrouble, refused, untried } from './trouble.ts'

/** Settings of {@link functionSink}. */
export interface FunctionSinkOptions {
  /**
   * Whether the function works on `tx`; then what a job did there is undone when it fails.
   *
   * @default false
   */
  readonly usesTx?: boolean
  /**
   * Whether what the function threw may mean that the queue is down. When it does so for every job
   * that it is given, no job is to blame and all stay as they are; any other error counts as a try of
   * its job. Where jobs go to places that can be down each for itself, give `() => false`.
   *
   * @default the codes of broken and refused connections, also as the cause of the error
   */
  readonly isDown?: (error: unknown) => boolean
}

/**
 * Hands each job to a function, one after the other. It is called at least once for each, always with
 * the same id: what it does must be safe to be done twice, or commit in `tx`.
 *
 * @example
 * ```ts
 * const sink = functionSink(async ({ id, name, args }) => queue.publish(name, args, { messageId: id }))
 * ```
 */
export function functionSink<Tx = unknown>(
  take: (job: StagedJob, delivery: Delivery<Tx>) => Promise<unknown>,
  { usesTx = false, isDown = isSinkTrouble }: FunctionSinkOptions = {},
): Sink<Tx> {
  return {
    name: 'function',
    async deliver(jobs, delivery) {
      const { signal } = delivery
      const undelivered: Undelivered[] = []
      let down: unknown
      let downs = 0
      for (const [index, job] of jobs.entries()) {
        if (signal.aborted) return [...undelivered, ...untried(jobs.slice(index), signal.reason)]
        try {
          if (usesTx) await delivery.within((tx) => take(job, { ...delivery, tx }))
          else await take(job, delivery)
        } catch (error) {
          undelivered.push(refused(job, error))
          if (!isDown(error)) continue
          down = error
          downs++
        }
      }
      return downs === jobs.length ? untried(jobs, down) : undelivered
    },
  }
}
