/**
 * The app's own rows and the record, committed together.
 *
 * SQLite has one writer, so the write lock is what reserves the key: it is taken first, the record
 * is looked up under it, and nobody else can store one before it is given back. That alone would let
 * a duplicate wait for the lock, so identities whose transaction is open are also known here.
 *
 * @module
 */

import { decide, isFresh } from '../../core/decide.ts'
import { invalid } from '../../core/options.ts'
import { STARTED } from '../../core/record.ts'
import type { Grant } from '../../core/transition.ts'
import type { Refusal } from '../../engine/store.ts'
import {
  type CheckTransactionRoute,
  checkTransactionRoute,
  type Transact,
  transact,
} from '../../engine/transact.ts'
import type {
  OpenTransaction,
  TransactionFault,
  TransactionRequest,
  Transactions,
} from '../../engine/transactions.ts'
import { refused } from '../answer.ts'
import { type Bracket, savepointOn, transactionOn } from './bracket.ts'
import { secure } from './check.ts'
import { isContention, isDuplicate, type SqliteDatabase } from './client.ts'
import { Connection, type Reservation } from './connection.ts'
import { checkUsable, realHandle } from './guarded-handle.ts'
import { OpenSqliteTransaction } from './open-transaction.ts'
import type { SqliteSettings } from './options.ts'
import { Patience } from './patience.ts'
import type { Queries } from './queries.ts'
import type { Sight, Table } from './table.ts'

/** How a transaction is held, and how what was taken for it is given back. */
interface Hold {
  readonly bracket: Bracket
  leave(): void
}

/** See the module's comment. */
export class SqliteTransactions<Tx extends SqliteDatabase> implements Transactions<Tx> {
  readonly run: Transact = transact
  readonly check: CheckTransactionRoute = checkTransactionRoute
  readonly #database: Tx
  readonly #settings: SqliteSettings
  readonly #queries: Queries
  readonly #home: Connection
  readonly #secured = new WeakSet<SqliteDatabase>()

  constructor(database: Tx, { settings, queries }: { settings: SqliteSettings; queries: Queries }) {
    this.#database = realHandle(database)
    this.#settings = settings
    this.#queries = queries
    this.#home = Connection.of(database)
  }

  async begin(request: TransactionRequest<Tx>): Promise<OpenTransaction<Tx> | Refusal> {
    const patience = new Patience(this.#settings)
    const { reservations } = this.#home
    const name = this.#nameOf(request)

    // One that is about to open is waited for: what stands for the identity is not known before.
    for (let other = reservations.get(name); other; other = reservations.get(name)) {
      const reservation = await other
      if (reservation !== undefined) return this.#refusedBy(reservation, request)
    }

    const begun = request.join === undefined ? this.#own(request, patience) : this.#join(request)
    const since = this.#settings.clock.now()
    const giveUp = () => void reservations.delete(name)
    reservations.set(
      name,
      begun.then(
        (result) => ('tx' in result ? { fingerprint: request.fingerprint, since } : giveUp()),
        giveUp,
      ),
    )
    return begun
  }

  classify(error: unknown): TransactionFault {
    if (isContention(error)) return 'retry'
    return isDuplicate(error, this.#queries.recordsTable) ? 'lost' : 'other'
  }

  /** In a transaction of its own, for which it waits its turn. */
  async #own(
    request: TransactionRequest<Tx>,
    patience: Patience,
  ): Promise<OpenTransaction<Tx> | Refusal> {
    const on = request.connection ?? this.#database
    checkUsable(on)
    const connection = Connection.of(on)
    if (request.connection !== undefined) await this.#secure(connection, patience)

    // Most that are refused are replays: they need no write lock.
    const seen = connection.peek(() => connection.table(this.#queries).look(request.id))
    const verdict = seen && judge(request, seen)
    if (verdict && !('grant' in verdict)) return verdict

    await connection.turns.take(patience)
    const leave = () => connection.turns.give()
    return this.#open({ bracket: transactionOn(connection), leave }, { request, on, patience })
  }

  /** In the user's transaction, which is theirs to end. */
  async #join(request: TransactionRequest<Tx>): Promise<OpenTransaction<Tx> | Refusal> {
    const on = request.join ?? this.#database
    checkUsable(on)
    const connection = Connection.of(on)
    if (!connection.isInTransaction) throw invalid('join must be a handle in a transaction')

    const lock = () => connection.table(this.#queries).lock()
    const hold = { bracket: savepointOn(connection, lock), leave: () => {} }
    return this.#open(hold, { request, on, patience: new Patience(this.#settings) })
  }

  async #open(
    { bracket, leave }: Hold,
    { request, on, patience }: { request: TransactionRequest<Tx>; on: Tx; patience: Patience },
  ): Promise<OpenTransaction<Tx> | Refusal> {
    try {
      await patience.attempt(() => bracket.open())
      const table = Connection.of(on).table(this.#queries)
      const sight = table.look(request.id)
      const verdict = withinQuota(judge(request, sight), request, table)
      if ('grant' in verdict) {
        return new OpenSqliteTransaction({
          ...{ ...verdict, on, request, sight, bracket, table },
          patience: () => new Patience(this.#settings),
          ended: () => this.#ended(request, leave),
        })
      }
      bracket.undo()
      leave()
      return verdict
    } catch (error) {
      bracket.undo()
      leave()
      throw error
    }
  }

  #ended(request: TransactionRequest<Tx>, leave: () => void): void {
    this.#home.reservations.delete(this.#nameOf(request))
    leave()
    this.#home.watchers.wake(request.id)
  }

  #refusedBy({ fingerprint, since }: Reservation, request: TransactionRequest<Tx>): Refusal {
    if (!request.fingerprintsAccepted.includes(fingerprint)) return { outcome: 'mismatch' }
    const ageMs = this.#settings.clock.now() - since
    return { outcome: 'in_progress', leaseLeftMs: null, ageMs }
  }

  async #secure(connection: Connection, patience: Patience): Promise<void> {
    if (this.#secured.has(connection.database)) return
    await secure(connection, this.#settings, patience)
    this.#secured.add(connection.database)
  }

  #nameOf({ id }: TransactionRequest<Tx>): string {
    return `${this.#queries.prefix} ${id}`
  }
}

/** A transaction that may open. */
interface Opens {
  readonly outcome: 'execute' | 'recover'
  readonly grant: Grant
}

/** The verdict as it is, or that a fresh record would be one too many. */
function withinQuota<Tx>(
  verdict: Opens | Refusal,
  { caller, quota }: TransactionRequest<Tx>,
  table: Table,
): Opens | Refusal {
  if (quota === undefined || !('grant' in verdict)) return verdict
  return (isFresh(verdict.grant) && table.overQuota(caller, quota)) || verdict
}

/** What the record allows: a transaction either executes, or recovers, or is refused. */
function judge<Tx>(request: TransactionRequest<Tx>, { record, now }: Sight): Opens | Refusal {
  const claimant = { ...request, fingerprints: request.fingerprintsAccepted }
  const grant = decide(record, claimant, now)
  if (!('fence' in grant)) return refused(grant.kind, record, now)
  if (grant.kind !== 'resume') return { outcome: grant.kind, grant }
  if (record?.recoveryPoint === STARTED) return { outcome: 'execute', grant }
  // Phases got half way. A transaction can not go on from there, only find out what took effect.
  return request.takesUnknown ? { outcome: 'recover', grant } : { outcome: 'unknown' }
}
