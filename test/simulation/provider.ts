/**
 * What lies outside of every transaction: the effects of plain handlers, and a provider that is paid.
 *
 * @module
 */

import type { Chance } from '../engine/chance.ts'
import type { FaultRates } from './options.ts'

/** An effect of a plain handler. */
export interface Effect {
  /** Of the record. */
  readonly id: string
  /** Token of the run. */
  readonly owner: string
  readonly by: string
}

/** Something that a provider did. */
export interface Charge {
  readonly number: number
  /** The key that it was asked with. */
  readonly key: string
  /** The ride that it belongs to, and the phase that asked. */
  readonly ride: string
  readonly point: string
}

/** The provider answered with an error. */
export class ProviderError extends Error {
  readonly status: number

  constructor(status: number) {
    super(`The provider answered ${status}.`)
    this.status = status
  }
}

/** Everything outside. */
export class Outside {
  readonly effects: Effect[] = []
  readonly charges: Charge[] = []
  /** Handlers that are at work, by the id of the record. */
  readonly running = new Map<string, number>()
  isHealed = false
  readonly #chance: Chance
  readonly #rates: FaultRates
  readonly #honoursKeys: boolean

  constructor(
    chance: Chance,
    { rates, honoursKeys }: { readonly rates: FaultRates; readonly honoursKeys: boolean },
  ) {
    this.#chance = chance
    this.#rates = rates
    this.#honoursKeys = honoursKeys
  }

  /** A plain handler takes effect. */
  effect(effect: Effect): void {
    this.effects.push(effect)
  }

  /** The provider is asked to charge. */
  charge(asked: Omit<Charge, 'number'>): Charge {
    // The call that may be repeated is repeated because this provider honours keys.
    const isKnown = this.#honoursKeys || asked.point === 'ride_made'
    const known = isKnown ? this.find(asked.key) : undefined
    if (known !== undefined) return known
    const fails = !this.isHealed && this.#chance.happens(this.#rates.providerError)
    if (fails && this.#chance.happens(0.5)) throw new ProviderError(500)
    if (!this.isHealed && this.#chance.happens(this.#rates.providerDeclines)) {
      throw new ProviderError(402)
    }
    const charge = { ...asked, number: this.charges.length + 1 }
    this.charges.push(charge)
    if (fails) throw new ProviderError(500)
    return charge
  }

  /** What the provider knows under a key. */
  find(key: string): Charge | undefined {
    return this.charges.find((charge) => charge.key === key)
  }

  /** Notes that a handler is at work for the record, until the returned function is called. */
  runs(id: string): () => void {
    this.running.set(id, (this.running.get(id) ?? 0) + 1)
    return () => this.running.set(id, (this.running.get(id) ?? 0) - 1)
  }
}

/** Whether the provider declined for good. */
export function isDeclined(error: unknown): boolean {
  return error instanceof ProviderError && error.status === 402
}
