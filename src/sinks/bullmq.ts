/**
 * Jobs to BullMQ: at least once, with our id as the job id, of which BullMQ takes each one once.
 *
 * @module
 */

import type { Sink, StagedJob } from '../workers/sink.ts'
import { sendAll } from './sending.ts'
import { isSinkTrouble } from './trouble.ts'

/** What the sink uses of a `Queue` of BullMQ. */
export interface BullmqQueue {
  add(name: string, data: unknown, options: { jobId: string }): Promise<unknown>
}

/** Settings of {@link bullmqSink}. */
export interface BullmqSinkOptions {
  /**
   * Further options of `add`, such as attempts, priority or removeOnComplete.
   *
   * @default none: those of the queue
   */
  readonly addOptions?: (job: StagedJob) => Readonly<Record<string, unknown>>
}

/** Errors of the Redis client that come without a code. */
const DOWN_NAMES: ReadonlySet<string> = new Set([
  ...['ReplyError', 'MaxRetriesPerRequestError', 'AbortError'],
])
const DOWN_MESSAGE =
  /^(Connection is closed|Stream isn't writeable|Command timed out|connect ETIMEDOUT)/

/**
 * Hands jobs to queues of BullMQ 3.16 or later, under their own names.
 *
 * BullMQ takes each id once for as long as it keeps the job: what is handed over twice runs once, and
 * a job that is staged again under the same `dedupeKey` is the same job until `removeOnComplete` has
 * removed the first one.
 *
 * @param queue - where all jobs go, or what names the queue of each; a job that has none, because it
 * gives `undefined`, is not delivered
 *
 * @example
 * ```ts
 * createWorkers(reprise, { sink: bullmqSink(new Queue('jobs', { connection })) })
 * ```
 */
export function bullmqSink(
  queue: BullmqQueue | ((job: StagedJob) => BullmqQueue | undefined),
  { addOptions = () => ({}) }: BullmqSinkOptions = {},
): Sink {
  const queueOf = typeof queue === 'function' ? queue : () => queue
  const send = async (job: StagedJob) => {
    const { id, name, args } = job
    const target = queueOf(job)
    if (target === undefined) throw new Error(`No queue takes jobs named ${name}.`)
    await target.add(name, args, { ...addOptions(job), jobId: id })
  }
  return {
    name: 'bullmq',
    deliver: (jobs, delivery) => sendAll(jobs, delivery, { send, isDown }),
  }
}

function isDown(error: unknown): boolean {
  if (!(error instanceof Error)) return false
  return isSinkTrouble(error) || DOWN_NAMES.has(error.name) || DOWN_MESSAGE.test(error.message)
}
