/**
 * Where staged jobs go.
 *
 * @module
 */

import type { Execute, StagedJob, Undelivered } from '../engine/work.ts'

export type { StagedJob, Undelivered } from '../engine/work.ts'

/** What a sink is given besides the jobs. */
export interface Delivery<Tx> {
  /**
   * The transaction that removes the jobs. A queue in the same database takes them in it, and then
   * they are handed over exactly once.
   */
  readonly tx: Tx
  /** Runs `work` so that its failure undoes what it did on the `tx` it is given, and nothing else. */
  within<T>(work: (tx: Tx) => Promise<T>): Promise<T>
  /**
   * Executes statements on a `tx` of this delivery where that is one of an ORM.
   *
   * @default the transactions are those of pg, postgres.js or PGlite, which take statements themselves
   */
  execute?(tx: Tx): Execute
  /**
   * Aborted when the time is up. A sink that gives back what it has not taken by then, as
   * `isSinkDown`, is not handed again what it has.
   */
  readonly signal: AbortSignal
}

/**
 * A queue, or whatever takes jobs over. Every job comes at least once, always with the same id, and
 * only after the transaction that staged it has committed.
 */
export interface Sink<Tx = unknown> {
  /** Short name for errors and metrics. */
  readonly name: string
  /**
   * Takes jobs over, in their order. Gives back those that it could not take: each is tried again
   * later, and set aside when it was tried too often. To throw says that the sink itself is down:
   * no job is to blame, and none is counted as tried.
   */
  deliver(
    jobs: readonly StagedJob[],
    delivery: Delivery<Tx>,
  ): Promise<readonly Undelivered[] | undefined>
  /** Ends what the sink itself opened, after the last delivery. `close()` of the engine calls it. */
  close?(): Promise<void>
}
