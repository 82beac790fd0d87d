import { TRANSACTION_OVER } from '../../core/error-table.ts'
import { isRepriseError, RepriseError } from '../../core/errors.ts'
import type { KeyRecord } from '../../core/record.ts'
import { claimed, finished, type Grant } from '../../core/transition.ts'
import type { Finish } from '../../engine/store.ts'
import { TransactionAccess } from '../../engine/transaction-access.ts'
import type { OpenTransaction, TransactionRequest } from '../../engine/transactions.ts'
import type { Bracket } from './bracket.ts'
import type { SqliteDatabase } from './client.ts'
import { checkUsable, type GuardedHandle, guardHandle, realHandle } from './guarded-handle.ts'
import type { Patience } from './patience.ts'
import type { Sight, Table } from './table.ts'

const ENDED_WITHIN =
  'The transaction was ended from within, by a statement of the handler or by an error.'

/** What a transaction that is open was opened with. */
export interface Opening<Tx> {
  /** The handle, or the `tx` of another transaction that this one joins. */
  readonly on: Tx
  readonly outcome: 'execute' | 'recover'
  readonly grant: Grant
  readonly request: TransactionRequest<Tx>
  /** What stood for the identity when the transaction was opened. */
  readonly sight: Sight
  readonly bracket: Bracket
  readonly table: Table
  patience(): Patience
  /** Called once, when the transaction has ended either way. */
  ended(): void
}

/** A transaction that is open, until it is committed or rolled back, whichever is asked first. */
export class OpenSqliteTransaction<Tx extends SqliteDatabase> implements OpenTransaction<Tx> {
  readonly outcome: 'execute' | 'recover'
  readonly tx: Tx
  readonly #opening: Opening<Tx>
  readonly #access = new TransactionAccess()
  readonly #guarded: GuardedHandle<Tx>
  #end: Promise<void> | undefined

  constructor(opening: Opening<Tx>) {
    this.outcome = opening.outcome
    this.#opening = opening
    this.#guarded = guardHandle(realHandle(opening.on), () => this.#check())
    this.tx = this.#guarded.tx
  }

  close(): void {
    if (this.#access.isEnded) return
    this.#access.end()
    this.#guarded.endIterators()
  }

  async commit(finish: Finish): Promise<void> {
    if (this.#end !== undefined) throw new Error('The transaction has ended.')
    this.close()
    this.#end = this.#commit(finish)
    await this.#end
  }

  async rollback(): Promise<void> {
    this.close()
    this.#end ??= this.#rollback()
    // A commit that is under way is left to end: if it fails, everything is undone too.
    await this.#end.catch(() => {})
  }

  /** Nothing to do: the lock is held by this process, and goes with it. */
  async keepAlive(): Promise<void> {}

  /** Checks that what the handler does now is part of the transaction. */
  #check(): void {
    const { on, bracket } = this.#opening
    this.#access.check()
    checkUsable(on)
    // A statement would commit on its own, or in a transaction that the record does not go with.
    if (!bracket.isOpen) throw new RepriseError(TRANSACTION_OVER, ENDED_WITHIN)
  }

  async #commit(finish: Finish): Promise<void> {
    const { bracket, ended } = this.#opening
    const patience = this.#opening.patience()
    try {
      await patience.attempt(() => this.#store(finish))
      await patience.attempt(() => bracket.keep())
    } catch (error) {
      bracket.undo()
      // SQLite's own error says that it is worth running the handler again.
      throw isRepriseError(error) ? error.cause : error
    } finally {
      ended()
    }
  }

  #store(finish: Finish): void {
    const { bracket, table, sight, request } = this.#opening
    // Outside of the transaction the answer would be stored without the effects.
    if (!bracket.isOpen) throw new Error(ENDED_WITHIN)
    const { now } = table.look(request.id)
    const record = finished(this.#claimed(), finish, now)
    bracket.write(() => {
      // Under the write lock nobody can have added one; if that ever fails, it shows.
      if (sight.record === undefined) table.insert(record)
      else table.put(record)
      table.count(record.id, request.quota)
    })
  }

  #claimed(): KeyRecord {
    const { request, sight, grant } = this.#opening
    const fresh = { ...request, retentionMs: 0, recoveryPoint: null, input: null }
    return claimed(sight.record, { fresh, grant, now: sight.now })
  }

  async #rollback(): Promise<void> {
    this.#opening.bracket.undo()
    this.#opening.ended()
  }
}
