/**
 * Transaction mode: the key, the handler's own rows and the answer commit together, or not at all.
 *
 * ```
 * begin + reserve ──granted──► handler(tx) ──answers──► insert + commit ──► executed
 *        │                        │ throws, or is not to be stored: rollback, nothing happened
 *        └─refused─► result       └ serialization failure, deadlock, lost race: all of it again
 * ```
 *
 * With `claim: 'with-first-statement'` the handler runs first, and begin and reserve go with its first
 * statement. If that is refused, whatever the handler makes of it is discarded, and the key is asked
 * for again in the ordinary way, which says what is due to the request.
 *
 * The handler may run again, and one run commits. What is done outside `tx` stays: use phases for it.
 *
 * @module
 */

import { COMMIT_UNKNOWN, CONFLICT, STORE_UNAVAILABLE } from '../core/error-table.ts'
import { isRepriseError, RepriseError } from '../core/errors.ts'
import { isLater } from '../core/later.ts'
import { invalid } from '../core/options.ts'
import { judge } from '../core/policy.ts'
import { isFinished } from '../core/record.ts'
import type { CapturedResponse } from '../core/response.ts'
import { pause, within } from './bounded.ts'
import type { Cancel } from './clock.ts'
import type { Context } from './context.ts'
import { BegunFlight, EarlyResult, type Flight } from './flights.ts'
import { claimedBy, isRehearsed } from './held-claim.ts'
import type { Job } from './job.ts'
import { type RunResult, unstored } from './result.ts'
import { openResponse } from './seal.ts'
import type { Finish, Refusal } from './store.ts'
import {
  HandlerRun,
  type TransactionHandler,
  type TransactionOptions,
  type TransactionRun,
} from './transaction-handler.ts'
import { transactionRequest } from './transaction-request.ts'
import type { HeldClaim, OpenTransaction, TransactionFault, Transactions } from './transactions.ts'

/** Renewals that may fail before the database gives the transaction up. */
const BEATS_PER_LEASE = 3
/** First pause before a transaction is run again; doubles, with jitter. */
const RETRY_MS = 10
/** What is let through before its end would be committed before its end. */
const STREAMS =
  'the answer streams, and in transaction mode it has to be whole before the commit: raise bodyBytesMax, or leave transaction mode'

/** Flights of transaction mode, all for one request. */
export class TransactionRuns<Tx> {
  readonly #context: Context<Tx>
  readonly #transactions: Transactions<Tx>
  /** How often the handler was run, in this flight and in those before it. */
  #runs = 0

  constructor(context: Context<Tx>, transactions: Transactions<Tx>) {
    this.#context = context
    this.#transactions = transactions
  }

  /** Begins a flight: reserves the key, and runs the handler if nothing stands in the way. */
  start(job: Job, handler: TransactionHandler<Tx>, options: TransactionOptions<Tx>): Flight {
    const begun = this.#begin(job, options)
    const early = new EarlyResult()
    const ended = this.#transact(job, { begun, handler, options, early })
    const claimed =
      options.claim === 'with-first-statement'
        ? () => begun.then((first) => this.#claimed(first, ended))
        : undefined
    const startedAt = this.#context.clock.now()
    return new BegunFlight({ job, begun, isGranted: isOpen, ended, startedAt, claimed, early })
  }

  /** A refusal, or that the handler may run or has had its claim granted. */
  #claimed(
    first: OpenTransaction<Tx> | Refusal,
    ended: Promise<RunResult>,
  ): Promise<RunResult | undefined> | undefined {
    if (!isOpen(first)) return ended
    return first.held && claimedBy(first.held, ended)
  }

  /** Runs the transaction until it commits, is refused, or has failed too often. */
  async #transact(job: Job, transacting: Transacting<Tx>): Promise<RunResult> {
    const { begun, handler, options, early } = transacting
    const context = this.#context
    const isJoined = options.join !== undefined
    const attemptsMax = isJoined ? 1 : job.options.transactionAttemptsMax
    let start = await begun
    for (;;) {
      if (!isOpen(start)) return context.refused(job, start)
      if (this.#runs >= attemptsMax) throw await this.#outrun(job, start)
      const attempt = ++this.#runs
      // A rehearsal is a run that is refused, so there has to be another one after it.
      if (attempt < attemptsMax && isRehearsed(options)) start.held?.rehearse()
      const ending = await this.#attempt(job, { open: start, handler, isJoined, early })
      if (!('fault' in ending)) return ending
      if (attempt >= attemptsMax) return await this.#exhausted(job, { ending, attempt, options })
      if (ending.fault !== 'refused') {
        context.emit('transaction_retry', job, ending.error)
        await pause(context.clock, RETRY_MS * 2 ** attempt * context.random.fraction())
      }
      start = await this.#begin(job, options)
    }
  }

  /** What stood in the way of an earlier run is gone, and the handler can not be run once more. */
  async #outrun(job: Job, open: OpenTransaction<Tx>): Promise<RepriseError> {
    await this.#undo(job, open)
    return new RepriseError(CONFLICT, 'What was in the way is gone, and no run is left')
  }

  /** No more runs. Who lost to another run still gets that one's answer. */
  async #exhausted(
    job: Job,
    {
      ending,
      attempt,
      options,
    }: { ending: Faulted; attempt: number; options: TransactionOptions<Tx> },
  ): Promise<RunResult> {
    const isBehind = ending.fault === 'lost' || ending.fault === 'refused'
    if (isBehind && options.join === undefined) {
      const start = await this.#begin(job, options)
      if (!isOpen(start)) return this.#context.refused(job, start)
      await this.#undo(job, start)
    }
    const detail = `The transaction failed ${attempt} times`
    throw new RepriseError(CONFLICT, detail, { cause: ending.error })
  }

  /** One run of the handler; a fault when it is worth another. */
  async #attempt(
    job: Job,
    { open, handler, isJoined, early }: Attempting<Tx>,
  ): Promise<RunResult | Faulted> {
    const context = this.#context
    const run = new HandlerRun(open)
    const stopBeating = this.#beat(job, open)
    let isCommitting = false
    try {
      const response = await this.#answer(job, { open, run, handler })
      if (response === undefined) {
        await this.#undo(job, open)
        return { fault: 'refused', error: undefined }
      }
      if (response.bodyIsStream === true) throw invalid(STREAMS)
      // Nothing on `tx` outlives a rollback, so an answer that is not stored leaves no effect.
      if ((run.override ?? judge(job.options.policy, response, 'none')) !== 'store') {
        const result = unstored({ response, fate: 'forgotten' })
        if (await run.pending.goesOn()) early.resolve({ ...result, fate: 'suspended' })
        await run.pending.over()
        await this.#undo(job, open)
        return result
      }
      const finishing = context.finish(job, response, { resource: run.resource })
      const finish = isLater(finishing) ? await finishing : finishing
      const askedAt = context.clock.now()
      isCommitting = true
      await this.#commit(job, open, finish)
      if (isJoined) {
        return { outcome: 'executed', response, fate: 'stored', expiresInMs: job.retentionMs }
      }
      return context.executed(job, { outcome: 'executed', response, askedAt })
    } catch (error) {
      if (await run.pending.goesOn()) early.reject(error)
      await run.pending.over()
      await this.#undo(job, open)
      const fault = this.#transactions.classify(error)
      if (fault === 'retry' || fault === 'lost') return { fault, error }
      const isUnknown = fault === 'disconnected' || isStoreUnavailable(error)
      if (isCommitting && isUnknown) return await this.#committed(job, error)
      throw error
    } finally {
      stopBeating()
    }
  }

  /** Has the handler answer. Whatever of it still runs after that can no longer reach `tx`. */
  async #answer(
    job: Job,
    {
      open,
      run,
      handler,
    }: { open: OpenTransaction<Tx>; run: HandlerRun<Tx>; handler: TransactionHandler<Tx> },
  ): Promise<CapturedResponse | undefined> {
    const handle = () => this.#handle(job, run, handler)
    try {
      return await (open.held === undefined ? handle() : this.#handleHeld(job, open.held, handle))
    } finally {
      open.close()
    }
  }

  /** Runs the handler. */
  #handle(
    job: Job,
    run: TransactionRun<Tx>,
    handler: TransactionHandler<Tx>,
  ): Promise<CapturedResponse> {
    return this.#context.timed(job, 'handlerMs', () => handler(run))
  }

  /**
   * Has the handler answer; `undefined` when the claim was refused, whatever the handler made of it.
   * What has not claimed yet does so now: an answer or a throw may be that of a duplicate.
   */
  async #handleHeld(
    job: Job,
    held: HeldClaim,
    handled: () => Promise<CapturedResponse>,
  ): Promise<CapturedResponse | undefined> {
    const context = this.#context
    const ending = await new Promise<HandlerEnding | undefined>((resolve) => {
      // Once it was refused nothing that it does counts, so nobody waits for a handler that may be slow,
      // or may never say that it has failed.
      held.whenRefused(() => resolve(undefined))
      handled().then(
        (response) => resolve({ response }),
        (error: unknown) => resolve({ error }),
      )
    })
    if (ending === undefined) return undefined
    const isGranted = held.isGranted ?? (await context.call(job, () => held.claim()))
    if (!isGranted) return undefined
    if ('error' in ending) throw ending.error
    return ending.response
  }

  /** The connection broke during the commit. Whether it went through stands in the store. */
  async #committed(job: Job, cause: unknown): Promise<RunResult> {
    const context = this.#context
    const { id } = job.identity
    try {
      const found = await context.call(job, () => context.store.find(id))
      if (found?.record.owner === job.owner && isFinished(found.record)) {
        const response = await openResponse(job.options, id, found.record.response)
        const askedAt = job.startedAt
        return context.executed(job, { outcome: 'executed', response, askedAt })
      }
    } catch {
      // Told to the listener by `call`; the client asks again with the same key.
    }
    throw new RepriseError(COMMIT_UNKNOWN, undefined, { cause })
  }

  #begin(job: Job, options: TransactionOptions<Tx>): Promise<OpenTransaction<Tx> | Refusal> {
    // Once a run has come to nothing, the next one is to know before it begins.
    const claim = this.#runs === 0 ? options.claim : 'first'
    const request = transactionRequest(job, options, claim)
    const begin = () => this.#context.whenReady(() => this.#transactions.begin(request))
    return this.#context.call(job, begin, undoLate)
  }

  /** Commits. One that never answers is as good as a broken connection: nobody knows. */
  async #commit(job: Job, open: OpenTransaction<Tx>, finish: Finish): Promise<void> {
    const ms = job.options.storeTimeoutMs
    const work = open.commit(finish)
    if ((await within(this.#context.clock, { ms, work, fallback: 'late' })) !== 'late') return
    throw new RepriseError(STORE_UNAVAILABLE, `The commit took more than ${ms} ms`)
  }

  /** Rolls back; a connection that does not answer in time is given up. */
  async #undo(job: Job, open: OpenTransaction<Tx>): Promise<void> {
    const ms = job.options.storeTimeoutMs
    const work = open.rollback().then(() => true)
    if (!(await within(this.#context.clock, { ms, work, fallback: false }))) open.destroy?.()
  }

  /** Keeps the database from taking this side for dead while the handler works. */
  #beat(job: Job, open: OpenTransaction<Tx>): Cancel {
    const { clock } = this.#context
    const everyMs = job.options.leaseMs / BEATS_PER_LEASE
    let cancel: Cancel
    const beat = () => {
      cancel = clock.after(everyMs, beat)
      void open.keepAlive()
    }
    cancel = clock.after(everyMs, beat)
    return () => cancel()
  }
}

interface Transacting<Tx> {
  readonly begun: Promise<OpenTransaction<Tx> | Refusal>
  readonly handler: TransactionHandler<Tx>
  readonly options: TransactionOptions<Tx>
  /** What the request gets before the run is over. */
  readonly early: EarlyResult
}

interface Attempting<Tx> {
  readonly open: OpenTransaction<Tx>
  readonly handler: TransactionHandler<Tx>
  readonly early: EarlyResult
  readonly isJoined: boolean
}

type HandlerEnding = { readonly response: CapturedResponse } | { readonly error: unknown }

interface Faulted {
  /** `refused`: the claim was, together with the first statement. */
  readonly fault: TransactionFault | 'refused'
  readonly error: unknown
}

function isOpen<Tx>(start: OpenTransaction<Tx> | Refusal): start is OpenTransaction<Tx> {
  return 'commit' in start
}

/** It came after the caller had been told that the store is down: nobody will use it. */
function undoLate<Tx>(start: OpenTransaction<Tx> | Refusal): void {
  if (isOpen(start)) start.rollback().catch(() => {})
}

/** Whether the store, not the handler, failed or kept silent. */
function isStoreUnavailable(error: unknown): boolean {
  return isRepriseError(error) && error.code === 'idempotency-store-unavailable'
}
