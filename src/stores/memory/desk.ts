/**
 * The operator's view of records in memory: everything is looked at, and nothing outlives the process.
 *
 * @module
 */

import { callerDigest } from '../../core/identity.ts'
import { isExpired, type KeyRecord } from '../../core/record.ts'
import {
  DESK_STATES,
  type Desk,
  type DeskAuditEntry,
  type DeskChange,
  type DeskFilter,
  type DeskPage,
  type DeskQuery,
  type DeskRow,
  type DeskState,
  type DeskView,
  type DeskWorker,
  type NoteBatch,
  type OrderEntry,
  type Ruled,
  type Ruling,
  type Steering,
} from '../../engine/desk.ts'
import type { Beat } from '../../engine/work.ts'
import { MemoryBatches } from './batches.ts'
import { MemoryCounts } from './counts.ts'
import { isMatch, isSeen, type KeptNote, noteOf, paged, stateOf } from './rows.ts'
import type { MemoryDeskParts } from './store.ts'

/**
 * The operator's view of a memory store.
 *
 * @example
 * ```ts
 * const store = memoryStore({ desk: memoryDesk })
 * ```
 */
export function memoryDesk(parts: MemoryDeskParts): Desk {
  return new MemoryDesk(parts)
}

/** How much is kept of what has no other end. */
const NOTES_MAX = 10_000
const AUDIT_MAX = 10_000
/** How many duplicates are shown with one request. */
const NOTES_SHOWN = 100

class MemoryDesk implements Desk {
  readonly hasCompleter = false
  readonly counts: MemoryCounts
  readonly batches: MemoryBatches
  readonly #parts: MemoryDeskParts
  readonly #audit: (DeskAuditEntry & { caller: string | null; orderKey: string | null })[] = []
  readonly #notes: KeptNote[] = []
  readonly #duplicates = new Map<string, number>()
  readonly #steering = new Map<string, Steering>()
  readonly #workers = new Map<string, Beat & { at: number }>()
  #number = 0

  constructor(parts: MemoryDeskParts) {
    this.#parts = parts
    this.counts = new MemoryCounts(() => this.#now())
    this.batches = new MemoryBatches((entry, text) => {
      this.#write(entry, { outcome: 'done', text }, null)
    })
  }

  async list(view: DeskView, filter: DeskFilter, query: DeskQuery): Promise<DeskPage<DeskRow>> {
    return paged(this.#rows(view, filter), query, ({ createdAt, id }) => [createdAt, id])
  }

  async count(view: DeskView, filter: DeskFilter, max: number): ReturnType<Desk['count']> {
    const rows = this.#rows(view, { ...filter, states: undefined })
    const counted = DESK_STATES.map((state) => {
      return [state, Math.min(max, rows.filter((row) => row.state === state).length)]
    })
    // Every state is there.
    return Object.fromEntries(counted) as Record<DeskState, number>
  }

  async find(view: DeskView, id: string): ReturnType<Desk['find']> {
    const record = this.#parts.records.get(id)
    if (record === undefined || !isSeen(view, record.caller)) return undefined
    const notes = this.#notes.filter((note) => note.id === id).reverse()
    return {
      ...{ row: this.#row(view, record), history: [], jobs: [] },
      notes: notes.slice(0, NOTES_SHOWN).map(noteOf),
    }
  }

  async notes(view: DeskView, query: Parameters<Desk['notes']>[1]): ReturnType<Desk['notes']> {
    const callers = view.callers?.map(callerDigest)
    const found = this.#notes
      .filter(({ result }) => query.results?.includes(result) ?? true)
      .filter(({ caller }) => callers?.includes(caller) ?? true)
      .reverse()
    const { items, next } = paged(found, query, ({ number }) => [number, ''])
    return { items: items.map(noteOf), next }
  }

  async letters(): ReturnType<Desk['letters']> {
    return { items: [], next: null }
  }

  async letter(): ReturnType<Desk['letter']> {
    return undefined
  }

  async jobs(): ReturnType<Desk['jobs']> {
    return { items: [], next: null }
  }

  async audit(view: DeskView, query: DeskQuery): ReturnType<Desk['audit']> {
    const found = this.#audit.filter(({ caller }) => caller === null || isSeen(view, caller))
    const { items, next } = paged(found.reverse(), query, ({ number }) => [Number(number), ''])
    return { items: items.map(({ caller: _, orderKey: __, ...entry }) => entry), next }
  }

  async workers(): Promise<readonly DeskWorker[]> {
    const now = this.#now()
    return [...this.#workers.values()].map(({ at, everyMs = null, ...beat }) => {
      return { ...beat, everyMs, agoMs: now - at }
    })
  }

  async backlog(max: number): ReturnType<Desk['backlog']> {
    const now = this.#parts.clock.now()
    const expired = [...this.#parts.records.values()].filter((record) => isExpired(record, now))
    return { enqueuer: 0, completer: 0, reaper: Math.min(max, expired.length) }
  }

  async act(
    view: DeskView,
    { id, entry }: { readonly id: string; readonly entry: OrderEntry },
    rule: Parameters<Desk['act']>[2],
  ): Promise<Ruled> {
    const record = this.#parts.records.get(id)
    const isThere = record !== undefined && isSeen(view, record.caller)
    return this.#order(entry, record?.caller ?? null, () => {
      const ruling = rule(isThere ? { row: this.#row(view, record), history: [] } : undefined)
      if (isThere && ruling.change !== null) this.#change(record, ruling.change)
      return ruling
    })
  }

  async settle(...[, { entry }, rule]: Parameters<Desk['settle']>): Promise<Ruled> {
    return this.#order(entry, null, () => rule(undefined))
  }

  async retryJob(...[, { entry }, rule]: Parameters<Desk['retryJob']>): Promise<Ruled> {
    return this.#order(entry, null, () => rule(undefined))
  }

  async steer(...[{ worker, entry }, rule]: Parameters<Desk['steer']>): Promise<Ruled> {
    const before = await this.steering(worker)
    return this.#order(entry, null, () => {
      const ruling = rule(before)
      const { change } = ruling
      if (change === null) return ruling
      const runs = before.runs + (change === 'run_once' ? 1 : 0)
      const isPaused = change === 'run_once' ? before.isPaused : change === 'pause'
      this.#steering.set(worker, { isPaused, runs })
      this.#parts.watchers.wake(`steering ${worker}`)
      return ruling
    })
  }

  async note(...[entry, ruled, caller]: Parameters<Desk['note']>): Promise<void> {
    this.#order(entry, caller, () => ({ ...ruled, change: null }))
  }

  async steering(worker: string): Promise<Steering> {
    return this.#steering.get(worker) ?? { isPaused: false, runs: 0 }
  }

  async watchSteering(worker: string, wake: () => void): Promise<() => void> {
    return this.#parts.watchers.add(`steering ${worker}`, wake)
  }

  async beat(beat: Beat): Promise<void> {
    const id = `${beat.worker} ${beat.node}`
    const done = beat.done + (this.#workers.get(id)?.done ?? 0)
    this.#workers.set(id, { ...beat, done, at: this.#now() })
  }

  async addNotes({ notes, counts }: NoteBatch): Promise<void> {
    const now = this.#now()
    for (const note of notes) {
      this.#notes.push({ ...note, at: now - note.agoMs, number: ++this.#number })
    }
    this.#notes.splice(0, this.#notes.length - NOTES_MAX)
    for (const [id, count] of Object.entries(counts)) {
      this.#duplicates.set(id, count + (this.#duplicates.get(id) ?? 0))
    }
  }

  async sweepNotes(limit: number, retentionMs: number): Promise<number> {
    const past = this.#now() - retentionMs
    const index = this.#notes.findIndex(({ at }) => at >= past)
    const swept = Math.min(limit, index === -1 ? this.#notes.length : index)
    this.#notes.splice(0, swept)
    for (const id of this.#duplicates.keys()) {
      if (!this.#parts.records.has(id)) this.#duplicates.delete(id)
    }
    return swept
  }

  #now(): number {
    return this.#parts.clock.now() + this.#parts.sinceMs
  }

  #order<Change>(entry: OrderEntry, caller: string | null, rule: () => Ruling<Change>): Ruled {
    const { orderKey, action, subject } = entry
    const first = this.#audit.find((line) => orderKey !== null && line.orderKey === orderKey)
    if (first !== undefined && (first.action !== action || first.subject !== subject)) {
      const text = `This order key was used before, to ${first.action} ${first.subject}.`
      return { outcome: 'refused', text, isRepeated: false }
    }
    if (first !== undefined) return { outcome: 'done', text: first.text, isRepeated: true }
    const { outcome, text } = rule()
    this.#write(entry, { outcome, text }, caller)
    return { outcome, text, isRepeated: false }
  }

  #write(
    { orderKey, ...entry }: OrderEntry,
    { outcome, text }: { readonly outcome: string; readonly text: string },
    caller: string | null,
  ): void {
    const number = String(++this.#number)
    const key = outcome === 'done' ? orderKey : null
    const line = { number, at: this.#now(), ...entry, result: outcome, text, caller }
    this.#audit.push({ ...line, orderKey: key })
    this.#audit.splice(0, this.#audit.length - AUDIT_MAX)
  }

  #change(record: KeyRecord, change: DeskChange): void {
    const { records, watchers, clock } = this.#parts
    const isOpen = record.response === null
    const freed = { ...record, fence: record.fence + 1, owner: null, leaseUntil: null }
    if (change === 'forget') records.delete(record.id)
    if (change === 'suspend') records.set(record.id, freed)
    if (change === 'expire') {
      records.set(record.id, { ...(isOpen ? freed : record), expiresAt: clock.now() })
    }
    watchers.wake(record.id)
  }

  #rows(view: DeskView, filter: DeskFilter): readonly DeskRow[] {
    return [...this.#parts.records.values()]
      .filter(({ caller }) => isSeen(view, caller))
      .map((record) => this.#row(view, record))
      .filter((row) => isMatch(row, filter))
      .sort((a, b) => b.createdAt - a.createdAt || (a.id < b.id ? 1 : -1))
  }

  #row(view: DeskView, record: KeyRecord): DeskRow {
    const { sinceMs, clock } = this.#parts
    const since = (instant: number | null) => (instant === null ? null : instant + sinceMs)
    const { input: _, state: __, response, ...rest } = record
    return {
      ...rest,
      status: response?.status ?? null,
      leaseUntil: since(record.leaseUntil),
      createdAt: record.createdAt + sinceMs,
      finishedAt: since(record.finishedAt),
      expiresAt: record.expiresAt + sinceMs,
      ...{ triedAt: null, tries: 0, resumeAt: null, letter: null, now: this.#now() },
      duplicates: this.#duplicates.get(record.id) ?? 0,
      state: stateOf(view, record, clock.now()),
    }
  }
}
