import type { Clock } from '../../engine/clock.ts'
import type { Patience } from './patience.ts'

/** How long a line may go on without letting the event loop turn, in milliseconds. */
const STRETCH_MS = 10

/** One at a time, first come, first served, bounded in time. */
export class Turns {
  #isTaken = false
  readonly #waiting = new Set<() => void>()
  /** Since when turns are handed on without a rest. */
  #busySince = 0

  /**
   * Resolves when it is the caller's turn, which lasts until {@link Turns.give}.
   *
   * @throws RepriseError `idempotency-store-unavailable` when patience ends first
   */
  async take(patience: Patience): Promise<void> {
    const { clock } = patience
    if (!this.#isTaken) {
      this.#isTaken = true
      this.#busySince = clock.now()
      return
    }

    await new Promise<void>((resolve, reject) => {
      const next = () => {
        cancel()
        this.#rest(clock, resolve)
      }
      const cancel = clock.after(patience.leftMs, () => {
        this.#waiting.delete(next)
        reject(patience.ended())
      })
      this.#waiting.add(next)
    })
  }

  /** Hands the turn on. */
  give(): void {
    const [next] = this.#waiting
    if (next === undefined) {
      this.#isTaken = false
      return
    }
    this.#waiting.delete(next)
    next()
  }

  /** Calls `go`, now and then only after the event loop has turned. */
  #rest(clock: Clock, go: () => void): void {
    if (clock.now() - this.#busySince < STRETCH_MS) return go()
    clock.after(0, () => {
      this.#busySince = clock.now()
      go()
    })
  }
}
