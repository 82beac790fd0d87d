/**
 * What can only be read from the store: how many records are unfinished, and which workers are silent.
 *
 * @module
 */

import { within } from '../engine/bounded.ts'
import type { Clock } from '../engine/clock.ts'
import type { Store, StoreStats } from '../engine/store.ts'

/** The part of a store that gauges are read from. */
export interface GaugeSource {
  readonly ready: Store['ready']
  readonly stats: Store['stats']
  readonly work?: {
    workers(): Promise<readonly { readonly worker: string; readonly agoMs: number }[]>
  }
}

/** What was read. */
export interface Reading {
  readonly unfinished: StoreStats
  /** Seconds since each worker last ran, on whichever node that was. */
  readonly silence: Readonly<Record<string, number>>
}

/** However often somebody looks, the store is asked once in so many milliseconds. */
const EVERY_MS = 10_000
const TIMEOUT_MS = 5000

/** Reads a store, at most every ten seconds, whoever asks how often. */
export class Gauges {
  readonly #source: GaugeSource | undefined
  readonly #clock: Clock
  #reading: Reading | undefined
  #readAt = Number.NEGATIVE_INFINITY
  #underway: Promise<void> | undefined

  constructor(source: GaugeSource | undefined, clock: Clock) {
    this.#source = source
    this.#clock = clock
  }

  /** What was last read, grown older since; nothing while the store can not be asked. */
  get reading(): Reading | undefined {
    if (this.#reading === undefined) return undefined
    const { unfinished, silence } = this.#reading
    const sinceSeconds = (this.#clock.now() - this.#readAt) / 1000
    const older = Object.entries(silence).map(([name, seconds]) => [name, seconds + sinceSeconds])
    return { unfinished, silence: Object.fromEntries(older) }
  }

  /** Reads again if it is time to. Never throws. */
  refresh(): Promise<void> {
    const isFresh = this.#clock.now() - this.#readAt < EVERY_MS
    if (this.#source === undefined || isFresh) return this.#underway ?? Promise.resolve()
    this.#underway ??= this.#read(this.#source).finally(() => {
      this.#underway = undefined
    })
    return this.#underway
  }

  async #read(source: GaugeSource): Promise<void> {
    const work = readingOf(source).catch(() => undefined)
    this.#reading = await within(this.#clock, { ms: TIMEOUT_MS, work, fallback: undefined })
    this.#readAt = this.#clock.now()
  }
}

async function readingOf(source: GaugeSource): Promise<Reading> {
  await source.ready()
  const unfinished = await source.stats()
  const workers = (await source.work?.workers()) ?? []
  const silence: Record<string, number> = {}
  for (const { worker, agoMs } of workers) {
    silence[worker] = Math.min(silence[worker] ?? Number.POSITIVE_INFINITY, agoMs / 1000)
  }
  return { unfinished, silence }
}
