/**
 * What the parts of one engine share.
 *
 * @module
 */

import { callerDigest } from '../core/identity.ts'
import { isLater } from '../core/later.ts'
import type { CapturedResponse } from '../core/response.ts'
import { started, storeCall } from './bounded.ts'
import type { Clock, Random } from './clock.ts'
import { Durations } from './durations.ts'
import {
  type EventListener,
  type EventType,
  emit,
  type OutcomeType,
  type RepriseEvent,
  type Skipped,
} from './events.ts'
import { Flights } from './flights.ts'
import type { Job } from './job.ts'
import type { ReplayCache } from './replay-cache.ts'
import type { Executed, Replayed, RunResult } from './result.ts'
import { keptOf, type OpenedResponse, openPlain, openResponse, sealResponse } from './seal.ts'
import type { Finish, Refusal, Replay, Store } from './store.ts'
import { StoreWarnings } from './store-warnings.ts'
import type { Waiters } from './waiters.ts'

/** How a request can end that ran nothing, because of another one. */
const DUPLICATES: ReadonlySet<OutcomeType> = new Set<OutcomeType>([
  'replayed',
  'in_progress',
  'mismatch',
  'unknown',
])

/** What is told of a request that has ended. */
export type Ending = Pick<Job, 'identity' | 'fingerprint' | 'origin' | 'startedAt' | 'trace'>

/** What an engine is made of. */
export interface ContextParts<Tx> {
  readonly store: Store<Tx>
  readonly clock: Clock
  readonly random: Random
  readonly listener: EventListener | undefined
  readonly cache: ReplayCache | undefined
  readonly waiters: Waiters
}

/** Store, ports and what is known in this process, with the few things every mode does alike. */
export class Context<Tx> {
  readonly store: Store<Tx>
  readonly clock: Clock
  readonly random: Random
  readonly cache: ReplayCache | undefined
  readonly waiters: Waiters
  readonly flights: Flights = new Flights()
  readonly durations: Durations = new Durations()
  readonly #listener: EventListener | undefined
  readonly warnings: StoreWarnings
  readonly #background = new Set<Promise<void>>()
  #isReady = false
  /** Ends pauses in the background. */
  readonly #sleepers = new Set<() => void>()
  /** No request is taken any more. */
  isClosing = false
  /** The grace is over: nothing in the background asks the store any more. */
  isClosed = false
  /** The end of the engine, once it was asked for. */
  closing: Promise<void> | undefined

  constructor(parts: ContextParts<Tx>) {
    this.store = parts.store
    this.clock = parts.clock
    this.random = parts.random
    this.cache = parts.cache
    this.waiters = parts.waiters
    this.#listener = parts.listener
    this.warnings = new StoreWarnings(parts.clock, parts.store.name)
  }

  /** Whether anybody is told of anything. */
  get isHeard(): boolean {
    return this.#listener !== undefined
  }

  /** Tells the listener; where there is none, a failing store is a warning of the process. */
  emit(type: EventType, job: Job, error?: unknown): void {
    if (this.#listener === undefined && type === 'store_error') this.warnings.tell(error)
    this.#tell(type, job, error === undefined ? {} : { error })
  }

  /** Tells the listener how a request ended, and what its time went on. */
  ended(type: OutcomeType, job: Ending, error?: unknown): void {
    if (this.#listener === undefined) return
    const { waitedMs = 0, isFirst = false, ...trace } = job.trace
    const elapsedMs = this.clock.now() - job.startedAt
    const overheadMs = Math.max(0, elapsedMs - waitedMs - (trace.handlerMs ?? 0))
    const { origin, fingerprint } = job
    const more = DUPLICATES.has(type) && !isFirst ? { duplicate: { ...origin, fingerprint } } : {}
    const told = { ...trace, overheadMs, ...more }
    this.#tell(type, job, error === undefined ? told : { ...told, error })
  }

  #tell(type: EventType, { identity, startedAt }: Ending, more: Partial<RepriseEvent>): void {
    if (this.#listener === undefined) return
    const { id, operation, caller } = identity
    const elapsedMs = this.clock.now() - startedAt
    emit(this.#listener, { type, id, operation, caller: callerDigest(caller), elapsedMs, ...more })
  }

  /** Does `work`, and notes on the request how long it took, for who is told. */
  timed<T>({ trace }: Job, part: 'handlerMs' | 'waitedMs', work: () => Promise<T>): Promise<T> {
    if (!this.isHeard) return started(work)
    const startedAt = this.clock.now()
    const note = (): void => {
      trace[part] = (trace[part] ?? 0) + this.clock.now() - startedAt
    }
    return started(work).then(
      (value) => {
        note()
        return value
      },
      (error: unknown) => {
        note()
        throw error
      },
    )
  }

  /** Tells the listener of a request that came to no run. */
  skip(skipped: Skipped): void {
    emit(this.#listener, { ...skipped, id: null, caller: null, elapsedMs: 0 })
  }

  /**
   * One call to the store, bounded; a failure is told to the listener and thrown. `onLate` is given an
   * answer that nobody waits for any more.
   */
  call<T>(job: Job, call: () => Promise<T>, onLate?: (answer: T) => void): Promise<T> {
    const onError = (error: unknown): void => this.emit('store_error', job, error)
    return storeCall({ clock: this.clock, ms: job.options.storeTimeoutMs, onError, onLate }, call)
  }

  /** Calls `verb` once the store is ready, which it stays. */
  whenReady<T>(verb: () => Promise<T>): Promise<T> {
    if (this.#isReady) return verb()
    return this.store.ready().then(() => {
      this.#isReady = true
      return verb()
    })
  }

  /** Work that goes on after the answer was given; `settled` waits for it. It must not throw. */
  background(work: Promise<void>): void {
    this.#background.add(work)
    void work.finally(() => this.#background.delete(work))
  }

  /** Waits in the background: for `ms` milliseconds, or until the engine is closed. */
  rest(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const wake = (): void => {
        cancel()
        this.#sleepers.delete(wake)
        resolve()
      }
      const cancel = this.clock.after(ms, wake)
      this.#sleepers.add(wake)
    })
  }

  /** Ends what goes on in the background. */
  stop(): void {
    this.isClosed = true
    for (const wake of this.#sleepers) wake()
  }

  /** Resolves when nothing is running any more. */
  async settled(): Promise<void> {
    await this.flights.landed()
    await Promise.allSettled(this.#background)
  }

  /** The answer as it is to be stored. */
  finish(
    { options, identity, retentionMs }: Job,
    response: CapturedResponse,
    { resource }: Pick<Finish, 'resource'>,
  ): Finish | Promise<Finish> {
    const sealed = sealResponse(options, identity.id, response)
    if (!isLater(sealed)) return { response: sealed, retentionMs, resource }
    return sealed.then((later) => ({ response: later, retentionMs, resource }))
  }

  /** The result of a run whose answer is stored; `askedAt` is when the store was asked to. */
  executed(job: Job, { outcome, response, askedAt }: Stored): Executed {
    const { retentionMs, origin } = job
    this.durations.observe(job.identity.operation, this.clock.now() - job.startedAt)
    if (job.isServed !== false) {
      this.cache?.set(job, {
        response: keptOf(job.options, response),
        requestId: origin.requestId,
        expiresAt: askedAt + retentionMs,
      })
    }
    return { outcome, response, fate: 'stored', expiresInMs: retentionMs }
  }

  /** What duplicates in this process get of an answer that was stored. */
  replayOf(job: Job, { response, expiresInMs }: Executed): Replayed {
    return {
      outcome: 'replayed',
      response: keptOf(job.options, response),
      requestId: job.origin.requestId,
      expiresInMs: expiresInMs ?? 0,
    }
  }

  /** The store's refusal as the result of a run. */
  refused(job: Job, refusal: Refusal): RunResult | Promise<RunResult> {
    switch (refusal.outcome) {
      case 'replay':
        return this.#replayed(job, refusal)
      case 'in_progress':
        return this.running(job, refusal.ageMs ?? 0)
      case 'over_quota':
        return { outcome: 'over_quota', retryAfterMs: refusal.roomInMs }
      case 'mismatch':
      case 'unknown':
        return { outcome: refusal.outcome }
    }
  }

  /** "In progress", with when to ask again. */
  running(job: Job, ageMs: number): RunResult {
    const retryAfterMs = this.durations.retryAfter(job.identity.operation, ageMs)
    return { outcome: 'in_progress', retryAfterMs }
  }

  #replayed(job: Job, replay: Replay): Replayed | Promise<Replayed> {
    const { response } = replay
    const plain = openPlain(response)
    if (plain !== undefined) return this.#kept(job, replay, plain)
    const opening = openResponse(job.options, job.identity.id, response)
    return opening.then((opened) => this.#kept(job, replay, opened))
  }

  #kept(job: Job, { requestId, expiresInMs }: Replay, response: OpenedResponse): Replayed {
    // Counted from before the store was asked, so that the cache never outlives the record.
    const expiresAt = job.startedAt + expiresInMs
    if (job.isServed !== false) this.cache?.set(job, { response, requestId, expiresAt })
    return { outcome: 'replayed', response, requestId, expiresInMs }
  }
}

/** An answer that the store has. */
export interface Stored {
  readonly outcome: Executed['outcome']
  readonly response: CapturedResponse
  /** When the store was asked to keep it, by the process's clock. */
  readonly askedAt: number
}
