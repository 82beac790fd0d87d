/**
 * Drives on what was left unfinished: the same operation, from the stored input, on behalf of the
 * stored caller, with no client and no HTTP.
 *
 * @module
 */

import type { Random } from '../engine/clock.ts'
import type { TakenRecord, Work } from '../engine/work.ts'
import type { Completable } from '../phases/operation.ts'
import type { Ran } from './service.ts'

/** What a completer works with. */
export interface CompleterParts<Tx> {
  readonly work: Work<Tx>
  readonly operations: readonly Completable[]
  readonly random: Random
  /** How many records are driven at a time. */
  readonly concurrency: number
  /** How long a record of unknown outcome is left to the clients, in milliseconds. */
  readonly unknownGraceMs: number
  /** How long a record that needs a person is kept, in milliseconds. */
  readonly buriedMs: number
  /** Told of each record that was taken up, and how it ended. */
  readonly onCompleted: (taken: TakenRecord, ending: string, error: unknown) => void
}

/** How many records whose outcome is unknown are put before a person in one run. */
const BURIALS_MAX = 1000

/** Takes up every record whose time has come. */
export async function complete<Tx>(parts: CompleterParts<Tx>): Promise<Ran> {
  const { work, operations, concurrency, buriedMs, unknownGraceMs } = parts
  const burial = { limit: BURIALS_MAX, graceMs: unknownGraceMs, retentionMs: buriedMs }
  const buried = await work.letters.buryUnknown(burial)
  const lanes = Array.from({ length: concurrency }, () => lane(parts))
  const done = await Promise.all(operations.length === 0 ? [] : lanes)
  return { done: done.reduce((sum, count) => sum + count, buried), buried }
}

/** One record after the other, for as long as there are any. */
async function lane<Tx>(parts: CompleterParts<Tx>): Promise<number> {
  let done = 0
  for (;;) {
    let taken = 0
    for (const operation of parts.operations) {
      if (await completeOne(parts, operation)) taken++
    }
    if (taken === 0) return done
    done += taken
  }
}

async function completeOne<Tx>(
  { work, random, onCompleted }: CompleterParts<Tx>,
  operation: Completable,
): Promise<boolean> {
  const { leaseMs } = operation.reprise.options
  const request = { owner: random.token(), leaseMs, retentionMs: leaseMs }
  const taken = await work.phases.takeUnfinished(operation.edition, request, operation.patience)
  if (taken === undefined) return false
  try {
    const { outcome } = await operation.resume(taken)
    onCompleted(taken, outcome, undefined)
  } catch (error) {
    // A phase threw; it stands in the history, and the record comes again after its pause.
    onCompleted(taken, 'failed', error)
  }
  return true
}
