/**
 * The provider that the calls of a planned operation go to, and what must hold of these calls:
 *
 * - every call of one record from one site carries the same key, and no other site has that key;
 * - a call that must not be repeated is made once, whatever anybody answers. It is made again only after
 *   the provider has refused or voided the earlier one, or a person has resumed the record: each resume
 *   permits one call more.
 *
 * @module
 */

import type { Chance } from '../engine/chance.ts'
import type { FaultRates } from './options.ts'
import type { Site } from './plan.ts'
import { ProviderError } from './provider.ts'

/** A call that a process began. */
export interface Call {
  readonly number: number
  /** What the provider is given. */
  readonly key: string
  /** Of the record. */
  readonly token: string
  readonly fence: number
  readonly site: Site
  /** Whether the process has heard that it had no effect, and never will. */
  isRefused: boolean
  /** Whether the provider was asked about it and denied it. */
  isDenied: boolean
}

/** Something that the provider did. */
export interface Deed {
  readonly call: number
  readonly key: string
  readonly token: string
  readonly site: string
}

/** What the provider has been told to refuse. */
interface Voided {
  /** Calls that were begun up to this one. */
  readonly number: number
  /** Calls of earlier runs, whenever they come. */
  readonly fence: number
}

/** What a ledger tells of. */
export interface LedgerParts {
  readonly chance: Chance
  readonly rates: FaultRates
  readonly violate: (message: string) => void
  readonly note: (what: string) => void
}

/** Every call and every deed. */
export class Ledger {
  readonly calls: Call[] = []
  readonly deeds: Deed[] = []
  isHealed = false
  readonly #parts: LedgerParts
  readonly #voided = new Map<string, Voided>()
  /** How often a person has resumed a record, by its token. */
  readonly #resumed = new Map<string, number>()

  constructor(parts: LedgerParts) {
    this.#parts = parts
  }

  /** A process is about to make a call. */
  begin({ key, fence, site }: { key: string; fence: number; site: Site }): Call {
    const { violate, note } = this.#parts
    const token = tokenIn(key)
    const { call: manner, id } = site
    const call: Call = {
      ...{ number: this.calls.length + 1, key, token, fence, site },
      ...{ isRefused: false, isDenied: false },
    }
    const before = this.calls.filter((one) => one.token === token && one.site.id === id)
    const other = before.find((one) => one.key !== key)
    if (other !== undefined) violate(`${id} is called under ${other.key} and under ${key}`)
    const shared = this.calls.find((one) => one.key === key && one.site.id !== id)
    if (shared !== undefined) violate(`${id} and ${shared.site.id} are called under ${key}`)
    const open = before.filter(({ isRefused }) => !isRefused).length
    const permits = this.#resumed.get(token) ?? 0
    const isLate = this.#isVoided(call)
    if (manner?.repeat === 'never' && open > permits && !isLate) {
      violate(`${id} is called again under ${key}, and must not be`)
    }
    if (before.length > 0) note(`call repeated ${manner?.repeat}`)
    this.calls.push(call)
    note(`call ${manner?.repeat}`)
    return call
  }

  /** A call reaches the provider. */
  carryOut(call: Call): Deed {
    const { chance, rates, note } = this.#parts
    if (this.#isVoided(call)) throw new ProviderError(410)
    const known = call.site.call?.honoursKeys === true ? this.find(call) : undefined
    if (known !== undefined) return known
    const fails = !this.isHealed && chance.happens(rates.providerError)
    if (fails && chance.happens(0.5)) throw new ProviderError(500)
    if (!this.isHealed && chance.happens(rates.providerDeclines)) throw new ProviderError(402)
    const deed = { call: call.number, key: call.key, token: call.token, site: call.site.id }
    if (call.isDenied) note('call denied, and carried out later')
    this.deeds.push(deed)
    if (fails) throw new ProviderError(500)
    return deed
  }

  /** What the provider knows of the calls under a key. */
  find({ key, site }: { readonly key: string; readonly site: Site }): Deed | undefined {
    return this.deeds.find((deed) => deed.key === key && deed.site === site.id)
  }

  /** The provider says that it knows nothing of the calls under a key so far. */
  deny(key: string): void {
    for (const call of this.calls) if (call.key === key) call.isDenied = true
  }

  /** The provider refuses every call under the key that was begun before, or is of an earlier run. */
  void(key: string, fence: number): void {
    this.#voided.set(key, { number: this.calls.length, fence })
  }

  /** A process has heard that these calls are refused. */
  heardVoid(key: string): void {
    for (const call of this.calls)
      if (call.key === key && this.#isVoided(call)) call.isRefused = true
  }

  /** A person resumes a record. */
  resume(token: string): void {
    this.#resumed.set(token, (this.#resumed.get(token) ?? 0) + 1)
  }

  #isVoided({ key, number, fence }: Call): boolean {
    const voided = this.#voided.get(key)
    return voided !== undefined && (number <= voided.number || fence < voided.fence)
  }
}

/** The token of the record in a key, or in what is stored with the record. */
function tokenIn(text: string): string {
  return /t-n\d+\.\d+/.exec(text)?.[0] ?? ''
}

/** The token of the record with this input. */
export function tokenOf(input: Uint8Array | null): string {
  return input === null ? '' : tokenIn(Buffer.from(input).toString('latin1'))
}
