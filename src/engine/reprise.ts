/**
 * The engine's front: one object per store, with the two ways to run a request.
 *
 * @module
 */

import { failureText } from '../core/causes.ts'
import {
  SHUTTING_DOWN,
  STORE_UNAVAILABLE,
  STORE_UNREACHABLE,
  TRANSACTIONS_UNSUPPORTED,
} from '../core/error-table.ts'
import { isRepriseError, RepriseError } from '../core/errors.ts'
import { recordId } from '../core/identity.ts'
import { checkFunctions, checkNames, type Names, RUN_NAMES, said } from '../core/known-options.ts'
import {
  invalid,
  type ResolvedRunOptions,
  type RunOptions,
  resolveRunOptions,
  whole,
} from '../core/options.ts'
import { started, storeCall, within } from './bounded.ts'
import { type Clock, type Random, systemClock, systemRandom } from './clock.ts'
import { closeAll } from './closing.ts'
import { Context } from './context.ts'
import type { EventListener, Skipped } from './events.ts'
import { createJob, type Job, type RunRequest } from './job.ts'
import { LeaseRuns } from './lease-run.ts'
import type { RecallRequest, ReplayCacheOptions } from './replay-cache.ts'
import type { Replayed, RunResult } from './result.ts'
import type { Handler } from './run.ts'
import { settle } from './settle.ts'
import type { Store } from './store.ts'
import type { TransactionRoute } from './transact.ts'
import type { TransactionHandler, TransactionOptions } from './transaction-handler.ts'
import { type WaiterLimits, Waiters } from './waiters.ts'

/** Settings of {@link createReprise}; those of {@link RunOptions} are the defaults of every run. */
export interface RepriseOptions<Tx = never> extends RunOptions {
  /** Where records live. */
  readonly store: Store<Tx>
  /**
   * Bounds of the cache of stored answers in this process; `false` asks the store every time. The
   * memory store is asked in any case: it is in this process too.
   *
   * @default 16 MiB, one minute
   */
  readonly replayCache?: ReplayCacheOptions | false
  /**
   * Bounds on duplicates that wait (`waitMs`).
   *
   * @default 1000 for one key, 10000 in all
   */
  readonly waiters?: WaiterLimits
  /**
   * Receives events, for logs and metrics.
   *
   * @default none
   */
  readonly onEvent?: EventListener
  /**
   * The process's clock, for tests.
   *
   * @default the real one
   */
  readonly clock?: Clock
  /**
   * Chance, for tests.
   *
   * @default the real one
   */
  readonly random?: Random
}

/** Runs requests once, whatever is sent how often. */
export interface LeaseReprise {
  /** Whether the store can commit the app's rows together with the record. */
  readonly hasTransactions: boolean
  /** The options in force. */
  readonly options: ResolvedRunOptions
  /**
   * Runs `handler` for the first request of an identity and gives every further one its answer.
   *
   * @throws RepriseError when the store can not be asked; whatever the handler throws
   */
  run(request: RunRequest, handler: Handler): Promise<RunResult>
  /**
   * Reaches the store now, and checks its schema and settings: before a server listens, and for
   * readiness probes. Takes at most `storeTimeoutMs`.
   *
   * @throws RepriseError that names the cause and what to do: `reprise-store-unreachable`,
   * `reprise-schema-missing`, `reprise-schema-newer`, `reprise-store-unsafe`, or
   * `idempotency-shutting-down` once the engine is closing
   */
  ready(): Promise<void>
  /**
   * For adapters: the answer that is kept in this process for a request, which is then settled by it.
   * Without one the request is to be run.
   */
  recall(request: RecallRequest): Replayed | undefined
  /**
   * For adapters: checks that a route can be in transaction mode.
   *
   * @throws RepriseError `reprise-options-invalid`
   */
  checkTransaction(route: TransactionRoute): void
  /** For adapters: tells the listener of a request that was not brought to a run. */
  skip(skipped: Skipped): void
  /**
   * Stops taking requests, and the workers and dashboards that were made of this engine; waits for
   * the requests that run; sends what the keepers of the store have counted; then closes the store.
   * What is still running after `graceMs` milliseconds (10000 by default) is left to its lease.
   * A process in which nothing runs can end at once, also when the store is away. Repeated calls
   * give the same promise. Clients and pools that you made stay yours to end, after this.
   */
  close(options?: { readonly graceMs?: number }): Promise<void>
}

/** The same where the store has transactions. */
export interface TransactionReprise<Tx> {
  /**
   * Runs `handler` in a transaction that also holds the key and the answer: all of it commits
   * together, or nothing happened.
   *
   * @throws RepriseError when the store can not be asked; whatever the handler throws
   */
  runInTransaction(
    request: RunRequest,
    handler: TransactionHandler<Tx>,
    options?: TransactionOptions<Tx>,
  ): Promise<RunResult>
}

/**
 * What {@link createReprise} makes. `runInTransaction` is there if and only if the store has
 * transactions; `with` gives the same engine with other run options, for a route.
 */
export type Reprise<Tx = never> = LeaseReprise & { with(options: RunOptions): Reprise<Tx> } & ([
    Tx,
  ] extends [never]
    ? unknown
    : TransactionReprise<Tx>)

/** The same without knowing which of the two it is: for adapters, which look at `hasTransactions`. */
export interface AnyReprise<Tx> extends LeaseReprise, Partial<TransactionReprise<Tx>> {
  with(options: RunOptions): AnyReprise<Tx>
}

/**
 * Makes the engine for a store.
 *
 * @example
 * ```ts
 * const reprise = createReprise({ store: postgresStore(pool) })
 * const result = await reprise.run({ caller, operation, key, fingerprints }, charge)
 * ```
 * @throws RepriseError `reprise-options-invalid`
 */
export function createReprise<Tx = never>(options: RepriseOptions<Tx>): Reprise<Tx> {
  checkEngineOptions(options)
  const { store, clock = systemClock, random = systemRandom, onEvent, waiters = {} } = options
  const { perKeyMax = 1000, totalMax = 10_000 } = waiters
  const { replayCache = {} } = options
  const limits = {
    perKeyMax: whole('waiters.perKeyMax', perKeyMax, 0),
    totalMax: whole('waiters.totalMax', totalMax, 0),
  }
  const context = new Context<Tx>({
    ...{ store, clock, random, listener: onEvent },
    cache: replayCache === false ? undefined : store.caching?.open(clock, replayCache),
    waiters: new Waiters(store, clock, limits),
  })
  return new Engine(context, options)
}

const ENGINE: Names<RepriseOptions> = {
  ...RUN_NAMES,
  store: true,
  replayCache: true,
  waiters: true,
  onEvent: true,
  clock: true,
  random: true,
}
const CACHE: Names<ReplayCacheOptions> = { bytesMax: true, ageMsMax: true }
const WAITERS: Names<WaiterLimits> = { perKeyMax: true, totalMax: true }
/** Enough to tell a store from a client, an address or the function that makes one. */
const STORE = ['ready', 'claim']

function checkEngineOptions<Tx>(options: RepriseOptions<Tx>): void {
  const place = 'createReprise()'
  if (typeof options === 'object' && typeof Reflect.get(Object(options), 'claim') === 'function') {
    throw invalid(`${place} was given a store: give an object, createReprise({ store })`)
  }
  checkNames(place, options, ENGINE)
  const asked =
    'store must be what postgresStore(), sqliteStore(), redisStore() or memoryStore() gives'
  checkFunctions(options.store, STORE, asked)
  const { replayCache = {}, waiters = {}, onEvent } = options
  if (replayCache !== false) checkNames(`replayCache of ${place}`, replayCache, CACHE)
  checkNames(`waiters of ${place}`, waiters, WAITERS)
  if (onEvent !== undefined && typeof onEvent !== 'function') {
    throw invalid(
      `onEvent must be a function, not ${said(onEvent)}: of a keeper or a logger it is their member onEvent`,
    )
  }
}

/** What other ways to run a request are built on. */
export interface EngineParts<Tx> {
  readonly context: Context<Tx>
  /** The options in force, as they were given. */
  readonly given: RunOptions
}

const engines = new WeakMap<object, EngineParts<unknown>>()

/** The parts of an engine, for the layers above it. */
export function partsOf<Tx>(reprise: LeaseReprise | TransactionReprise<Tx>): EngineParts<Tx> {
  const parts = engines.get(Object(reprise))
  if (parts === undefined)
    throw invalid(`reprise must be what createReprise() made, not ${said(reprise)}`)
  // Kept by the engine of this very object.
  return parts as EngineParts<Tx>
}

/** How long `close` waits unless told otherwise, in milliseconds. */
const GRACE_MS = 10_000

/** How long the keepers of a store have to send what they counted, in milliseconds. */
const KEEPERS_MS = 500

class Engine<Tx> implements LeaseReprise, TransactionReprise<Tx> {
  readonly #context: Context<Tx>
  readonly #given: RunOptions
  readonly options: ResolvedRunOptions
  readonly #leases: LeaseRuns<Tx>

  constructor(context: Context<Tx>, options: RunOptions) {
    this.#context = context
    this.#given = options
    this.options = resolveRunOptions(options)
    this.#leases = new LeaseRuns(context)
    engines.set(this, { context, given: options })
  }

  get hasTransactions(): boolean {
    return this.#context.store.transactions !== undefined
  }

  checkTransaction(route: TransactionRoute): void {
    const { transactions } = this.#context.store
    if (transactions === undefined) {
      throw invalid(
        'transaction is set, and the store has no transactions: use PostgreSQL or SQLite',
      )
    }
    transactions.check(route)
  }

  with(options: RunOptions): Engine<Tx> {
    checkNames('with()', options, RUN_NAMES)
    return new Engine(this.#context, { ...this.#given, ...options })
  }

  run(request: RunRequest, handler: Handler): Promise<RunResult> {
    return started(() => {
      const job = this.#job(request)
      return settle(this.#context, job, () => this.#leases.start(job, handler))
    })
  }

  runInTransaction(
    request: RunRequest,
    handler: TransactionHandler<Tx>,
    options: TransactionOptions<Tx> = {},
  ): Promise<RunResult> {
    return started(() => {
      const { transactions, name } = this.#context.store
      if (transactions === undefined) {
        throw new RepriseError(TRANSACTIONS_UNSUPPORTED, `The ${name} store has none`)
      }
      const job = this.#job(request)
      return transactions.run(this.#context, job, { transactions, handler, options })
    })
  }

  async ready(): Promise<void> {
    const { clock, store, isClosing } = this.#context
    if (isClosing) throw new RepriseError(SHUTTING_DOWN)
    const look = async () => {
      await store.ready()
      // `store.ready()` asks nothing once it has succeeded. To read a record asks every store something.
      await store.find(recordId(['ready'], 'ready'))
    }
    try {
      // Once more: a pool may hand out a connection that broke while it was idle.
      const work = () => look().catch(look)
      await storeCall({ clock, ms: this.options.storeTimeoutMs }, work)
    } catch (cause) {
      if (!isRepriseError(cause) || cause.code !== STORE_UNAVAILABLE.code) throw cause
      const detail = `The ${store.name} store cannot be used: ${failureText(cause)}`
      throw new RepriseError(STORE_UNREACHABLE, detail, { cause })
    }
  }

  recall(request: RecallRequest): Replayed | undefined {
    return this.#context.cache?.recall(request, this.options, this.#context)
  }

  skip(skipped: Skipped): void {
    this.#context.skip(skipped)
  }

  close({ graceMs = GRACE_MS }: { readonly graceMs?: number } = {}): Promise<void> {
    this.#context.closing ??= this.#close(graceMs)
    return this.#context.closing
  }

  async #close(graceMs: number): Promise<void> {
    const context = this.#context
    const { clock, store, waiters } = context
    context.isClosing = true
    waiters.wakeAll()
    const work = Promise.all([closeAll(context, graceMs), context.settled()])
    await within(clock, { ms: graceMs, work, fallback: undefined })
    context.stop()
    // After the last run, which they count.
    await closeAll(store, KEEPERS_MS)
    await store.close()
  }

  #job(request: RunRequest): Job {
    const { clock, random } = this.#context
    return createJob(request, this.options, { owner: random.token(), startedAt: clock.now() })
  }
}
