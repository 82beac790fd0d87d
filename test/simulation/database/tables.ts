/**
 * The tables of a database in memory that equals PostgreSQL with the schema of the store: the same
 * rows, and the same verbs on them. Every verb is one synchronous function, as atomic as a statement.
 *
 * @module
 */

import type { KeyRecord } from '../../../src/core/record.ts'
import type { BurialCause, DeadLetter, HistoryEntry } from '../../../src/engine/letters.ts'
import type { Flaw } from '../flaws.ts'
import type { Session } from './session.ts'

/** A record as the table has it. */
export interface RecordRow extends KeyRecord {
  /** Which making of the record this is: no other record, also of the same identity, has it. */
  readonly made: number
  readonly triedAt: number | null
  readonly tries: number
  /** Until when it counts for the quota that it was made under; `null` without one. */
  readonly countsUntil: number | null
  /** When other versions were left to take it up; not there once a worker has. */
  readonly resumeAt?: number | undefined
  /** The fence of the worker that took it last. */
  readonly drivenFence?: number
  /** Since when, by which versions and at which fence it was left last. */
  readonly left?: { readonly since: number; readonly by: readonly string[]; readonly fence: number }
}

/** A line of history. */
export interface AttemptRow extends HistoryEntry {
  readonly number: number
  /** Of which making of the record. */
  readonly made: number
  readonly recordId: string
}

/** A staged job. */
export interface JobRow {
  readonly number: number
  readonly id: string
  readonly recordId: string
  readonly name: string
  readonly args: string
  readonly dedupeKey: string | null
  readonly stagedAt: number
  readonly runAt: number | null
  readonly setAsideAt: number | null
  readonly attempts: number
  readonly lastError: string | null
}

/** A dead letter, with what the record was. */
export interface LetterRow extends DeadLetter {
  readonly made: number
  readonly fingerprint: string
  readonly cause: BurialCause
  /** From when on the app is to be told of it; `null` when it was, or need not be. */
  readonly tellAfter: number | null
  /** How long the answer that settles it is kept at least, in milliseconds. */
  readonly retentionMs: number
}

/** A row of the app's own. */
export interface AppRow {
  /** Id of the record that it was written for. */
  readonly id: string
  /** Which making of the record it was committed with. */
  readonly made: number | null
  /** What was done. */
  readonly what: string
  /** Whose doing: the run. */
  readonly by: string
}

/** A change that took effect. */
export type Change =
  | {
      readonly kind: 'record'
      readonly verb: string
      readonly before: RecordRow | undefined
      readonly after: RecordRow | undefined
    }
  | { readonly kind: 'rows'; readonly rows: readonly AppRow[] }
  | { readonly kind: 'job staged' | 'job removed' | 'job set aside'; readonly job: JobRow }
  | { readonly kind: 'buried' | 'settled' | 'withdrawn'; readonly letter: LetterRow }

/** What a database is made with. */
export interface DatabaseOptions {
  /** The clock that decides: nobody's but the database's. */
  readonly now: () => number
  /**
   * What the database measures time with where nobody sets it, in milliseconds.
   *
   * @default `now`
   */
  readonly elapsed?: () => number
  /** Told of every change, when it took effect. */
  readonly onChange?: (change: Change) => void
  /** Planted bugs. */
  readonly flaws?: ReadonlySet<Flaw>
}

/** After so long the disk has everything, in milliseconds: three times `wal_writer_delay`. */
const SYNCED_MS = 600

/** The rows, and what holds between transactions. */
export class Tables {
  readonly records = new Map<string, RecordRow>()
  readonly sessions = new Set<Session>()
  /** Locks until the end of a transaction: rows and advisory ones, by name. */
  readonly locks = new Map<string, Session>()
  /** Grows with each change of a record. */
  readonly versions = new Map<string, number>()
  attempts: AttemptRow[] = []
  jobs: JobRow[] = []
  letters: LetterRow[] = []
  rows: AppRow[] = []
  readonly now: () => number
  readonly elapsed: () => number
  /** The process whose statement is carried out. */
  asker = ''
  readonly #onChange: (change: Change) => void
  readonly #flaws: ReadonlySet<Flaw>
  readonly #wakers = new Map<string, Set<() => void>>()
  /** What only memory has, by record: since when, and what stood there before. */
  readonly #unsynced = new Map<string, { since: number; before: RecordRow | undefined }>()
  #numbers = 0

  constructor({ now, elapsed = now, onChange = () => {}, flaws = new Set() }: DatabaseOptions) {
    this.now = now
    this.elapsed = elapsed
    this.#onChange = onChange
    this.#flaws = flaws
  }

  /** The next number of any sequence. */
  number(): number {
    return ++this.#numbers
  }

  /** Whether this bug is planted. */
  has(flaw: Flaw): boolean {
    return this.#flaws.has(flaw)
  }

  /** Puts `after` in the place of the record; `undefined` removes it. */
  put(id: string, after: RecordRow | undefined, verb: string): void {
    const before = this.records.get(id)
    this.sync()
    if (after === undefined) this.records.delete(id)
    else this.records.set(id, after)
    this.versions.set(id, (this.versions.get(id) ?? 0) + 1)
    this.#onChange({ kind: 'record', verb, before, after })
  }

  /** As `put`, without waiting for the disk: until something does, a crash undoes it. */
  putUnsynced(id: string, after: RecordRow, verb: string): void {
    const others = [...this.#unsynced]
    const before = this.records.get(id)
    this.put(id, after, verb)
    for (const [other, undone] of others) this.#unsynced.set(other, undone)
    this.#unsynced.set(id, { since: this.elapsed(), before })
  }

  /** The disk has everything. */
  sync(): void {
    this.#unsynced.clear()
  }

  /** Undoes what only memory had. */
  crash(): void {
    const now = this.elapsed()
    for (const [id, { since, before }] of [...this.#unsynced]) {
      if (now - since < SYNCED_MS) this.put(id, before, 'crash')
    }
  }

  /** Tells who watches the database. */
  changed(change: Change): void {
    this.sync()
    this.#onChange(change)
  }

  /** Wakes who waits for the record, as a notification would. */
  wake(id: string): void {
    for (const wake of [...(this.#wakers.get(id) ?? [])]) wake()
  }

  /** Calls `wake` at each notification for the record, until the returned function is called. */
  watch(id: string, wake: () => void): () => void {
    const watcher = () => wake()
    const wakers = this.#wakers.get(id) ?? new Set()
    this.#wakers.set(id, wakers.add(watcher))
    return () => {
      wakers.delete(watcher)
      if (wakers.size === 0 && this.#wakers.get(id) === wakers) this.#wakers.delete(id)
    }
  }

  /** How many records are watched. */
  get watched(): number {
    return this.#wakers.size
  }
}
