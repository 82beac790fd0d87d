/** Holds handlers at a point until the test lets them go on. */
export class Gate {
  readonly #waiting: (() => void)[] = []
  #arrivals = 0
  #isOpen = false
  #watch: () => void = () => {}

  /** For the handler: says that it is here and waits. */
  async pass(): Promise<void> {
    this.#arrivals++
    this.#watch()
    if (this.#isOpen) return
    await new Promise<void>((resolve) => this.#waiting.push(resolve))
  }

  /** For the test: resolves when that many handlers have come. */
  async reached(arrivals = 1): Promise<void> {
    while (this.#arrivals < arrivals) {
      await new Promise<void>((resolve) => {
        this.#watch = resolve
      })
    }
  }

  /** Lets everybody through, also those who come later. */
  open(): void {
    this.#isOpen = true
    for (const go of this.#waiting.splice(0)) go()
  }
}
