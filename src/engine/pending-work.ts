/**
 * What a handler still does when its answer is there already.
 *
 * @module
 */

/** A handler that answers as its last step returns within so many turns of the microtask queue. */
const TURNS = 32

/** Work of one run that is not over. */
export class PendingWork {
  #count = 0
  #waiting: (() => void)[] | undefined

  /** Whether any work is known to go on. */
  get isPending(): boolean {
    return this.#count > 0
  }

  /** Counts `work` until it settles; how it settles does not matter here. */
  add(work: PromiseLike<unknown>): void {
    this.#count++
    const end = (): void => {
      this.#count--
      if (this.#count > 0) return
      const waiting = this.#waiting ?? []
      this.#waiting = undefined
      for (const go of waiting) go()
    }
    work.then(end, end)
  }

  /** Whether work goes on that does more than to return after the answer. */
  async goesOn(): Promise<boolean> {
    for (let turn = 0; turn < TURNS && this.isPending; turn++) await Promise.resolve()
    return this.isPending
  }

  /** Resolves when no work goes on; work that is added meanwhile is waited for too. */
  async over(): Promise<void> {
    while (this.isPending) {
      await new Promise<void>((resolve) => {
        this.#waiting ??= []
        this.#waiting.push(resolve)
      })
    }
  }
}
