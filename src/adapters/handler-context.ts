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

/** How the promise of a handler has settled. */
export type HandlerEnd = { readonly isFailed: false } | { readonly isFailed: true; error: unknown }

/** Told of what the promise of a handler comes to. */
export interface HandlerListener {
  /** The handler has returned a promise. */
  onPromise(promise: PromiseLike<unknown>): void
  /** The promise has settled; called as a part of the handler. */
  onEnd(end: HandlerEnd): void
}

/** The handler of one request, with whatever stands between it and the protection. */
export class HandlerContext {
  /** That of the handler which made this request inside the process, if one did. */
  readonly #outer = contexts.getStore()
  readonly #listener: HandlerListener | undefined
  #pending = 0
  #isWaiting = false

  constructor(listener?: HandlerListener) {
    this.#listener = listener
  }

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

  /** Whether the handler is known to run still. */
  get isPending(): boolean {
    return this.#pending > 0
  }

  /**
   * Whether the code that runs now is not the handler's, although the handler still runs. Where the end
   * of a handler is not known nobody can tell: libraries with callbacks lose track of who began them.
   */
  get isForeign(): boolean {
    return this.isPending && !this.#isWaiting && !this.isCurrent
  }

  /** The handler waits for its answer to be given, by whomever: every answer is its own from now on. */
  waitForAnswer(): void {
    this.#isWaiting = true
  }

  /** Takes note of what the handler has returned: where it is a promise, its end is known. */
  watch(returned: unknown): void {
    if (!isThenable(returned)) return
    this.#pending++
    this.#listener?.onPromise(returned)
    const end = (how: HandlerEnd): void => {
      this.#pending--
      if (this.#pending === 0) this.run(() => this.#listener?.onEnd(how))
    }
    returned.then(
      () => end({ isFailed: false }),
      (error: unknown) => end({ isFailed: true, error }),
    )
  }
}

/** The handler that began the code which runs now. */
export function currentHandler(): HandlerContext | undefined {
  return contexts.getStore()
}

/** Whether a handler has returned a promise. */
export function isThenable(value: unknown): value is PromiseLike<unknown> {
  return (
    typeof value === 'object' &&
    value !== null &&
    'then' in value &&
    typeof value.then === 'function'
  )
}
