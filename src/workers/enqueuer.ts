/**
 * Hands staged jobs to the sink: only after their commit, oldest first, in batches, at least once.
 *
 * The jobs are locked by the transaction that removes them, so any number of nodes may do this at
 * once, and one that dies leaves them where they were. There is no cursor: a job whose transaction
 * committed late is found whenever it appears.
 *
 * @module
 */

import { within } from '../engine/bounded.ts'
import type { Clock } from '../engine/clock.ts'
import { TransactionAccess } from '../engine/transaction-access.ts'
import type { JobBatch, JobPatience, JobStore, StagedJob, Undelivered } from '../engine/work.ts'
import { messageOf } from '../phases/message.ts'
import type { Ran } from './service.ts'
import type { Sink } from './sink.ts'

/** What an enqueuer works with. */
export interface EnqueuerParts<Tx> {
  readonly jobs: JobStore<Tx>
  readonly sink: Sink<Tx>
  readonly clock: Clock
  readonly batchMax: number
  /** How long the sink may take for one batch, in milliseconds. */
  readonly timeoutMs: number
  readonly patience: JobPatience
}

/** How many batches one run hands over at most, so that its heartbeat is seen. */
const BATCHES_MAX = 100

/** A sink that was told to stop has the same time again for it; the rest is for a slow database. */
const SILENT_TIMEOUTS = 3

/** So many jobs that take too long, and not one that was taken: the sink hangs. */
const LATE_MAX = 2

/** Hands over what is due; a sink that is down ends that, and the jobs that it has not stay. */
export async function enqueue<Tx>(parts: EnqueuerParts<Tx>): Promise<Ran> {
  const { jobs, sink, batchMax, timeoutMs, patience } = parts
  const request = { limit: batchMax, silentMsMax: timeoutMs * SILENT_TIMEOUTS }
  let done = 0
  try {
    for (let batches = 0; batches < BATCHES_MAX; batches++) {
      const batch = await jobs.take(request, patience)
      if (batch === undefined) return { done, nextMs: await jobs.nextDueMs() }
      const undelivered = await settle(parts, batch)
      done += batch.jobs.length - undelivered.length
      const down = undelivered.find(({ isSinkDown }) => isSinkDown === true)
      if (down !== undefined) throw new Error(`The sink ${sink.name} is down. ${down.error}`)
    }
    return { done }
  } catch (error) {
    return { done, error: error instanceof Error ? error : new Error(messageOf(error)) }
  }
}

async function settle<Tx>(
  parts: EnqueuerParts<Tx>,
  batch: JobBatch<Tx>,
): Promise<readonly Undelivered[]> {
  try {
    const undelivered = await hand(parts, batch)
    await batch.settle(undelivered)
    return undelivered
  } catch (error) {
    await batch.rollback()
    throw error
  }
}

/**
 * Hands over a batch. When the sink throws, job by job: one at which it does must not hold up the
 * others. When it throws at every one, it is down, and no job is to blame.
 */
async function hand<Tx>(
  parts: EnqueuerParts<Tx>,
  batch: JobBatch<Tx>,
): Promise<readonly Undelivered[]> {
  const { jobs } = batch
  try {
    return await deliver(parts, batch, jobs)
  } catch (error) {
    if (jobs.length === 1) return jobs.map(({ id }) => down(id, error))
  }
  const [undelivered, thrown]: [Undelivered[], Undelivered[]] = [[], []]
  let late = 0
  for (const [index, job] of jobs.entries()) {
    try {
      undelivered.push(...(await deliver(parts, batch, [job])))
    } catch (error) {
      thrown.push(down(job.id, error))
      if (error instanceof Late) late++
      const isDown = late >= LATE_MAX && thrown.length === index + 1
      if (isDown) return jobs.map(({ id }) => down(id, error))
    }
  }
  if (thrown.length === jobs.length) return thrown
  return [...undelivered, ...thrown.map(({ id, error }) => ({ id, error }))]
}

function down(id: string, error: unknown): Undelivered {
  return { id, error: messageOf(error), isSinkDown: true }
}

class Late extends Error {
  constructor({ sink, timeoutMs }: Pick<EnqueuerParts<unknown>, 'sink' | 'timeoutMs'>) {
    super(`The sink ${sink.name} took more than ${timeoutMs} ms.`)
  }
}

/** One call of the sink. Told to stop in time, it may still say what it has taken by then. */
async function deliver<Tx>(
  { sink, clock, timeoutMs: ms }: EnqueuerParts<Tx>,
  batch: JobBatch<Tx>,
  jobs: readonly StagedJob[],
): Promise<readonly Undelivered[]> {
  const end = new AbortController()
  const late = new Late({ sink, timeoutMs: ms })
  const access = new TransactionAccess()
  const execute = batch.execute?.bind(batch)
  const deliverIn = async (tx: Tx) => {
    const delivery = {
      tx,
      // A sink that goes on after its delivery opens no part of the next one.
      within: async <T>(part: (tx: Tx) => Promise<T>) => {
        access.check()
        return batch.within(part)
      },
      ...(execute && { execute }),
      signal: end.signal,
    }
    const work = sink.deliver(jobs, delivery).then((undelivered) => undelivered ?? [])
    const inTime = await within(clock, { ms, work, fallback: null })
    if (inTime !== null) return inTime
    end.abort(late)
    const inGrace = await within(clock, { ms, work, fallback: null })
    if (inGrace !== null) return inGrace
    throw late
  }
  return batch.within((tx) => deliverIn(tx).finally(() => access.end()))
}
