/**
 * What a handler still does when its answer is there already.
 *
 * @module
 */

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
