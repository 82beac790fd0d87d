/**
 * What the app's code may do with its transaction: everything until it has answered or thrown, and
 * nothing after that.
 *
 * A handler may go on after its end: the other branches of a `Promise.all` that failed, a statement
 * that nobody awaits, a callback that kept `tx`. Its connection serves another request by then, so a
 * late statement would run on its own or in a stranger's transaction. Every way in which the app's
 * code reaches the transaction goes through one of these objects, whichever client or ORM it is.
 *
 * @module
 */

import { TRANSACTION_OVER } from '../core/error-table.ts'
import { RepriseError } from '../core/errors.ts'

/** The app's access to one transaction, which ends before the transaction does. */
export class TransactionAccess {
  #isEnded = false
  #underWay = 0
  #idle: (() => void)[] = []
  #ended: (() => void)[] = []

  /** Whether the app's code has answered or thrown. */
  get isEnded(): boolean {
    return this.#isEnded
  }

  /**
   * Checks that the app's code may still use the transaction.
   *
   * @throws RepriseError `reprise-transaction-over` once access has ended
   */
  check(): void {
    if (this.#isEnded) throw new RepriseError(TRANSACTION_OVER)
  }

  /**
   * Counts a statement as under way, and gives what to call once it is answered.
   *
   * @throws RepriseError `reprise-transaction-over` once access has ended
   */
  begin(): () => void {
    this.check()
    let isOver = false
    this.#underWay++
    return () => {
      if (isOver) return
      isOver = true
      this.#underWay--
      if (this.#underWay === 0) for (const resolve of this.#idle.splice(0)) resolve()
    }
  }

  /**
   * Sends a statement, and counts it as under way until its promise settles.
   *
   * @throws RepriseError `reprise-transaction-over` once access has ended
   */
  send<T>(send: () => Promise<T>): Promise<T> {
    const answered = this.begin()
    try {
      const answer = send()
      answer.then(answered, answered)
      return answer
    } catch (error) {
      answered()
      throw error
    }
  }

  /** Ends access, at once and for good. */
  end(): void {
    if (this.#isEnded) return
    this.#isEnded = true
    for (const listener of this.#ended.splice(0)) listener()
  }

  /** Has `listener` called the moment access ends, before {@link end} returns. It must not throw. */
  onEnd(listener: () => void): void {
    this.#ended.push(listener)
  }

  /** Whether no statement is under way. */
  get isIdle(): boolean {
    return this.#underWay === 0
  }

  /** Resolves when every statement that was under way is answered. */
  idle(): Promise<void> {
    if (this.#underWay === 0) return Promise.resolve()
    return new Promise((resolve) => this.#idle.push(resolve))
  }
}
