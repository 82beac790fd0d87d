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
import {
  type CachedFor,
  type CachedReplay,
  Entry,
  entryOf,
  type Shelved,
  shelvedOf,
} from './cached-answer.ts'
import type { Clock } from './clock.ts'
import type { Context } from './context.ts'
import type { Job } from './job.ts'
import type { Replayed } from './result.ts'
import { Shelf } from './shelf.ts'

/** Bounds of the cache. */
export interface ReplayCacheOptions {
  /**
   * Memory for cached answers, in bytes. Half of it, 64 MiB at most, is for small answers that nobody has
   * asked for again; a single answer can take no more than the rest.
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

/** Who is told of a request that an answer from here has settled. */
export type Listening = Pick<Context<never>, 'ended'>

/** A request before it is digested. */
export interface RecallRequest {
  readonly identity: readonly string[]
  readonly compared: ComparedRequest & { readonly body: BodyDigest }
  /** Where it came from. */
  readonly origin: Origin
}

/** Longer texts are not worth keeping. */
const TEXT_LENGTH_MAX = 4096

/** All of a request as one text; `undefined` where it is long, or no text. */
function textOf({ identity, compared }: RecallRequest, route: string): string | undefined {
  const { method, path, query, contentType, body, version } = compared
  const { form, text } = body
  if (text === undefined || text.length > TEXT_LENGTH_MAX) return undefined
  const parts = [route, ...identity, method, path, query ?? '', contentType ?? '', form, text]
  if (version !== undefined) parts.push(version)
  return lengthPrefixed(parts)
}

/** Larger bodies are not copied: one object of their size costs the collector little. */
const SHELVED_BYTES_MAX = 4096

/** More than is asked for within the age of an answer; and all of it is taken at once. */
const SHELF_BYTES_MAX = 67_108_864

/** Answers that are about as old. */
class Generation {
  readonly #byRequest = new Map<string, Entry>()
  /** The same by the whole text of the request, which takes no digest to find. */
  readonly #byText = new Map<string, Entry>()
  bytes = 0

  find(request: string): Entry | undefined {
    return this.#byRequest.get(request)
  }

  findByText(text: string): Entry | undefined {
    return this.#byText.get(text)
  }

  get hasTexts(): boolean {
    return this.#byText.size > 0
  }

  add(entry: Entry): void {
    this.#byRequest.set(entry.request, entry)
    if (entry.text !== undefined) this.#byText.set(entry.text, entry)
    this.bytes += entry.bytes
  }

  remove(entry: Entry): void {
    if (!this.#byRequest.delete(entry.request)) return
    if (entry.text !== undefined) this.#byText.delete(entry.text)
    this.bytes -= entry.bytes
  }
}

/**
 * Small answers are put on a shelf. What is asked for, and what is large, comes into one of two
 * generations, the young one, and the old one goes as a whole: to take answers out one by one would
 * cost each request more than all the rest.
 */
export class ReplayCache {
  #young = new Generation()
  #old = new Generation()
  readonly #routes = new WeakMap<object, string>()
  #routeCount = 0
  readonly #clock: Pick<Clock, 'now'>
  readonly #shelf: Shelf<Shelved>
  /** Of the generations. */
  readonly #bytesMax: number
  readonly #ageMsMax: number

  constructor(clock: Pick<Clock, 'now'>, options: Required<ReplayCacheOptions>) {
    this.#clock = clock
    const shelfBytes = Math.min(Math.floor(options.bytesMax / 2), SHELF_BYTES_MAX)
    this.#shelf = new Shelf(shelfBytes)
    this.#bytesMax = options.bytesMax - shelfBytes
    this.#ageMsMax = options.ageMsMax
  }

  /** The answer to the request, if it is here and may still be given. */
  get({
    request,
    recalled,
    options,
  }: Pick<Job, 'request' | 'recalled' | 'options'>): Replayed | undefined {
    const entry = this.#find(request) ?? this.#unshelve(request)
    if (entry === undefined) return undefined
    // Who has asked again may do so once more: the next time it takes no digest.
    const text = recalled === undefined ? undefined : textOf(recalled, this.#nameOf(options))
    return this.#give(entry, text)
  }

  /**
   * The same by the text of the request; the listener is told.
   *
   * @param route - the options in force, which no other route has: another may compare in another way
   */
  recall(request: RecallRequest, route: Job['options'], context: Listening): Replayed | undefined {
    if (!this.#young.hasTexts && !this.#old.hasTexts) return undefined
    const startedAt = this.#clock.now()
    const text = textOf(request, this.#nameOf(route))
    if (text === undefined) return undefined
    const entry = this.#young.findByText(text) ?? this.#old.findByText(text)
    const replayed = entry && this.#give(entry, text)
    if (entry === undefined || replayed === undefined) return undefined
    const { identity, fingerprint } = entry
    const { origin } = request
    context.ended('replayed', { identity, fingerprint, origin, startedAt, trace: {} })
    return replayed
  }

  #nameOf(route: object): string {
    const name = this.#routes.get(route) ?? String(++this.#routeCount)
    this.#routes.set(route, name)
    return name
  }

  #give(entry: Entry, text: string | undefined): Replayed | undefined {
    const now = this.#clock.now()
    if (entry.staleAt <= now) {
      this.#remove(entry)
      return undefined
    }
    const known = text ?? entry.text
    if (this.#young.find(entry.request) === undefined || entry.text !== known) {
      this.#remove(entry)
      entry.text = known
      this.#add(entry)
    }
    const { response, requestId, expiresAt } = entry
    return { outcome: 'replayed', response, requestId, expiresInMs: expiresAt - now }
  }

  /** Keeps an answer, unless it alone is larger than what there is for those that are asked for. */
  set(asked: CachedFor, replay: CachedReplay): void {
    const known = this.#find(asked.request)
    if (known !== undefined) this.#remove(known)
    const staleAt = Math.min(this.#clock.now() + this.#ageMsMax, replay.expiresAt)
    const { body } = replay.response
    const isShelved =
      body.byteLength <= SHELVED_BYTES_MAX &&
      this.#shelf.put(asked.request, shelvedOf(asked, replay, staleAt), body)
    if (isShelved) return
    this.#shelf.take(asked.request)
    this.#add(new Entry(asked, replay, staleAt))
  }

  /** Keeps an answer from being given again, because an operator says so. */
  forget(request: string): void {
    const entry = this.#find(request)
    if (entry !== undefined) this.#remove(entry)
    this.#shelf.take(request)
  }

  #find(request: string): Entry | undefined {
    return this.#young.find(request) ?? this.#old.find(request)
  }

  #unshelve(request: string): Entry | undefined {
    const taken = this.#shelf.take(request)
    return taken && entryOf(request, taken.thing, taken.bytes)
  }

  #add(entry: Entry): void {
    const { bytes } = entry
    if (bytes > this.#bytesMax) return
    if (this.#young.bytes + bytes > this.#bytesMax / 2) {
      this.#old = this.#young
      this.#young = new Generation()
    }
    if (this.#young.bytes + this.#old.bytes + bytes > this.#bytesMax) this.#old = new Generation()
    this.#young.add(entry)
  }

  #remove(entry: Entry): void {
    this.#young.remove(entry)
    this.#old.remove(entry)
  }
}
