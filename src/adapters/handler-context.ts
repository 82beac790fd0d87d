/**
 * Tells the calls of a handler from those of the middleware in front of it.
 *
 * Both have the same request and response in hand. A middleware in front may answer while the handler
 * still works, as a time-out does; that answer is not the handler's and must not be stored as one.
 *
 * @module
 */

import { AsyncLocalStorage } from 'node:async_hooks'

const contexts = new AsyncLocalStorage<HandlerContext>()

/** The handler of one request, with whatever stands between it and the protection. */
export class HandlerContext {
  /** That of the handler which made this request inside the process, if one did. */
  readonly #outer = contexts.getStore()

  /** Runs `work` as a part of the handler; what it begins belongs to the handler too. */
  run<T>(work: () => T): T {
    return contexts.run(this, work)
  }

  /** Whether the code that runs now was begun by the handler. */
  get isCurrent(): boolean {
    for (let one = contexts.getStore(); one !== undefined; one = one.#outer) {
      if (one === this) return true
    }
    return false
  }
}

/** The handler that began the code which runs now. */
export function currentHandler(): HandlerContext | undefined {
  return contexts.getStore()
}
