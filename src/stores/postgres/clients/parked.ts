/**
 * Transactions of libraries that open them around a callback: the callback waits, parked, until the
 * store commits or rolls back.
 *
 * @module
 */

import type { Call, Rows, Session } from '../client.ts'

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
  /** Makes what the user gets; it must refuse to work once `fault` gives an error. */
  guard?(tx: Tx, fault: () => Error | undefined): Tx
}

/** Opens a transaction and parks its callback. */
export async function park<Tx>(
  run: Run<Tx>,
  wire: ParkedWire<Tx>,
  first: Call,
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
            queueMicrotask(() => resolve(new ParkedSession({ tx, wire, ended, commit, rollback })))
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

interface Parts<Tx> {
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
  #isOpen = true
  #fault: Error | undefined

  constructor(parts: Parts<Tx>) {
    this.#parts = parts
    // Ended though parked: the connection is gone, or the user has ended it. The callback stays
    // parked for good, because the library would send its rollback to whatever connection comes next.
    const fail = (error: Error) => {
      if (this.#isOpen) this.#fault = error
    }
    parts.ended.then(() => fail(new Error('The transaction was ended from within.')), fail)
    this.handle = parts.wire.guard?.(parts.tx, () => this.#fault) ?? parts.tx
  }

  async query(call: Call): Promise<Rows> {
    if (this.#fault !== undefined) throw this.#fault
    return this.#parts.wire.send(this.#parts.tx, call)
  }

  async script(text: string): Promise<void> {
    if (this.#fault !== undefined) throw this.#fault
    await this.#parts.wire.script(this.#parts.tx, text)
  }

  async nested<T>(work: (handle: Tx) => Promise<T>): Promise<T> {
    if (this.#fault !== undefined) throw this.#fault
    return this.#parts.wire.nested(this.handle, work)
  }

  close(): void {}

  async commit(last: Call): Promise<Rows> {
    if (this.#fault !== undefined) throw this.#fault
    if (!this.#isOpen) throw new Error('The transaction is over.')
    const stored = this.query(last)
    // What fails where the order is not kept is undone before anybody could commit.
    if (!this.#parts.wire.isOrdered) await stored.catch(() => this.rollback())
    this.#isOpen = false
    this.#parts.commit()
    // If the statement fails, the commit behind it rolls back; so both have to succeed.
    const [result] = await Promise.allSettled([stored, this.#parts.ended])
    if (result.status === 'rejected') throw result.reason
    await this.#parts.ended
    return result.value
  }

  async rollback(): Promise<void> {
    if (!this.#isOpen || this.#fault !== undefined) return
    this.#isOpen = false
    this.#parts.rollback(new Error('Rolled back.'))
    await this.#parts.ended.catch(() => {})
  }
}
