/**
 * What a store's own test hands to the contract.
 *
 * @module
 */

import type { Store } from '../engine/store.ts'

/** A store under test. It may be fresh for each check or shared by all that run one after another. */
export interface StoreHarness<Tx = unknown> {
  readonly store: Store<Tx>
  /** The same data through another store instance, as another process would. */
  readonly peer: Store<Tx>
  /**
   * Whether a change made through `store` wakes who watches through `peer`. `false` where processes
   * notice each other by polling only.
   *
   * @default true
   */
  readonly wakesPeer?: boolean
  /**
   * Whether a listing gives each record once. `false` where the order of a walk may change under it, as
   * with `SCAN` of Redis: a record that exists throughout then comes at least once.
   *
   * @default true
   */
  readonly listsOnce?: boolean
  /**
   * How long a watcher may sleep on after a change before the check fails, in milliseconds.
   *
   * @default 10000
   */
  readonly wakesWithinMs?: number
  /**
   * Lets the store's clock go on by `ms` milliseconds, for all records or for those given. A store
   * whose clock can not be set shifts the stored instants back instead, so that real time also
   * passes a little.
   */
  readonly advance: (ms: number, ids?: readonly string[]) => Promise<void>
}

/** One check of the contract. It throws when the store breaks it. */
export interface StoreCheck {
  /** The behaviour, as a statement. */
  readonly name: string
  check(harness: StoreHarness): Promise<void>
}

/** A store with transactions under test, and an effect of the app's own to commit with them. */
export interface TransactionHarness<Tx = unknown> extends StoreHarness<Tx> {
  /** Whether verbs and transactions go on beside an open one; `false` with a single connection. */
  readonly concurrentTransactions: boolean
  /** Adds one row of the app's own inside the transaction. */
  addEffect(tx: Tx): Promise<void>
  /** How many such rows are committed. */
  readonly countEffects: () => Promise<number>
  /**
   * Runs a statement that the database refuses and swallows the error, as a careless handler does.
   * Absent where a transaction goes on after a statement that failed.
   */
  failStatement?(tx: Tx): Promise<void>
  /**
   * Holds everything that goes to the database, and everything that comes back, for `ms` milliseconds
   * from now on; 0 for not at all. Absent where nothing lies between the process and the database.
   */
  readonly delay?: (ms: number) => void
  /**
   * Other ways to the database that a handler may keep from its handle: members and what hangs on them,
   * prepared statements, cursors, nested transactions. Called while the transaction is open; what it
   * gives is called when the app's access has ended. Absent where `addEffect` is the only way.
   */
  keepWays?(tx: Tx): Promise<readonly KeptWay[]>
  /**
   * Begins a nested transaction or a savepoint on the handle, adds one row of the app's own in it, and
   * resolves with the nested part still open. Absent where the library has no such thing.
   */
  leaveNested?(tx: Tx): Promise<void>
  /**
   * Runs `work` in a transaction that the app itself begins, for checks that join one, and commits it.
   * Absent where none can be joined.
   */
  readonly inOwnTransaction?: (work: (tx: Tx) => Promise<void>) => Promise<void>
}

/** A way to the database that a handler has kept; see {@link TransactionHarness.keepWays}. */
export interface KeptWay {
  /** What was kept, in a word or two. */
  readonly name: string
  /** Tries to add one row of the app's own; rejects where that is refused. */
  addEffect(): Promise<unknown>
}

/** One check of the transaction contract. */
export interface TransactionCheck {
  /** The behaviour, as a statement. */
  readonly name: string
  check(harness: TransactionHarness): Promise<void>
}
