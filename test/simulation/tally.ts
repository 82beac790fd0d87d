import type { RangePlayed } from './shard.ts'

/** Milliseconds between two lines about how far it got. */
const EVERY_MS = 30_000

/** What came of many worlds, told while they are played and at the end. */
export class Tally {
  readonly failed: { readonly seed: number; readonly violation: string }[] = []
  readonly #seen = new Map<string, number>()
  readonly #began = performance.now()
  #told = performance.now()
  #worlds = 0
  #steps = 0
  #from = Number.POSITIVE_INFINITY
  #to = 0

  /** A range was played. */
  add({ from, to, steps, seen, failed }: RangePlayed): void {
    this.#worlds += to - from + 1
    this.#steps += steps
    this.#from = Math.min(this.#from, from)
    this.#to = Math.max(this.#to, to)
    this.failed.push(...failed)
    this.failed.sort((one, other) => one.seed - other.seed)
    for (const [what, count] of seen) this.#seen.set(what, (this.#seen.get(what) ?? 0) + count)
    for (const { seed, violation } of failed) console.log(`seed ${seed}: ${violation}`)
    if (performance.now() - this.#told < EVERY_MS) return
    this.#told = performance.now()
    console.log(this.#summary())
  }

  /** Prints all of it. */
  print(): void {
    for (const what of [...this.#seen.keys()].sort()) {
      console.log(`${String(this.#seen.get(what)).padStart(9)}  ${what}`)
    }
    console.log(this.#summary())
  }

  #summary(): string {
    const seconds = ((performance.now() - this.#began) / 1000).toFixed(1)
    const { length } = this.failed
    const failed = length === 0 ? 'no violation' : `${length} failed`
    const range = `seeds ${this.#from}..${this.#to}`
    return `${range}: ${this.#worlds} worlds, ${this.#steps} steps, ${seconds} s: ${failed}`
  }
}
