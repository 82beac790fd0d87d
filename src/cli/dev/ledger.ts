/**
 * What really happened in the sample: the charges, kept by the process that is never killed. It keeps
 * every charge it is told of, also one under a key that it has seen, because counting them is its use.
 *
 * @module
 */

/** A charge. */
export interface Charge {
  readonly id: string
  readonly key: string
  readonly amount: number
}

/** The charges that were made. */
export class Ledger {
  readonly #charges: Charge[] = []

  /** Makes a charge. */
  add(key: string, amount: number): Charge {
    const charge = { id: `ch_${this.#charges.length + 1}`, key, amount }
    this.#charges.push(charge)
    return charge
  }

  find(key: string): Charge | undefined {
    return this.#charges.find((charge) => charge.key === key)
  }

  get charges(): readonly Charge[] {
    return this.#charges
  }

  /** Its verbs, for the other process. */
  get verbs(): Readonly<Record<string, (...values: never[]) => unknown>> {
    return {
      'ledger.add': (key: string, amount: number) => this.add(key, amount),
      'ledger.find': (key: string) => this.find(key) ?? null,
      'ledger.list': () => this.charges,
    }
  }
}
