/**
 * The capability of a store to commit the app's rows and the record together.
 *
 * @module
 */

import type { Quota } from '../core/quota.ts'
import type { Origin, RecordIdentity } from '../core/record.ts'
import type { Finish, Refusal } from './store.ts'
import type { CheckTransactionRoute, Transact } from './transact.ts'
import type { NewJob } from './work.ts'

/** How the transaction is to be opened. */
export interface TransactionRequest<Tx> extends RecordIdentity {
  readonly fingerprint: string
  readonly fingerprintsAccepted: readonly string[]
  readonly owner: string
  readonly takesUnknown: boolean
  /**
   * How long a process that froze or lost its network may keep the key occupied, in milliseconds;
   * kept alive from this side while the handler runs.
   */
  readonly leaseMs: number
  readonly origin: Origin
  /** As in a claim; the record counts from its commit. */
  readonly quota?: Quota | undefined
  readonly isolation?: Isolation | undefined
  /** A transaction of the user's to join: nothing is begun or committed, the user does both. */
  readonly join?: Tx | undefined
  /** A connection of the user's to begin and commit on, instead of one from the store's client. */
  readonly connection?: Tx | undefined
  /** Whether the claim may be held back; a store that can not do so claims first. */
  readonly claim?: ClaimTime | undefined
}

/** When the key is claimed: before the handler runs, or together with its first statement. */
export type ClaimTime = 'first' | 'with-first-statement'

/** How far a transaction is kept apart from others. */
export type Isolation = 'read committed' | 'repeatable read' | 'serializable'

/**
 * The transaction is open and the key is the caller's until it ends; or it is about to be both, with
 * the first statement.
 */
export interface OpenTransaction<Tx> {
  /** `execute` as well while the claim is held back: nobody has looked yet. */
  readonly outcome: 'execute' | 'recover'
  /** What the handler runs its own statements on. */
  readonly tx: Tx
  /** The claim, where it is held back until the first statement. */
  readonly held?: HeldClaim | undefined
  /**
   * Ends the app's access to the transaction: the handler has answered or thrown, and whatever of it
   * still runs may no longer reach `tx`. Called before `commit` and `rollback`, which wait for the
   * statements that were under way.
   */
  close(): void
  /**
   * Writes the finished record and commits, in one flight. Resolves only when the commit is
   * certain; see {@link Transactions.classify} for what it throws.
   */
  commit(finish: Finish): Promise<void>
  /** Stages a job in the transaction; gives its id. Absent where the store keeps no jobs. */
  stage?(job: NewJob): Promise<string>
  /** Undoes everything since the start, whatever state the transaction is in. Never throws. */
  rollback(): Promise<void>
  /**
   * Gives the connection up at once, whatever is under way on it: a statement that hangs would keep it
   * from everybody else. Called when `rollback` has not come to its end in time. Absent where the store
   * has no way to do so. Never throws.
   */
  destroy?(): void
  /** Tells the database that this side is alive; called every third of the lease. Never throws. */
  keepAlive(): Promise<void>
}

/**
 * A claim that goes with the first statement on `tx`. If it is refused, that statement is not
 * executed; it and everything after it on the same `tx` rejects with `DuplicateRequest`.
 */
export interface HeldClaim {
  /** Whether it was granted; `undefined` while nobody knows. */
  readonly isGranted: boolean | undefined
  /** Has `listener` told once it is granted, and never otherwise. There is one listener. */
  whenGranted(listener: () => void): void
  /** Has `listener` told once the first statement was refused, and never otherwise. There is one. */
  whenRefused(listener: () => void): void
  /**
   * Claims, unless the first statement has; whether it was granted.
   *
   * @throws RepriseError when the store can not be asked
   */
  claim(): Promise<boolean>
  /** Refuses by itself, without asking anybody: the handler runs as that of a duplicate would. */
  rehearse(): void
}

/**
 * What an error thrown on the way to a commit means:
 * - `retry`: serialization failure or deadlock; rolled back, run it all again.
 * - `lost`: another run stored the record first; rolled back, ask again.
 * - `disconnected`: the connection broke; if it was during the commit, nobody knows, ask again.
 * - `other`: none of these.
 */
export type TransactionFault = 'retry' | 'lost' | 'disconnected' | 'other'

/** The capability to commit the app's rows and the record together. */
export interface Transactions<Tx> {
  /**
   * Opens a transaction in which the key is reserved, or reports what stands in the way and leaves
   * no transaction open. A duplicate is refused at once; it never waits on a connection. A run that
   * stopped at `started` did nothing: it executes. Further on nobody can say what took effect.
   */
  begin(request: TransactionRequest<Tx>): Promise<OpenTransaction<Tx> | Refusal>
  classify(error: unknown): TransactionFault
  /** Always `transact` of `engine/transact.ts`: brought by the stores that can use it. */
  readonly run: Transact
  /** Always `checkTransactionRoute` of `engine/transact.ts`, for the same reason. */
  readonly check: CheckTransactionRoute
}
