/**
 * Removes what is past its retention. What was finished is deleted; what never was is put before a
 * person.
 *
 * @module
 */

import { within } from '../engine/bounded.ts'
import type { Clock, Random } from '../engine/clock.ts'
import type { Store } from '../engine/store.ts'
import type { TakenRecord } from '../engine/work.ts'
import { messageOf } from '../phases/message.ts'
import type { AbandonedRecord, Completable } from '../phases/operation.ts'
import type { Ran } from './service.ts'

/** What a reaper works with. */
export interface ReaperParts<Tx> {
  readonly store: Store<Tx>
  readonly clock: Clock
  readonly operations: ReadonlyMap<string, Completable>
  readonly random: Random
  /** How many records are deleted in one statement. */
  readonly batchMax: number
  /** How long `onAbandon` may take, in milliseconds. */
  readonly leaseMs: number
  /** How long the counters of an hour are kept, in milliseconds. */
  readonly countsMs: number
  /** How long duplicates are noted, in milliseconds. */
  readonly notesMs: number
}

/** Removes everything whose time has come. */
export async function reap<Tx>(parts: ReaperParts<Tx>): Promise<Ran> {
  const { store, batchMax } = parts
  let done = 0
  for (let swept = batchMax; swept === batchMax; done += swept) swept = await store.sweep(batchMax)
  const { work, desk } = store
  for (let swept = batchMax; swept === batchMax; ) {
    swept = (await desk?.sweepNotes(batchMax, parts.notesMs)) ?? 0
  }
  if (work === undefined) return { done }

  let buried = 0
  while (await buryAbandoned(parts)) buried++
  while (await tellUntold(parts)) continue
  for (let swept = batchMax; swept === batchMax; ) swept = await work.sweepHistory(batchMax)
  for (let swept = batchMax; swept === batchMax; ) swept = await work.letters.sweep(batchMax)
  for (let swept = batchMax; swept === batchMax; ) {
    swept = await work.counts.sweep(batchMax, parts.countsMs)
  }
  return { done: done + buried, buried }
}

async function buryAbandoned<Tx>(parts: ReaperParts<Tx>): Promise<boolean> {
  const { store, operations, random, leaseMs } = parts
  const letters = store.work?.letters
  const owner = random.token()
  const taken = await letters?.takeAbandoned({ owner, leaseMs, retentionMs: leaseMs })
  if (taken === undefined) return false
  const error = await tell(parts, taken)
  // A worker that knows the operation tells the app later.
  const isUntold = !operations.has(taken.operation)
  await letters?.bury(taken.claim, { cause: 'abandoned', error, isUntold, retentionMs: leaseMs })
  return true
}

/** Tells the app of what others have put before a person without telling it. */
async function tellUntold<Tx>(parts: ReaperParts<Tx>): Promise<boolean> {
  const { store, operations, leaseMs } = parts
  const letters = store.work?.letters
  const letter = await letters?.takeUntold([...operations.keys()], leaseMs)
  if (letter === undefined) return false
  const error = await tell(parts, { ...letter, recoveryPoint: letter.point })
  await letters?.told(letter.letter, error)
  return true
}

/** Tells the app; that it throws or hangs does not keep the record from a person. */
async function tell<Tx>(
  { operations, clock, leaseMs: ms }: ReaperParts<Tx>,
  record: AbandonedRecord & Pick<TakenRecord, 'operation'>,
): Promise<string | null> {
  try {
    const work = operations
      .get(record.operation)
      ?.abandon(record)
      .then(() => true)
    if ((await within(clock, { ms, work: Promise.resolve(work), fallback: false })) === false) {
      throw new Error(`It took more than ${ms} ms.`)
    }
    return null
  } catch (error) {
    return `onAbandon threw ${messageOf(error)}`
  }
}
