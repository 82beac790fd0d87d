/**
 * Counters that outlive the process: per hour, operation and caller. A store has them beside the
 * rest of its work.
 *
 * @module
 */

/** Everything that is counted; the names of the metrics, without what is a sum of others. */
export const COUNT_NAMES = [
  'miss',
  'hit',
  'in_progress',
  'mismatch',
  'resumed',
  'rejected',
  'bypassed',
  'store_errors',
  'dead_letters',
  'completed',
  'reaped',
  'enqueued',
] as const

/** The name of a counter. */
export type CountName = (typeof COUNT_NAMES)[number]

/** How often each of them happened. */
export type Counts = Readonly<Record<CountName, number>>

/** What happened to an operation on behalf of a caller. */
export interface CountedRow {
  /** Empty for what belongs to no operation. */
  readonly operation: string
  /** A digest; `other` for those beyond the bound, empty where there is none. */
  readonly caller: string
  readonly counts: Partial<Counts>
}

/** What one process counted since it last said so. */
export interface CountBatch {
  /** Token of the process. */
  readonly writer: string
  /** 1, 2, 3 … for each writer. A batch that is sent again under its number counts nothing. */
  readonly number: number
  readonly rows: readonly CountedRow[]
  /** How many rows an hour has before further callers are counted as `other`. */
  readonly rowsMax: number
}

/** Which sums to read. */
export interface CountQuery {
  /** Hours that reach into the last so many milliseconds. */
  readonly windowMs: number
  /** What to have a sum of each of. */
  readonly by: 'hour' | 'operation' | 'caller'
  readonly operation?: string
  /** A digest, as events have it. */
  readonly caller?: string
  /** At most this many sums: the newest hours, or whatever was asked for most. */
  readonly limit: number
}

/** One sum; of the first three only what was asked for is set. */
export interface CountSum {
  /** When the hour began, in milliseconds since 1970, by the database's clock. */
  readonly hour: number | null
  readonly operation: string | null
  readonly caller: string | null
  readonly counts: Counts
}

/** Where counters are kept. */
export interface CountStore {
  /** Adds a batch to the hour at hand. `false`, adding nothing, if it was added before. */
  add(batch: CountBatch): Promise<boolean>
  read(query: CountQuery): Promise<readonly CountSum[]>
  /** Removes up to `limit` rows of hours that ended longer ago than `retentionMs`. */
  sweep(limit: number, retentionMs: number): Promise<number>
}

/** Nothing has happened yet. */
export function noCounts(): Record<CountName, number> {
  // Every name is there.
  return Object.fromEntries(COUNT_NAMES.map((name) => [name, 0])) as Record<CountName, number>
}
