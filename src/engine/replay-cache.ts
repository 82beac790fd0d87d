/**
 * Answers that were stored, kept near for a while so that a burst of retries costs no store call.
 *
 * It comes with the stores that it spares. Bounded in bytes and in age; an answer is never given from
 * here past its retention. What an operator changes in the store is noticed after `ageMsMax` at the
 * latest.
 *
 * @module
 */

import type { BodyDigest, ComparedRequest } from '../core/fingerprint.ts'
import { lengthPrefixed } from '../core/identity.ts'
import { whole } from '../core/options.ts'
import type { Origin } from '../core/record.ts'
import type { Clock } from './clock.ts'
import type { Context } from './context.ts'
import type { Job } from './job.ts'
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

/** The request that an answer is cached for. */
export type CachedFor = Pick<Job, 'request' | 'identity' | 'fingerprint' | 'near'>

interface Entry extends CachedReplay {
  readonly asked: CachedFor
  readonly bytes: number
  readonly staleAt: number
  /** Whether it was given since it last came to be the oldest. */
  isUsed: boolean
}

/** Who is told of a request that an answer from here has settled. */
export type Listening = Pick<Context<never>, 'ended'>

/** A request before it is digested. */
export interface RecallRequest {
  readonly identity: readonly string[]
  readonly compared: ComparedRequest & { readonly body: BodyDigest }
  /** Where it came from. */
  readonly origin: Origin
  /** All of it as one text, noted here for who runs it. */
  near?: string | undefined
}

/** Longer texts are not worth keeping. */
const NEAR_LENGTH_MAX = 4096

/** All of a request as one text; `undefined` where it is long, or no text. */
function nearOf({ identity, compared }: RecallRequest, route: string): string | undefined {
  const { method, path, query, contentType, body, version } = compared
  const { form, text } = body
  if (text === undefined || text.length > NEAR_LENGTH_MAX) return undefined
  const parts = [route, ...identity, method, path, query ?? '', contentType ?? '', form, text]
  if (version !== undefined) parts.push(version)
  return lengthPrefixed(parts)
}

/** What an entry costs besides its body, and its text besides its characters. */
const ENTRY_BYTES = 512
const NEAR_BYTES = 1024

/**
 * The oldest goes first, a `Map` keeps the order of insertion; one that was used meanwhile is given
 * another round. To move it with each use would cost more than all the rest.
 */
export class ReplayCache {
  readonly #entries = new Map<string, Entry>()
  /** The same by the whole text of the request, which takes no digest to find. */
  readonly #near = new Map<string, Entry>()
  readonly #routes = new WeakMap<object, string>()
  #routeCount = 0
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
    return this.#given(this.#entries.get(request))
  }

  /**
   * The same by the text of the request, which is noted on it; the listener is told.
   *
   * @param route - an object of its own for each route: another may compare in another way
   */
  recall(request: RecallRequest, route: object, context: Listening): Replayed | undefined {
    const startedAt = this.#clock.now()
    const near = nearOf(request, this.#nameOf(route))
    request.near = near
    const entry = near === undefined ? undefined : this.#near.get(near)
    const replayed = this.#given(entry)
    if (entry !== undefined && replayed !== undefined) {
      const { identity, fingerprint } = entry.asked
      const { origin } = request
      context.ended('replayed', { identity, fingerprint, origin, startedAt, trace: {} })
    }
    return replayed
  }

  #nameOf(route: object): string {
    const name = this.#routes.get(route) ?? String(++this.#routeCount)
    this.#routes.set(route, name)
    return name
  }

  #given(entry: Entry | undefined): Replayed | undefined {
    if (entry === undefined) return undefined
    const now = this.#clock.now()
    if (entry.staleAt <= now) {
      this.#remove(entry)
      return undefined
    }
    entry.isUsed = true
    const { response, requestId, expiresAt } = entry
    return { outcome: 'replayed', response, requestId, expiresInMs: expiresAt - now }
  }

  /** Keeps an answer, unless it alone is larger than the cache. */
  set({ request, identity, fingerprint, near }: CachedFor, replay: CachedReplay): void {
    const asked = { request, identity, fingerprint, near }
    const nearBytes = near === undefined ? 0 : NEAR_BYTES + 2 * near.length
    const bytes = ENTRY_BYTES + replay.response.body.byteLength + nearBytes
    this.forget(request)
    if (bytes > this.#bytesMax) return

    const staleAt = Math.min(this.#clock.now() + this.#ageMsMax, replay.expiresAt)
    const { response, requestId, expiresAt } = replay
    for (const oldest of this.#entries.values()) {
      if (this.#bytes + bytes <= this.#bytesMax) break
      if (oldest.isUsed) this.#spare(oldest)
      else this.#remove(oldest)
    }
    const isUsed = false
    const entry: Entry = { response, requestId, expiresAt, asked, bytes, staleAt, isUsed }
    this.#entries.set(request, entry)
    if (near !== undefined) this.#near.set(near, entry)
    this.#bytes += bytes
  }

  /** Keeps an answer from being given again, because an operator says so. */
  forget(request: string): void {
    const entry = this.#entries.get(request)
    if (entry !== undefined) this.#remove(entry)
  }

  #spare(entry: Entry): void {
    entry.isUsed = false
    this.#entries.delete(entry.asked.request)
    this.#entries.set(entry.asked.request, entry)
  }

  #remove(entry: Entry): void {
    const { request, near } = entry.asked
    this.#entries.delete(request)
    if (near !== undefined) this.#near.delete(near)
    this.#bytes -= entry.bytes
  }
}
