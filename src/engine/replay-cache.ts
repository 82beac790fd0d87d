/**
 * Answers that were stored, kept near for a while so that a burst of retries costs no store call.
 *
 * It comes with the stores that it spares. Bounded in bytes and in age; an answer is never given from here past its retention. What an
 * operator changes in the store is noticed after `ageMsMax` at the latest.
 *
 * @module
 */

import { whole } from '../core/options.ts'
import type { Clock } from './clock.ts'
import type { Replayed } from './result.ts'
import type { OpenedResponse } from './seal.ts'

/** Bounds of the cache. */
export interface ReplayCacheOptions {
  /**
   * Memory for cached answers, in bytes.
   *
   * @default 16777216 (16 MiB)
   */
  readonly bytesMax?: number
  /**
   * How long an answer is given from the cache before the store is asked again, in milliseconds.
   *
   * @default 60000
   */
  readonly ageMsMax?: number
}

/** The capability to be spared by a cache; see {@link replayCaching}. */
export interface ReplayCaching {
  /**
   * Makes the cache of an engine.
   *
   * @throws RepriseError `reprise-options-invalid`
   */
  open(clock: Pick<Clock, 'now'>, options: ReplayCacheOptions): ReplayCache
}

/** What a store that takes a while to answer names as its `caching`. */
export const replayCaching: ReplayCaching = {
  open(clock, { bytesMax = 16_777_216, ageMsMax = 60_000 }) {
    return new ReplayCache(clock, {
      bytesMax: whole('replayCache.bytesMax', bytesMax, 0),
      ageMsMax: whole('replayCache.ageMsMax', ageMsMax, 0),
    })
  },
}

/** What is cached for a request. */
export interface CachedReplay {
  readonly response: OpenedResponse
  readonly requestId: string | null
  /** When the answer expires, by the process's clock. */
  readonly expiresAt: number
}

interface Entry extends CachedReplay {
  readonly bytes: number
  readonly staleAt: number
}

/** What an entry costs besides its body. */
const ENTRY_BYTES = 512

/** Least recently used goes first: a `Map` keeps the order of insertion. */
export class ReplayCache {
  readonly #entries = new Map<string, Entry>()
  readonly #clock: Pick<Clock, 'now'>
  readonly #bytesMax: number
  readonly #ageMsMax: number
  #bytes = 0

  constructor(clock: Pick<Clock, 'now'>, options: Required<ReplayCacheOptions>) {
    this.#clock = clock
    this.#bytesMax = options.bytesMax
    this.#ageMsMax = options.ageMsMax
  }

  /** The answer to the request, if it is here and may still be given. */
  get(request: string): Replayed | undefined {
    const entry = this.#entries.get(request)
    if (entry === undefined) return undefined
    this.#remove(request, entry)
    const now = this.#clock.now()
    if (entry.staleAt <= now) return undefined
    this.#entries.set(request, entry)
    this.#bytes += entry.bytes
    const { response, requestId, expiresAt } = entry
    return { outcome: 'replayed', response, requestId, expiresInMs: expiresAt - now }
  }

  /** Keeps an answer, unless it alone is larger than the cache. */
  set(request: string, replay: CachedReplay): void {
    const bytes = ENTRY_BYTES + replay.response.body.byteLength
    const previous = this.#entries.get(request)
    if (previous !== undefined) this.#remove(request, previous)
    if (bytes > this.#bytesMax) return

    const staleAt = Math.min(this.#clock.now() + this.#ageMsMax, replay.expiresAt)
    const { response, requestId, expiresAt } = replay
    this.#entries.set(request, { response, requestId, expiresAt, bytes, staleAt })
    this.#bytes += bytes
    for (const [oldest, entry] of this.#entries) {
      if (this.#bytes <= this.#bytesMax) break
      this.#remove(oldest, entry)
    }
  }

  /** Keeps an answer from being given again, because an operator says so. */
  forget(request: string): void {
    const entry = this.#entries.get(request)
    if (entry !== undefined) this.#remove(request, entry)
  }

  #remove(request: string, entry: Entry): void {
    this.#entries.delete(request)
    this.#bytes -= entry.bytes
  }
}
