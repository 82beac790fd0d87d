/**
 * The port for operators: what they see of a store, and what they change in it. A store has it where
 * it can list by time, find by key and keep an audit.
 *
 * Reading never changes anything. Every change is ruled by a pure function on what stands under a
 * lock, and is written in one transaction with its line of the audit.
 *
 * @module
 */

import type { Origin, RecordIdentity, Resource } from '../core/record.ts'
import type { CountStore } from './counts.ts'
import type { DeskBatches } from './desk-batches.ts'
import type { DeadLetter, HistoryEntry, Settlement } from './letters.ts'
import type { Beat, WorkerStatus } from './work.ts'

/** How a request stands, in the operator's words. */
export type DeskState =
  | 'running'
  | 'recovering'
  | 'unfinished'
  | 'stuck'
  | 'finished'
  | 'failed'
  | 'needs_person'
  | 'expired'

/** Every state, in the order in which they are shown. */
export const DESK_STATES: readonly DeskState[] = [
  ...(['running', 'recovering', 'unfinished', 'stuck'] as const),
  ...(['finished', 'failed', 'needs_person', 'expired'] as const),
]

/** Who looks, and by what measure. */
export interface DeskView {
  /** From this age on, in milliseconds, what nobody works on is stuck. */
  readonly graceMs: number
  /** The same for operations that have an age of their own. */
  readonly gracesMs: Readonly<Record<string, number>>
  /** The callers that may be seen; `null` for all. */
  readonly callers: readonly string[] | null
}

/** Which requests. All that are given must hold. */
export interface DeskFilter {
  readonly states?: readonly DeskState[] | undefined
  readonly operation?: string | undefined
  readonly caller?: string | undefined
  readonly key?: string | undefined
  readonly keyPrefix?: string | undefined
  readonly recoveryPoint?: string | undefined
  /** Whether it is known where it stopped; those of which it is not have an unknown outcome. */
  readonly hasPoint?: boolean | undefined
  readonly status?: number | undefined
  readonly requestId?: string | undefined
  /** In milliseconds. */
  readonly olderThanMs?: number | undefined
  readonly duplicatesMin?: number | undefined
}

/** A page to ask for. */
export interface DeskQuery {
  readonly limit: number
  /** `next` of the page before; `null` for the first. */
  readonly after: string | null
}

/** A page, newest first. It may be short, even empty, before the end. */
export interface DeskPage<T> {
  readonly items: readonly T[]
  readonly next: string | null
}

/** A request, without what was stored sealed. Instants are milliseconds since 1970. */
export interface DeskRow extends RecordIdentity {
  readonly fingerprint: string
  readonly fence: number
  readonly owner: string | null
  readonly leaseUntil: number | null
  readonly recoveryPoint: string | null
  /** Status of the stored answer. */
  readonly status: number | null
  readonly resource: Resource | null
  readonly origin: Origin
  readonly createdAt: number
  readonly finishedAt: number | null
  readonly expiresAt: number
  /** When the lease was last taken after the first time. */
  readonly triedAt: number | null
  /** How often workers have taken it. */
  readonly tries: number
  /** When an operator asked for it to be taken up. */
  readonly resumeAt: number | null
  readonly duplicates: number
  /** Its dead letter, if it is not settled. */
  readonly letter: string | null
  readonly state: DeskState
  /** The store's clock when it was read. */
  readonly now: number
}

/** A duplicate that was answered without running anything. */
export interface DeskNote {
  readonly id: string
  readonly operation: string
  readonly at: number
  readonly result: NoteResult
  readonly requestId: string | null
  readonly ip: string | null
  readonly userAgent: string | null
  readonly fingerprint: string | null
}

/** How a duplicate was answered. */
export type NoteResult = 'replayed' | 'in_progress' | 'mismatch' | 'unknown'

/** A duplicate to note. */
export interface NewNote extends Omit<DeskNote, 'at'> {
  /** Digest of the caller. */
  readonly caller: string
  /** How long ago it was answered, in milliseconds. */
  readonly agoMs: number
}

/** Duplicates of some time, as one process answered them. */
export interface NoteBatch {
  readonly notes: readonly NewNote[]
  /** How many each record had, also those of which nothing else is noted. */
  readonly counts: Readonly<Record<string, number>>
}

/** A staged job. */
export interface DeskJob {
  readonly jobId: string
  readonly id: string | null
  readonly name: string
  readonly state: 'waiting' | 'later' | 'set_aside'
  readonly attempts: number
  readonly stagedAt: number
  readonly runAt: number | null
  readonly lastError: string | null
}

/** A job that was set aside. */
export interface SetAsideJob extends DeskJob {
  /** Whether a job of the same name and deduplication key waits in its stead. */
  readonly isStagedAgain: boolean
}

/** One line of the audit. */
export interface DeskAuditEntry {
  readonly number: string
  readonly at: number
  readonly author: string
  readonly action: string
  readonly subject: string
  readonly note: string
  readonly result: string
  readonly text: string
  readonly ip: string | null
}

/** One request with what belongs to it. */
export interface DeskDetail {
  readonly row: DeskRow
  readonly history: readonly HistoryEntry[]
  readonly notes: readonly DeskNote[]
  readonly jobs: readonly DeskJob[]
}

/** What is audited of an order before it is ruled. */
export interface OrderEntry {
  readonly action: string
  readonly subject: string
  readonly author: string
  readonly note: string
  readonly ip: string | null
  /** The same for every sending of one order. */
  readonly orderKey: string | null
}

/** What becomes of an order. */
export interface Ruling<Change> {
  readonly outcome: 'done' | 'not_found' | 'conflict' | 'refused' | 'unconfirmed'
  readonly text: string
  /** What to change; `null` for nothing. */
  readonly change: Change | null
}

/** What became of an order; `isRepeated` when it had been carried out before. */
export interface Ruled {
  readonly outcome: Ruling<unknown>['outcome']
  readonly text: string
  readonly isRepeated: boolean
}

/**
 * - `resume`: the completer takes it at its next run, whatever its patience says.
 * - `suspend`: the lease is taken away; the fence grows, so that who held it can write no more.
 * - `forget`: the record is removed and the key is free.
 * - `expire`: from now on the record counts as absent; the fence grows where it is unfinished.
 */
export type DeskChange = 'resume' | 'suspend' | 'forget' | 'expire'

/** What a change is ruled on: all of it read under the lock. */
export interface Seen {
  readonly row: DeskRow
  readonly history: readonly HistoryEntry[]
}

/** The workers that can be steered. */
export type SteeredWorker = 'enqueuer' | 'completer' | 'reaper'

/** What workers on every node go by. */
export interface Steering {
  readonly isPaused: boolean
  /** Grows whenever one run is asked for. */
  readonly runs: number
}

/** A worker on one node. */
export interface DeskWorker extends Omit<WorkerStatus, 'everyMs'> {
  /** Its interval, in milliseconds; `null` when it has not said so. */
  readonly everyMs: number | null
}

/** The operator's part of a store. */
export interface Desk {
  /** Whether somebody drives unfinished work on, so that it can be resumed without its client. */
  readonly hasCompleter: boolean
  readonly counts: CountStore
  readonly batches: DeskBatches

  list(view: DeskView, filter: DeskFilter, query: DeskQuery): Promise<DeskPage<DeskRow>>
  /** How many of each state, each counted up to `max`; of very many only the newest are looked at. */
  count(view: DeskView, filter: DeskFilter, max: number): Promise<Record<DeskState, number>>
  find(view: DeskView, id: string): Promise<DeskDetail | undefined>
  notes(
    view: DeskView,
    query: DeskQuery & { readonly results: readonly NoteResult[] | null },
  ): Promise<DeskPage<DeskNote>>
  letters(
    view: DeskView,
    query: DeskQuery & { readonly isSettled: boolean | null },
  ): Promise<DeskPage<DeadLetter>>
  letter(view: DeskView, letter: string): Promise<DeadLetter | undefined>
  jobs(
    view: DeskView,
    query: DeskQuery & { readonly state: DeskJob['state'] | null },
  ): Promise<DeskPage<DeskJob>>
  audit(view: DeskView, query: DeskQuery): Promise<DeskPage<DeskAuditEntry>>
  workers(): Promise<readonly DeskWorker[]>
  /** What is wrong with the schema, in words; `null` for nothing. Absent where there is no schema. */
  schemaTrouble?(): Promise<string | null>
  /** What waits for each worker, counted up to `max`. */
  backlog(max: number): Promise<Readonly<Record<SteeredWorker, number>>>

  act(
    view: DeskView,
    on: { readonly id: string; readonly entry: OrderEntry },
    rule: (seen: Seen | undefined) => Ruling<DeskChange>,
  ): Promise<Ruled>
  settle(
    view: DeskView,
    on: { readonly letter: string; readonly entry: OrderEntry },
    rule: (letter: DeadLetter | undefined) => Ruling<Settlement>,
  ): Promise<Ruled>
  retryJob(
    view: DeskView,
    on: { readonly jobId: string; readonly entry: OrderEntry },
    rule: (job: SetAsideJob | undefined) => Ruling<'retry'>,
  ): Promise<Ruled>
  steer(
    on: { readonly worker: SteeredWorker; readonly entry: OrderEntry },
    rule: (steering: Steering) => Ruling<'pause' | 'resume' | 'run_once'>,
  ): Promise<Ruled>
  /** Writes a line of the audit for what changes nothing else; `caller` is whom it concerns. */
  note(entry: OrderEntry, ruled: Omit<Ruled, 'isRepeated'>, caller: string | null): Promise<void>

  steering(worker: SteeredWorker): Promise<Steering>
  /** Calls `wake` when the worker is steered. Best effort: it also looks at each run. */
  watchSteering(worker: SteeredWorker, wake: () => void): Promise<() => void>
  /** Records that a worker ran, where the store keeps no work. */
  beat?(beat: Beat): Promise<void>

  addNotes(batch: NoteBatch): Promise<void>
  /** Removes up to `limit` notes and counts that are older, or of records that are gone. */
  sweepNotes(limit: number, retentionMs: number): Promise<number>
}
