/** Chance that is the same for the same seed. */
export class Chance {
  #state: number

  constructor(seed: number) {
    this.#state = Math.imul(seed, 0x9e3779b1)
  }

  /** A number in [0, 1). */
  fraction(): number {
    this.#state = (this.#state + 0x6d2b79f5) | 0
    let mixed = Math.imul(this.#state ^ (this.#state >>> 15), 1 | this.#state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 0x1_0000_0000
  }

  /** One of the choices. */
  pick<T>(first: T, ...rest: readonly T[]): T {
    return [first, ...rest][Math.floor(this.fraction() * (rest.length + 1))] ?? first
  }

  /** Whether something happens that has this probability. */
  happens(probability: number): boolean {
    return this.fraction() < probability
  }
}
