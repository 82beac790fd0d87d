/**
 * The port for work that goes on after a request: phases, staged jobs, dead letters. A store has it
 * if it can commit the app's rows, and everything here commits in the same database.
 *
 * As in `store.ts`, durations go in and never instants, every verb is atomic, and a write under a
 * lost claim is refused and changes nothing.
 *
 * @module
 */

import type { Origin, RecordIdentity } from '../core/record.ts'
import type { CountStore } from './counts.ts'
import type { HistoryEntry, LetterStore } from './letters.ts'
import type { Advance, Claim, Finish } from './store.ts'
import type { Isolation, TransactionFault } from './transactions.ts'

/** Who works on a record. */
export type Actor = 'request' | 'completer'

/** One try at a phase, for the history of the record. */
export interface Attempt {
  /** The recovery point that the phase starts from. */
  readonly point: string
  readonly actor: Actor
  /** How long ago it began, in milliseconds. */
  readonly tookMs: number
  /** Derived key of the foreign call, if the phase is one. */
  readonly callKey: string | null
}

/** Work to be handed to a queue after the commit. */
export interface NewJob {
  readonly name: string
  /** As JSON text. */
  readonly args: string
  /** Not before this instant, in milliseconds since 1970; `null` for at once. */
  readonly runAt: number | null
  /** At most one job of this name and key waits at a time, and all of them have the same id. */
  readonly dedupeKey: string | null
}

/** An open transaction in which a phase does its work. Its end checks the fence. */
export interface OpenPhase<Tx> {
  /** What the phase runs its own statements on. */
  readonly tx: Tx
  /** Stages a job in the transaction; gives its id. */
  stage(job: NewJob): Promise<string>
  /**
   * Ends the app's access to the transaction: the phase has answered or thrown, or took too long, and
   * whatever of it still runs may no longer reach `tx`. Called before the transaction is ended.
   */
  close(): void
  /** Moves the recovery point and commits. Throws, with nothing done, if the claim was lost. */
  advance(step: Advance, attempt: Attempt): Promise<void>
  /** Stores the answer and commits. Throws, with nothing done, if the claim was lost. */
  finish(finish: Finish, attempt: Attempt): Promise<void>
  /**
   * Whether it is committed, so that nobody can undo it; `undefined` while it is open, and where that
   * can not be asked. Never throws.
   */
  isCommitted(): Promise<boolean | undefined>
  /** Undoes everything. Never throws. */
  rollback(): Promise<void>
  /**
   * Gives the connection up at once, whatever is under way on it: a statement that hangs would keep it
   * from everybody else. Called when `rollback` has not come to its end in time. Absent where the store
   * has no way to do so. Never throws.
   */
  destroy?(): void
}

/** Why a phase did not get further. */
export interface Stop {
  readonly ending: 'threw' | 'retry_later' | 'denied'
  /** What went wrong, in words; `null` when nothing was said. */
  readonly error: string | null
}

/**
 * A foreign call that may have taken effect, or may yet: `open`, nothing was heard of it; `denied`, the
 * provider did not know of it when it was asked.
 */
export type BegunCall = 'open' | 'denied'

/** An operation as one node has it: other nodes may have other versions of it. */
export interface Edition {
  /** Its name. */
  readonly operation: string
  /** Its version and a digest of its phases, without a comma. */
  readonly version: string
  /**
   * How long a record that this version does not understand is left to others, in milliseconds from
   * when only versions that do not understand it have met it.
   */
  readonly otherVersionMs: number
}

/** Why a version leaves a record to others. */
export interface Leaving extends Edition {
  /** What it does not understand, in words. */
  readonly error: string
}

/**
 * What became of a record that a version wants to leave to others: `left`, the lease is given up;
 * `over`, no other version came in time, and nothing was done; `lost`, the claim was lost.
 */
export type Left = 'left' | 'over' | 'lost'

/** An unfinished record, taken by a worker. */
export interface TakenRecord extends RecordIdentity {
  readonly claim: Claim
  readonly fingerprint: string
  readonly recoveryPoint: string | null
  readonly state: Uint8Array | null
  readonly input: Uint8Array | null
  readonly origin: Origin
  /** How often workers have taken it, this time included. */
  readonly tries: number
}

/** Which record a worker takes. */
export interface TakeRequest {
  readonly owner: string
  readonly leaseMs: number
  /** The record is kept at least this long from now, in milliseconds. */
  readonly retentionMs: number
}

/** How long a worker leaves an unfinished record alone. */
export interface Patience {
  /** From its making, in milliseconds. */
  readonly graceMs: number
  /** From the last try, in milliseconds; doubles with each try of a worker. */
  readonly retryMs: number
  /** The longest of these, in milliseconds. */
  readonly retryMsMax: number
}

/** How the transaction of a phase is opened. */
export interface PhaseOpening {
  readonly isolation: Isolation
  /** The database ends the transaction when this side is silent for so long, in milliseconds. */
  readonly leaseMs: number
  /** The database ends a statement that takes longer, in milliseconds, where it can. */
  readonly statementMs: number
}

/** Phases, and the completer that drives them on. */
export interface PhaseStore<Tx> {
  /** Opens the transaction of a phase; `undefined`, with nothing open, if the claim was lost. */
  begin(claim: Claim, opening: PhaseOpening): Promise<OpenPhase<Tx> | undefined>
  /**
   * Notes that a foreign call is about to be made, and where `deniesEarlier`, that the provider knows
   * nothing of those of earlier runs. `false`, without a call noted, if the claim was lost.
   */
  beginCall(
    claim: Claim,
    attempt: Attempt,
    earlier: { readonly deniesEarlier: boolean },
  ): Promise<boolean>
  /** What is known of the calls that were begun under this key; `undefined` if nothing is open. */
  begunCall(id: string, callKey: string): Promise<BegunCall | undefined>
  /** Gives the lease up and notes why. `false`, writing nothing, if the claim was lost. */
  stop(claim: Claim, attempt: Attempt, stop: Stop): Promise<boolean>
  /**
   * Leaves the record to nodes with other versions of the operation: gives the lease up, and counts no
   * try. {@link takeUnfinished} gives it to this version again when nobody else took it up in time.
   */
  leave(claim: Claim, attempt: Attempt, leaving: Leaving): Promise<Left>
  /** Takes one unfinished record of the operation whose time has come. */
  takeUnfinished(
    edition: Edition,
    request: TakeRequest,
    patience: Patience,
  ): Promise<TakenRecord | undefined>
  /** What an error on the way to a commit means. */
  classify(error: unknown): TransactionFault
}

/** A staged job on its way to a sink. */
export interface StagedJob {
  /** The same whenever the job is handed over: a UUID. */
  readonly id: string
  readonly name: string
  /** What was staged, parsed. */
  readonly args: unknown
  /** Which try this is, from 1. */
  readonly attempt: number
  /** When it was staged, in milliseconds since 1970. */
  readonly stagedAt: number
}

/** A job that could not be handed over. */
export interface Undelivered {
  readonly id: string
  /** What went wrong, in words. */
  readonly error: string
  /**
   * Whether it was never tried, or the sink is to blame and not the job: then no try is counted, and
   * the job stays in its place.
   *
   * @default false
   */
  readonly isSinkDown?: boolean
}

/** What a statement answered. */
export interface StatementResult {
  readonly rows: readonly Readonly<Record<string, unknown>>[]
}

/** Executes one statement; `$1`, `$2` … in the text stand for the values. */
export type Execute = (text: string, values: readonly unknown[]) => Promise<StatementResult>

/** A batch of jobs, locked until it is settled. */
export interface JobBatch<Tx> {
  readonly jobs: readonly StagedJob[]
  /** The transaction that also removes the jobs, for sinks in the same database. */
  readonly tx: Tx
  /** Runs `work` so that its failure undoes what it did on the `tx` it is given, and nothing else. */
  within<T>(work: (tx: Tx) => Promise<T>): Promise<T>
  /**
   * Executes statements on the transaction of an ORM, of which a sink knows nothing else. Absent
   * where transactions are those of the driver.
   */
  execute?(tx: Tx): Execute
  /** Removes the delivered jobs, puts the others back, and commits. */
  settle(undelivered: readonly Undelivered[]): Promise<void>
  /** Leaves all of them where they are. Never throws. */
  rollback(): Promise<void>
}

/** When a job that failed is tried again, and when no more. */
export interface JobPatience {
  /** First pause, in milliseconds; doubles. */
  readonly retryMs: number
  readonly retryMsMax: number
  /** After this many tries it is set aside. */
  readonly attemptsMax: number
}

/** Which jobs are taken. */
export interface TakeJobs {
  readonly limit: number
  /** In milliseconds. */
  readonly silentMsMax: number
}

/** Staged jobs. */
export interface JobStore<Tx> {
  /**
   * Locks up to `limit` jobs that are due, oldest first, that nobody else has locked. The database
   * lets them go when this side is silent for `silentMsMax`.
   */
  take(request: TakeJobs, patience: JobPatience): Promise<JobBatch<Tx> | undefined>
  /** In how many milliseconds the next job that nobody has locked is due; `undefined` for none. */
  nextDueMs(): Promise<number | undefined>
  /** Calls `wake` when a job may have been staged. Best effort. */
  watch(wake: () => void): Promise<() => void>
}

/** What a worker says of a run. */
export interface Beat {
  readonly worker: string
  /** Which process. */
  readonly node: string
  /** How long the run took, in milliseconds. */
  readonly tookMs: number
  /** How many things it did. */
  readonly done: number
  readonly error: string | null
  /**
   * Its interval, in milliseconds.
   *
   * @default not said
   */
  readonly everyMs?: number
}

/** A worker as an operator sees it. */
export interface WorkerStatus extends Beat {
  /** How long ago it last ran, in milliseconds. */
  readonly agoMs: number
}

/** What it takes to drive work to its end. */
export interface Work<Tx> {
  readonly phases: PhaseStore<Tx>
  readonly jobs: JobStore<Tx>
  readonly letters: LetterStore
  readonly counts: CountStore
  /** Everything that was tried on a record, oldest first. */
  history(id: string): Promise<readonly HistoryEntry[]>
  /**
   * Removes history that no record has any more, and workers that have not run for 30 days; answers
   * how many entries of history.
   */
  sweepHistory(limit: number): Promise<number>
  /** Records that a worker ran. */
  beat(beat: Beat): Promise<void>
  /** The workers that have run, by name and node. */
  workers(): Promise<readonly WorkerStatus[]>
}
