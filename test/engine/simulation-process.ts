import type { Cancel, Clock } from '../../src/engine/clock.ts'
import { createReprise, type Reprise, type RepriseOptions } from '../../src/engine/reprise.ts'
import type { Store } from '../../src/engine/store.ts'
import { type Trouble, unreliable } from './unreliable-store.ts'

/** What a process is made from. */
export interface ProcessParts {
  readonly clock: Clock
  readonly store: Store
  readonly options: Partial<RepriseOptions>
  readonly trouble: () => Trouble | undefined
  readonly onAnswer: (verb: string, args: readonly unknown[], answer: unknown) => void
}

/** A process that can be frozen, thawed and killed between any two of its steps. */
export class SimulatedProcess {
  readonly reprise: Reprise
  readonly clock: Clock
  state: 'alive' | 'frozen' | 'dead' = 'alive'
  /** Timers that it has set. */
  timers = 0
  /** Records that it watches. */
  watches = 0
  readonly #held: (() => void)[] = []

  constructor({ clock, store, options, trouble, onAnswer }: ProcessParts) {
    this.clock = {
      ...{ now: () => clock.now(), unix: () => clock.unix() },
      after: this.#after(clock),
    }
    const arrive = () => new Promise<void>((resolve) => this.#step(resolve))
    const remote = unreliable(store, { clock, trouble, arrive, onAnswer })
    this.reprise = createReprise({
      ...{ ...options, clock: this.clock },
      store: Object.assign(Object.create(remote) as Store, { watch: this.#watch(remote) }),
    })
  }

  freeze(): void {
    if (this.state === 'alive') this.state = 'frozen'
  }

  thaw(): void {
    if (this.state !== 'frozen') return
    this.state = 'alive'
    for (const step of this.#held.splice(0)) step()
  }

  kill(): void {
    this.state = 'dead'
  }

  /** Goes on now, when it thaws, or never. */
  #step(step: () => void): void {
    if (this.state === 'alive') step()
    else if (this.state === 'frozen') this.#held.push(step)
  }

  #after(clock: Clock): Clock['after'] {
    return (ms, callback): Cancel => {
      let isSet = true
      this.timers++
      const end = () => {
        if (isSet) this.timers--
        isSet = false
      }
      const fire = () => {
        if (!isSet) return
        end()
        callback()
      }
      const cancel = clock.after(ms, () => this.#step(fire))
      return () => {
        end()
        cancel()
      }
    }
  }

  #watch(remote: Store): NonNullable<Store['watch']> {
    return async (id, wake) => {
      const unwatch = await remote.watch?.(id, () => this.#step(wake))
      this.watches++
      return () => {
        this.watches--
        unwatch?.()
      }
    }
  }
}
