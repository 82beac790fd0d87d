/**
 * What an operator may see and do. Dashboard and CLI are two faces of this one object.
 *
 * Reading never changes anything. Every change names who makes it and why, is written to the audit
 * in the transaction that makes it, happens at most once however often it is sent, and is refused
 * with the state at hand if the record is no longer what the operator saw.
 *
 * @module
 */

import type { Counts } from '../engine/counts.ts'
import type { DeadLetter, HistoryEntry } from '../engine/letters.ts'
import type { HitRate } from '../telemetry/hit-rate.ts'
import type { Concern, CountPoint, Recorded } from './concerns.ts'
import type { Batch, LetterSettlement, Order, OrderResult, RequestAction } from './orders.ts'

export type {
  Batch,
  Concern,
  CountPoint,
  LetterSettlement,
  Order,
  OrderResult,
  Recorded,
  RequestAction,
}

/**
 * How a request stands, in the operator's words:
 * - `running`: the lease is held by the request that began it.
 * - `recovering`: the lease is held by the completer.
 * - `unfinished`: nobody holds the lease; inside the grace period.
 * - `stuck`: nobody has finished it and the grace period is over.
 * - `finished`: the answer is stored and replays; its status is under 400.
 * - `failed`: the same with a status of 400 or more.
 * - `needs_person`: a dead letter that is not settled.
 * - `expired`: past its retention; the next request starts anew.
 */
export type RequestState =
  | 'running'
  | 'recovering'
  | 'unfinished'
  | 'stuck'
  | 'finished'
  | 'failed'
  | 'needs_person'
  | 'expired'

/** A request in a list. */
export interface RequestSummary {
  /** Id of the record: a digest. */
  readonly id: string
  readonly key: string
  readonly operation: string
  /** As the app named it. */
  readonly caller: string
  readonly state: RequestState
  readonly recoveryPoint: string | null
  /** How often the lease was taken. */
  readonly attempts: number
  /** How many duplicates were answered, as far as they were noted. */
  readonly duplicates: number
  /** Status of the stored answer. */
  readonly status: number | null
  /** Milliseconds since 1970 by the store's clock; this and the ones below. */
  readonly createdAt: number
  /** Whatever was last done on it. */
  readonly activeAt: number
  readonly finishedAt: number | null
  readonly expiresAt: number
  /**
   * When the completer puts it before a person, because a run that stopped has left its outcome
   * unknown; `null` where it does not, or where that has been done.
   */
  readonly personAt: number | null
  /** Changes with every change of the record; an action names the one it was shown. */
  readonly version: string
}

/** Which requests. All that are given must hold. */
export interface RequestFilter {
  readonly states?: readonly RequestState[]
  readonly operation?: string
  readonly caller?: string
  /** The whole key, or its beginning with `*` at the end. */
  readonly key?: string
  readonly recoveryPoint?: string
  /**
   * Only those whose outcome is unknown and that do not stand before a person yet. Of the states,
   * `unfinished` and `stuck` go with it.
   */
  readonly isUnknown?: true
  readonly status?: number
  readonly requestId?: string
  /** At least this old, in milliseconds. */
  readonly olderThanMs?: number
  /** At least this many duplicates. */
  readonly duplicatesMin?: number
}

/** A page to ask for. */
export interface PageQuery {
  /** At most this many, from 1 to 200. */
  readonly limit: number
  /** `next` of the page before; the first page without. */
  readonly after?: string
}

/** A page, newest first. */
export interface Page<T> {
  readonly items: readonly T[]
  /** Where the next page starts; `null` at the end. */
  readonly next: string | null
}

/** How many there are of each state, each counted up to {@link COUNT_MAX}. */
export type StateCounts = Readonly<Record<RequestState, number>>

/** Counts stop here; what reaches it is shown as "10 000+". */
export const COUNT_MAX = 10_000

/** A duplicate that was answered without running anything. */
export interface DuplicateNote {
  readonly id: string
  readonly operation: string
  readonly at: number
  readonly result: 'replayed' | 'in_progress' | 'mismatch' | 'unknown'
  readonly requestId: string | null
  readonly ip: string | null
  readonly userAgent: string | null
  /** For mismatches: the fingerprint that came. */
  readonly fingerprint: string | null
}

/** A staged job. */
export interface JobSummary {
  readonly jobId: string
  /** The record it was staged by, if any. */
  readonly id: string | null
  readonly name: string
  readonly state: 'waiting' | 'later' | 'set_aside'
  readonly attempts: number
  readonly stagedAt: number
  readonly runAt: number | null
  readonly lastError: string | null
}

/** What may be done with a request now, and why not. */
export interface Possibility {
  readonly action: RequestAction
  readonly isAllowed: boolean
  /** Whether it can lead to a second effect: then the last four characters of the key confirm it. */
  readonly isDangerous: boolean
  /** What it does, or why it can not be done. */
  readonly reason: string
}

/** Everything about one request. */
export interface RequestDetail extends RequestSummary {
  readonly fingerprint: string
  /** What the caller is called in counts, metrics and logs. */
  readonly callerDigest: string
  readonly requestId: string | null
  readonly ip: string | null
  readonly userAgent: string | null
  readonly resource: { readonly type: string; readonly id: string } | null
  /** Who holds the lease: a digest of the run's token; `null` when nobody does. */
  readonly leaseOwner: string | null
  readonly leaseUntil: number | null
  readonly history: readonly HistoryEntry[]
  readonly duplicateNotes: readonly DuplicateNote[]
  readonly jobs: readonly JobSummary[]
  /** Its dead letter, if it is not settled. */
  readonly letter: string | null
  /** Why it is not finished, or how it ended, in one or two sentences. */
  readonly explanation: string
  /** What happened step by step, in words: for an incident note. */
  readonly story: readonly string[]
  readonly possibilities: readonly Possibility[]
  /** The store's clock when it was read. */
  readonly now: number
}

/**
 * What a person may read of input, state and answer, after redaction. A number that a double can not
 * hold stands as `{ $number: '9007199254740993' }`.
 */
export interface Payload {
  readonly input: unknown
  readonly state: unknown
  readonly response: {
    readonly status: number
    readonly headers: readonly (readonly [string, string])[]
    /** Parsed JSON, text, `{ hex, bytes }`, or `{ omitted: true, bytes }` where it was not kept. */
    readonly body: unknown
  } | null
}

/** A worker, over all nodes. */
export interface WorkerSummary {
  readonly worker: 'enqueuer' | 'completer' | 'reaper'
  readonly nodes: readonly {
    readonly node: string
    readonly agoMs: number
    readonly tookMs: number
    readonly done: number
    readonly error: string | null
  }[]
  readonly isPaused: boolean
  /** Whether none of the nodes has run for three of its intervals. */
  readonly isSilent: boolean
  /** What waits for it, counted up to {@link COUNT_MAX}. */
  readonly backlog: number
}

/** The first page. */
export interface Overview {
  readonly now: number
  readonly windowMs: number
  readonly totals: Counts & { readonly checked: number; readonly duplicatesPrevented: number }
  readonly hitRate: HitRate
  readonly series: readonly CountPoint[]
  readonly byOperation: readonly CountPoint[]
  readonly byCaller: readonly CountPoint[]
  readonly states: StateCounts
  readonly workers: readonly WorkerSummary[]
  readonly concerns: readonly Concern[]
  /** Where it says no, zeros above mean that nobody counted. */
  readonly recorded: Recorded
}

/** One line of the audit. */
export interface AuditEntry {
  readonly number: string
  readonly at: number
  readonly author: string
  readonly action: string
  readonly subject: string
  readonly note: string
  readonly result: string
  /** What was answered. */
  readonly text?: string
  readonly ip: string | null
}

/** The operator's view of a store. */
export interface Admin {
  overview(query: { readonly windowMs: number }): Promise<Overview>
  counts(filter?: RequestFilter): Promise<StateCounts>
  list(filter: RequestFilter, page: PageQuery): Promise<Page<RequestSummary>>
  find(id: string): Promise<RequestDetail | undefined>
  /** Every request with exactly this key, of whichever caller and operation. */
  findByKey(key: string): Promise<readonly RequestSummary[]>
  /** Input, state and answer, redacted; audited. */
  reveal(id: string, order: Order): Promise<Payload | undefined>
  duplicates(
    query: PageQuery & { readonly results?: readonly DuplicateNote['result'][] },
  ): Promise<Page<DuplicateNote>>
  letters(query: PageQuery & { readonly isSettled?: boolean }): Promise<Page<DeadLetter>>
  letter(letter: string): Promise<DeadLetter | undefined>
  jobs(query: PageQuery & { readonly state?: JobSummary['state'] }): Promise<Page<JobSummary>>
  workers(): Promise<readonly WorkerSummary[]>
  audit(query: PageQuery): Promise<Page<AuditEntry>>
  recorded(): Promise<Recorded>

  act(action: RequestAction, id: string, order: Order): Promise<OrderResult>
  settle(letter: string, settlement: LetterSettlement, order: Order): Promise<OrderResult>
  retryJob(jobId: string, order: Order): Promise<OrderResult>
  steerWorker(
    worker: WorkerSummary['worker'],
    way: 'pause' | 'resume' | 'run_once',
    order: Order,
  ): Promise<OrderResult>

  /**
   * The same action on many: on those named, or on all that match now. Which they are is settled at
   * this call; what arrives later is not touched.
   */
  startBatch(
    action: RequestAction,
    on: { readonly ids: readonly string[] } | { readonly filter: RequestFilter },
    order: Order,
  ): Promise<Batch>
  batch(batch: string): Promise<Batch | undefined>
  /** Keeps what is left of it from being done. */
  cancelBatch(batch: string, order: Order): Promise<Batch | undefined>
}
