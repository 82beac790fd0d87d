/**
 * What is stored between phases: the input with what identifies the run, and the state of the next
 * phase, each with the version of the operation that wrote it.
 *
 * @module
 */

import { createHash } from 'node:crypto'
import { broken, open, parseSealed, type SealOptions, seal } from '../engine/seal.ts'
import type { Care } from './foreign-call.ts'

/** What is known of a recovery point besides its name, also to versions that no longer have it. */
interface StoredPoint {
  readonly version: number
  /** Digest of the phases that there were. */
  readonly graph: string
  /** How the foreign call that starts from here is made; `null` for a phase on the database. */
  readonly care: Care | null
}

/** What is stored with a fresh record. */
export interface StoredInput extends StoredPoint {
  /** Random, made with the record: keys of foreign calls derive from it, never from the client's. */
  readonly token: string
  readonly input: unknown
}

/** What is stored with each recovery point. */
export interface StoredState extends StoredPoint {
  readonly state: unknown
  /** The points of the calls that the record has made, by every name that they had. */
  readonly calls: readonly string[]
}

/** Seals and opens both for one record. */
export class Envelope {
  readonly #options: SealOptions
  readonly #id: string

  constructor(options: SealOptions, id: string) {
    this.#options = options
    this.#id = id
  }

  sealInput(input: StoredInput): Promise<Uint8Array> {
    return this.#seal('input', input)
  }

  /** @throws RepriseError `reprise-seal-broken` when it can not be opened */
  async openInput(sealed: Uint8Array): Promise<StoredInput> {
    const stored = await this.#open('input', sealed)
    if (typeof stored['token'] !== 'string') throw broken('It is no input')
    // Written by `sealInput`: nothing else has a token.
    return stored as unknown as StoredInput
  }

  sealState(state: StoredState): Promise<Uint8Array> {
    return this.#seal('state', state)
  }

  /** @throws RepriseError `reprise-seal-broken` when it can not be opened */
  async openState(sealed: Uint8Array): Promise<StoredState> {
    // Written by `sealState`, which knows no other form than the one that was checked.
    return (await this.#open('state', sealed)) as unknown as StoredState
  }

  async #seal(part: 'input' | 'state', value: unknown): Promise<Uint8Array> {
    const content = new TextEncoder().encode(jsonOf(`The ${part}`, value))
    return seal(this.#options, { id: this.#id, part }, content)
  }

  async #open(
    part: 'input' | 'state',
    sealed: Uint8Array,
  ): Promise<Readonly<Record<string, unknown>>> {
    const content = await open(this.#options, { id: this.#id, part }, sealed)
    const stored = parseSealed(content.toString())
    const envelope = typeof stored === 'object' && stored !== null ? { ...stored } : {}
    const { version, graph }: { version?: unknown; graph?: unknown } = envelope
    if (typeof version === 'number' && typeof graph === 'string') return envelope
    throw broken(`It is no ${part}`)
  }
}

/**
 * The JSON of a value, which gives the same value back.
 *
 * @throws TypeError when it has none: JSON would make `null` of NaN and `{}` of a Map
 */
export function jsonOf(what: string, value: unknown): string {
  let text: string | undefined
  let cause: unknown
  try {
    text = JSON.stringify(value, refuseLost)
  } catch (error) {
    cause = error
  }
  if (text !== undefined) return text
  const why = cause instanceof LostInJson ? `: ${cause.message}` : ''
  throw new TypeError(`${what} is nothing that JSON has a form of${why}.`, { cause })
}

/** A value that JSON would silently make another of. */
class LostInJson extends Error {}

/** What JSON writes as an object without members, whatever it holds. */
const LOST: readonly (new (...args: never[]) => object)[] = [
  Map,
  Set,
  WeakMap,
  WeakSet,
  RegExp,
  Promise,
]

function refuseLost(name: string, value: unknown): unknown {
  const where = name === '' ? '' : ` in ${name}`
  if (typeof value === 'number' && !Number.isFinite(value)) throw new LostInJson(`${value}${where}`)
  const lost = LOST.find((kind) => value instanceof kind)
  if (lost !== undefined) throw new LostInJson(`a ${lost.name}${where}`)
  return value
}

/** Digest of which phases there are and of what kind: another one after a deploy is another graph. */
export function graphOf(nodes: ReadonlyMap<string, { readonly kind: string }>): string {
  const phases = [...nodes].map(([point, { kind }]) => `${kind} ${point}`).sort()
  return createHash('sha256').update(JSON.stringify(phases)).digest('base64url').slice(0, 22)
}

/**
 * The key that stands for the call from `point` of this record, on every attempt. The point is the one
 * that is stored: `migrate` may call it otherwise, with each deploy anew, until the call is over.
 */
export function derivedKey(token: string, point: string): string {
  return `reprise-${token}-${point}`
}
