/**
 * What the first page is made of: what needs a look, and sums.
 *
 * @module
 */

import type { Counts } from '../engine/counts.ts'

/** Something that needs a look, worst first. */
export interface Concern {
  readonly kind:
    | 'dead_letters'
    | 'outcome_unknown'
    | 'stuck'
    | 'worker_silent'
    | 'backlog'
    | 'store_errors'
    | 'schema'
  readonly text: string
  /** How many. */
  readonly count: number
}

/** Sums of an hour or of whatever they were asked by. */
export interface CountPoint {
  /** An hour in milliseconds since 1970, an operation, or the digest of a caller. */
  readonly of: number | string
  /** The caller whose digest it is, where one of the latest requests is its. */
  readonly caller?: string
  readonly counts: Counts
}

/** What the app has ever brought to the store beside its requests, as far as it is kept. */
export interface Recorded {
  /** Counts, by `keepStats`. */
  readonly counts: boolean
  /** Duplicates, by `keepDuplicates`. */
  readonly duplicates: boolean
}
