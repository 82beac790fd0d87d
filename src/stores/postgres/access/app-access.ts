/**
 * The app's access to a transaction that a library opens around a callback.
 *
 * @module
 */

import { TRANSACTION_OVER } from '../../../core/error-table.ts'
import { RepriseError } from '../../../core/errors.ts'
import { TransactionAccess } from '../../../engine/transaction-access.ts'

/**
 * What the app's code has to ask before it uses its transaction. A guard asks it wherever a statement
 * leaves; see `TransactionSource.guard`.
 */
export interface AppAccess extends TransactionAccess {
  /**
   * Sends a statement, and counts it as under way until its promise settles. Rejects, and sends nothing,
   * once access has ended.
   */
  send<T>(send: () => PromiseLike<T>): Promise<T>
  /**
   * Counts a nested transaction as open, and gives what to call once it has ended. What is open when the
   * handler answers undoes the whole transaction.
   */
  enter(): () => void
  /**
   * Opens a nested transaction of the library's around `work`. Once access has ended, the library is not
   * told that `work` is done: it would end the nested transaction on a connection that serves another
   * request.
   *
   * @param open - calls the library
   * @param work - what the app has do in the nested transaction
   */
  nest<Inner, T>(
    open: (work: (inner: Inner) => Promise<T>) => PromiseLike<T>,
    work: (inner: Inner) => T | PromiseLike<T>,
  ): Promise<T>
}

/** {@link AppAccess}, with what the store asks of it. */
export class HandleAccess extends TransactionAccess implements AppAccess {
  readonly #outer: TransactionAccess | undefined
  #nested = 0
  #fault: Error | undefined

  /** @param outer - what this access is part of: it ends with it, and its statements count in it too */
  constructor(outer?: TransactionAccess) {
    super()
    this.#outer = outer
    outer?.onEnd(() => this.end())
  }

  /** Whether a nested transaction is open. */
  get isNested(): boolean {
    return this.#nested > 0
  }

  /** Ends access because of an error, such as a lost connection, which every later use is told. */
  fail(error: Error): void {
    this.#fault = error
    this.end()
  }

  override check(): void {
    if (this.#fault !== undefined) throw this.#fault
    super.check()
  }

  override begin(): () => void {
    const answered = super.begin()
    const outer = this.#outer?.begin()
    return () => {
      answered()
      outer?.()
    }
  }

  override send<T>(send: () => PromiseLike<T>): Promise<T> {
    // An `async` function rejects where `begin` or `send` throw.
    return (async () => {
      const answered = this.begin()
      try {
        return await send()
      } finally {
        answered()
      }
    })()
  }

  enter(): () => void {
    this.check()
    let isOver = false
    this.#nested++
    return () => {
      if (!isOver) this.#nested--
      isOver = true
    }
  }

  async nest<Inner, T>(
    open: (work: (inner: Inner) => Promise<T>) => PromiseLike<T>,
    work: (inner: Inner) => T | PromiseLike<T>,
  ): Promise<T> {
    const leave = this.enter()
    // The statement that begins the nested transaction is under way until the library calls back, and
    // the one that ends it from when the library is told until it resolves.
    let answered = this.begin()
    let refuse = (_: Error): void => {}
    const refused = new Promise<never>((_, reject) => {
      refuse = reject
    })
    const within = async (inner: Inner): Promise<T> => {
      answered()
      const [result] = await Promise.allSettled([(async () => work(inner))()])
      if (this.isEnded) {
        refuse(this.#fault ?? new RepriseError(TRANSACTION_OVER))
        return new Promise<never>(() => {})
      }
      answered = this.begin()
      if (result.status === 'rejected') throw result.reason
      return result.value
    }
    const ended = async () => {
      try {
        return await open(within)
      } finally {
        answered()
        leave()
      }
    }
    return Promise.race([ended(), refused])
  }
}

/** The error for a handler that has answered while a nested transaction was open. */
export function leftOpen(): RepriseError {
  const detail =
    'A nested transaction was still open when the handler answered, and everything was undone'
  return new RepriseError(TRANSACTION_OVER, detail)
}
