/**
 * Transactions of libraries that open them around a callback: the callback waits, parked, until the
 * store commits or rolls back.
 *
 * ```
 *   the handler has answered: its access ends
 *     ▼ what it had sent is answered
 *   the record's statement, which also gives the transaction's number
 *     ▼ the callback resolves
 *   the library's COMMIT
 *     ▼ the library's promise resolves, or rejects
 *   pg_xact_status of the number, on another connection: committed, or not
 * ```
 *
 * The library's promise alone says nothing. PostgreSQL answers the COMMIT of a transaction in which a
 * statement has failed with ROLLBACK, and libraries do not look; and after a connection has broken
 * nobody knows.
 *
 * @module
 */

import { TransactionAccess } from '../../../engine/transaction-access.ts'
import { type AppAccess, HandleAccess, leftOpen } from '../access/app-access.ts'
import type { Call, Rows, Session } from '../client.ts'
import { ConnectionLost, isAnswered } from '../faults.ts'
import { numbered, transactionNumber, transactionStatus } from '../queries.ts'

/** Opens a transaction around a callback: commits when that resolves, rolls back when it rejects. */
export type Run<Tx> = (callback: (tx: Tx) => Promise<void>) => PromiseLike<unknown>

/** How statements are executed in such a transaction. */
export interface ParkedWire<Tx> {
  /** Whether a statement that is sent before the callback resolves is executed before the commit. */
  readonly isOrdered: boolean
  send(tx: Tx, call: Call): Promise<Rows>
  script(tx: Tx, text: string): Promise<unknown>
  /** Runs `work` so that its failure undoes what it did, and nothing else. */
  nested<T>(tx: Tx, work: (inner: Tx) => Promise<T>): Promise<T>
  /** Makes what the app's code is given in the place of `tx`: it asks `access` before each statement. */
  guard(tx: Tx, access: AppAccess): Tx
}

/** How a transaction is begun. */
export interface ParkedOpening {
  readonly first: Call
  /** Executes a statement on another connection. Absent where the transaction is not ours to commit. */
  readonly ask?: ((call: Call) => Promise<Rows>) | undefined
}

/** Opens a transaction and parks its callback. */
export async function park<Tx>(
  run: Run<Tx>,
  wire: ParkedWire<Tx>,
  { first, ask }: ParkedOpening,
): Promise<Session<Tx>> {
  const session = await new Promise<ParkedSession<Tx>>((resolve, reject) => {
    let isCalled = false
    const ended = Promise.resolve(
      run(
        (tx) =>
          new Promise<void>((commit, rollback) => {
            if (isCalled) return rollback(new Error('A transaction can not be run again.'))
            isCalled = true
            // The library may call back before it has returned.
            queueMicrotask(() => {
              resolve(new ParkedSession({ tx, wire, ask, ended, commit, rollback }))
            })
          }),
      ),
    )
    ended.catch(reject)
  })
  try {
    session.rows = await session.query(first)
    return session
  } catch (error) {
    await session.rollback()
    throw error
  }
}

interface Parts<Tx> extends Omit<ParkedOpening, 'first'> {
  readonly tx: Tx
  readonly wire: ParkedWire<Tx>
  /** Settles when the library has ended the transaction, also when the connection broke. */
  readonly ended: Promise<unknown>
  commit(): void
  rollback(reason: Error): void
}

class ParkedSession<Tx> implements Session<Tx> {
  readonly handle: Tx
  rows: Rows = []
  readonly #parts: Parts<Tx>
  readonly #access = new HandleAccess()
  /** Statements of the store's own: the library need not keep their order either. */
  readonly #own = new TransactionAccess()
  #isOpen = true
  #isUndone = false
  #fault: Error | undefined

  constructor(parts: Parts<Tx>) {
    this.#parts = parts
    // Ended though parked: the connection is gone, or the user has ended it. The callback stays
    // parked for good, because the library would send its rollback to whatever connection comes next.
    const fail = (error: Error) => {
      if (!this.#isOpen) return
      this.#fault = error
      this.#access.fail(error)
    }
    parts.ended.then(() => fail(new Error('The transaction was ended from within.')), fail)
    this.handle = parts.wire.guard(parts.tx, this.#access)
  }

  async query(call: Call): Promise<Rows> {
    if (this.#fault !== undefined) throw this.#fault
    return this.#own.send(() => this.#parts.wire.send(this.#parts.tx, call))
  }

  async script(text: string): Promise<void> {
    if (this.#fault !== undefined) throw this.#fault
    await this.#own.send(() => this.#parts.wire.script(this.#parts.tx, text))
  }

  /** Each part has a handle of its own, which is over with the part. */
  async nested<T>(work: (handle: Tx) => Promise<T>): Promise<T> {
    if (this.#fault !== undefined) throw this.#fault
    const { wire, tx } = this.#parts
    const access = new HandleAccess()
    return this.#own.send(() =>
      wire.nested(tx, async (inner) => {
        const [result] = await Promise.allSettled([work(wire.guard(inner, access))])
        access.end()
        await access.idle()
        if (result.status === 'rejected') throw result.reason
        if (access.isNested) throw leftOpen()
        return result.value
      }),
    )
  }

  close(): void {
    this.#access.end()
  }

  async commit(last: Call): Promise<Rows> {
    const { wire, ask } = this.#parts
    await this.#settle()
    if (this.#fault !== undefined) throw this.#fault
    if (!this.#isOpen || this.#isUndone) throw new Error('The transaction is over.')
    if (this.#access.isNested) {
      await this.rollback()
      throw leftOpen()
    }
    const [number, stored] = this.#store(last)
    // What fails where the order is not kept is undone before anybody could commit.
    if (!wire.isOrdered) await stored.catch(() => this.rollback())
    this.#isOpen = false
    this.#parts.commit()
    // If the statement fails, the commit behind it rolls back; so both have to succeed.
    const [result, ended] = await Promise.allSettled([stored, this.#parts.ended])
    if (result.status === 'rejected') throw result.reason
    const error: Error | undefined = ended.status === 'rejected' ? ended.reason : undefined
    // The server has said what failed, as a constraint that is checked at the end.
    if (error !== undefined && (ask === undefined || isAnswered(error))) throw error
    if (ask !== undefined) await this.#confirm(ask, await number, error)
    return result.value
  }

  /**
   * Sends the last statement; gives the number of its transaction too, which is `undefined` where the
   * statement stored no row: by that the caller tells that the app's code has ended the transaction.
   */
  #store(last: Call): readonly [Promise<unknown>, Promise<Rows>] {
    if (this.#parts.ask === undefined) return [Promise.resolve(), this.query(last)]
    if (last.statement.isTextual !== true) {
      const number = this.query({ statement: transactionNumber, values: [] }).then(
        (rows) => rows[0]?.[0],
      )
      number.catch(() => {})
      return [number, this.query(last)]
    }
    const stored = this.query({ statement: numbered(last.statement), values: last.values })
    const number = stored.then((rows) => rows[0]?.at(-1))
    number.catch(() => {})
    return [number, stored.then((rows) => rows.map((row) => row.slice(0, -1)))]
  }

  /** Rejects unless PostgreSQL says that the transaction is committed, whatever the library says. */
  async #confirm(
    ask: NonNullable<ParkedOpening['ask']>,
    number: unknown,
    error: Error | undefined,
  ): Promise<void> {
    if (typeof number !== 'string') {
      if (error !== undefined) throw error
      return
    }
    const answer = ask({ statement: transactionStatus, values: [number] })
    const [[status] = []] = await answer.catch((cause: unknown) => {
      throw new ConnectionLost(error ?? cause)
    })
    if (status === 'committed') return
    if (error !== undefined || status !== 'aborted') throw new ConnectionLost(error)
    throw new Error('PostgreSQL answered COMMIT with ROLLBACK: a statement had failed before it.')
  }

  async rollback(): Promise<void> {
    if (!this.#isOpen || this.#fault !== undefined) return
    this.#isUndone = true
    await this.#settle()
    if (!this.#isOpen || this.#fault !== undefined) return
    this.#isOpen = false
    this.#parts.rollback(new Error('Rolled back.'))
    await this.#parts.ended.catch(() => {})
  }

  /** Ends access. Resolves when what was sent is answered, or the library has ended the transaction. */
  async #settle(): Promise<void> {
    this.close()
    if (this.#access.isIdle && this.#own.isIdle) return
    const answered = Promise.all([this.#access.idle(), this.#own.idle()])
    await Promise.race([answered, this.#parts.ended.catch(() => {})])
  }
}
