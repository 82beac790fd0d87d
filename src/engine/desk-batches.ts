/**
 * Bulk actions of an operator: which requests they are on is settled when they begin, and what became
 * of each is kept, so that a batch outlives the page that began it and the process that works on it.
 *
 * @module
 */

import type { OrderEntry } from './desk.ts'

/** What can be done in bulk. */
export type BatchAction = 'resume' | 'release' | 'expire'

/** One request of a batch. */
export interface BatchItem {
  /** From 0. */
  readonly place: number
  readonly id: string
  /** The version that was seen when the batch began. */
  readonly version: string | null
}

/** A batch to begin. */
export interface NewBatch {
  readonly batch: string
  readonly action: BatchAction
  readonly entry: OrderEntry
  /** Whether what can lead to a second effect was confirmed. */
  readonly isConfirmed: boolean
  readonly items: readonly BatchItem[]
}

/** A batch as it stands. */
export interface KeptBatch {
  readonly batch: string
  readonly action: BatchAction
  readonly author: string
  readonly note: string
  readonly ip: string | null
  readonly isConfirmed: boolean
  readonly isCancelled: boolean
  readonly total: number
  readonly results: readonly { readonly id: string; readonly result: string }[]
}

/** Where batches are kept. */
export interface DeskBatches {
  /** Begins a batch, with its line of the audit. The same order key gives the batch it began first. */
  begin(batch: NewBatch): Promise<string>
  /** The batch that this order began. */
  ordered(orderKey: string): Promise<string | undefined>
  find(batch: string): Promise<KeptBatch | undefined>
  /** The first of those without a result. */
  pending(batch: string, limit: number): Promise<readonly BatchItem[]>
  /** Notes what became of one; the first to say so counts. */
  settle(batch: string, place: number, result: string): Promise<void>
  /** Keeps what is left from being done, with its line of the audit; does nothing where nothing is left. */
  cancel(batch: string, entry: OrderEntry): Promise<void>
  /** Batches that have something left to do. */
  unfinished(): Promise<readonly string[]>
}
