/**
 * Removes what is past its retention. What was finished is deleted; what never was is put before a
 * person.
 *
 * @module
 */

import { pause, within } from '../engine/bounded.ts'
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
  /** Largest share of the time in which it deletes. */
  readonly shareMax: number
  /** How long `onAbandon` may take, in milliseconds. */
  readonly leaseMs: number
  /** How long the counters of an hour are kept, in milliseconds. */
  readonly countsMs: number
  /** How long duplicates are noted, in milliseconds. */
  readonly notesMs: number
}

/** Removes everything whose time has come; what is left when it is enough stays for the next run. */
export async function reap<Tx>(parts: ReaperParts<Tx>, isEnough: () => boolean): Promise<Ran> {
  const { work, desk } = parts.store
  const sweep = (batch: Batch) => sweepAll(parts, batch, isEnough)
  const done = await sweep((limit) => parts.store.sweep(limit))
  if (desk !== undefined) await sweep((limit) => desk.sweepNotes(limit, parts.notesMs))
  if (work === undefined) return { done }

  // In any case: records may expire as fast as they are swept.
  let buried = 0
  while (await buryAbandoned(parts)) buried++
  while (await tellUntold(parts)) continue
  await sweep((limit) => work.sweepHistory(limit))
  await sweep((limit) => work.letters.sweep(limit))
  await sweep((limit) => work.counts.sweep(limit, parts.countsMs))
  return { done: done + buried, buried, nextMs: isEnough() ? 0 : undefined }
}

/** Deletes at most `limit`; gives how many there were. */
type Batch = (limit: number) => Promise<number>

/** A batch that took long has waited for others, and who stops it should not wait for its rest. */
const REST_MS_MAX = 1000

/** Batch after batch. After each it rests in proportion, so that requests find the database free. */
async function sweepAll<Tx>(
  { clock, batchMax, shareMax }: ReaperParts<Tx>,
  batch: Batch,
  isEnough: () => boolean,
): Promise<number> {
  let done = 0
  while (!isEnough()) {
    const startedAt = clock.now()
    const swept = await batch(batchMax)
    done += swept
    if (swept < batchMax) break
    const restMs = (clock.now() - startedAt) * (1 / shareMax - 1)
    if (restMs > 0) await pause(clock, Math.min(restMs, REST_MS_MAX))
  }
  return done
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
