import type { Quota } from '../../core/quota.ts'
import type { KeyRecord, RecordStatus } from '../../core/record.ts'
import type { OverQuota, StoreStats } from '../../engine/store.ts'
import type { SqliteDatabase, SqliteStatement } from './client.ts'
import type { Queries } from './queries.ts'
import { type RecordRow, recordOf, valuesOf } from './record.ts'

/** A record, if there is one, and the database's time at which it was read. */
export interface Sight {
  readonly record: KeyRecord | undefined
  readonly now: number
}

/** What a listing filters by. */
export interface Candidate {
  readonly id: string
  readonly caller: string
  readonly operation: string
  readonly status: RecordStatus
}

/** The table of records on one handle: every method is one statement, prepared once. */
export class Table {
  readonly #database: SqliteDatabase
  readonly #queries: Queries
  readonly #statements = new Map<string, SqliteStatement>()

  constructor(database: SqliteDatabase, queries: Queries) {
    this.#database = database
    this.#queries = queries
  }

  look(id: string): Sight {
    // The query answers with exactly one row, of null columns when there is no record; a handle may
    // be set to read integers as big ones.
    const row = this.#prepared(this.#queries.look).get(id) as
      | (RecordRow & { readonly now: number | bigint })
      | { readonly now: number | bigint; readonly id: null }
    return { now: Number(row.now), record: row.id === null ? undefined : recordOf(row) }
  }

  insert(record: KeyRecord): void {
    this.#prepared(this.#queries.insert).run(...valuesOf(record))
  }

  put(record: KeyRecord): void {
    this.#prepared(this.#queries.put).run(...valuesOf(record))
  }

  remove(id: string): void {
    this.#prepared(this.#queries.remove).run(id)
  }

  /** Has a fresh record count towards the quota that it was made under. */
  count(id: string, quota: Quota | undefined): void {
    if (quota) this.#prepared(this.#queries.count).run(Math.round(quota.perMs), id)
  }

  /** Whether a fresh record of the caller would be one too many. */
  overQuota(caller: string, quota: Quota): OverQuota | undefined {
    if (quota.keys < 1) return { outcome: 'over_quota', roomInMs: quota.perMs }
    // The query selects just this column; a handle may be set to read integers as big ones.
    const row = this.#prepared(this.#queries.room).get(caller, quota.keys - 1) as
      | { readonly ms: number | bigint }
      | null
      | undefined
    return row == null ? undefined : { outcome: 'over_quota', roomInMs: Number(row.ms) }
  }

  lock(): void {
    this.#prepared(this.#queries.lock).run()
  }

  scan(scope: 'all' | 'unfinished', after: string, limit: number): readonly Candidate[] {
    const { scan, scanUnfinished } = this.#queries
    const statement = this.#prepared(scope === 'all' ? scan : scanUnfinished)
    // The query selects just these columns.
    return statement.all(after, limit) as Candidate[]
  }

  sweep(limit: number): number {
    return Number(this.#prepared(this.#queries.sweep).run(limit).changes)
  }

  stats(): StoreStats {
    // The query selects just these columns.
    const rows = this.#prepared(this.#queries.stats).all() as readonly {
      readonly status: RecordStatus
      readonly count: number | bigint
    }[]
    const count = (status: RecordStatus) =>
      Number(rows.find((row) => row.status === status)?.count ?? 0)
    return {
      running: count('running'),
      suspended: count('suspended'),
      unknown: count('unknown'),
    }
  }

  #prepared(sql: string): SqliteStatement {
    const known = this.#statements.get(sql)
    if (known !== undefined) return known
    const statement = this.#database.prepare(sql)
    this.#statements.set(sql, statement)
    return statement
  }
}
