/**
 * Bulk actions: they go on in the background, at a rate that leaves the database to others, and are
 * taken up again after a restart. Each request of a batch has an order key of its own, so that however
 * often it is tried, it is acted on once.
 *
 * @module
 */

import { pause } from '../engine/bounded.ts'
import type { Clock } from '../engine/clock.ts'
import type { BatchItem, DeskBatches, KeptBatch } from '../engine/desk-batches.ts'
import type { Batch, Order, OrderResult, RequestAction } from './admin.ts'

/** What a runner works with. */
export interface BatchParts {
  readonly batches: DeskBatches
  readonly clock: Clock
  readonly perSecond: number
  /** Whether the engine is being closed. */
  readonly isClosing: () => boolean
  readonly act: (
    action: RequestAction,
    on: { readonly id: string; readonly isConfirmed: boolean },
    order: Order,
  ) => Promise<OrderResult>
}

/** How many are asked for at once. */
const CHUNK = 50

/** Works batches off, each once at a time in this process. */
export class BatchRunner {
  readonly #parts: BatchParts
  readonly #running = new Map<string, Promise<void>>()
  #isTakenUp = false

  constructor(parts: BatchParts) {
    this.#parts = parts
  }

  /** Works the batch off in the background. What fails is taken up when somebody looks again. */
  start(batch: string): void {
    if (this.#running.has(batch)) return
    const work = this.#work(batch)
      .catch(() => {})
      .finally(() => this.#running.delete(batch))
    this.#running.set(batch, work)
  }

  /** Takes up, once, what an earlier process left. */
  async takeUp(): Promise<void> {
    if (this.#isTakenUp) return
    this.#isTakenUp = true
    for (const batch of await this.#parts.batches.unfinished()) this.start(batch)
  }

  /** The batch as it stands. One that has something left to do goes on. */
  async find(batch: string): Promise<Batch | undefined> {
    const kept = await this.#parts.batches.find(batch)
    if (kept === undefined) return undefined
    const seen = batchOf(kept)
    if (!seen.isOver) this.start(batch)
    return seen
  }

  async #work(batch: string): Promise<void> {
    const { batches, clock, perSecond, isClosing } = this.#parts
    const kept = await batches.find(batch)
    if (kept === undefined) return
    for (;;) {
      const items = await batches.pending(batch, CHUNK)
      if (items.length === 0) return
      for (const item of items) {
        if (isClosing()) return
        await this.#one(kept, item)
        await pause(clock, 1000 / perSecond)
        const isCancelled = (await batches.pending(batch, 1)).length === 0
        if (isCancelled) return
      }
    }
  }

  async #one(kept: KeptBatch, { place, id, version }: BatchItem): Promise<void> {
    const { batch, action, author, note, ip, isConfirmed } = kept
    const order: Order = {
      ...{ author, reason: note, ip, orderKey: `batch ${batch} ${place}` },
      ...(version === null ? {} : { version }),
    }
    const { outcome } = await this.#parts.act(action, { id, isConfirmed }, order)
    // It was done when it was tried before.
    const result = outcome === 'repeated' ? 'done' : outcome
    await this.#parts.batches.settle(batch, place, result)
  }
}

/** A batch as an operator sees it. */
export function batchOf(kept: KeptBatch): Batch {
  const { batch, action, total, isCancelled } = kept
  const results = kept.results.map(({ id, result }) => {
    // Written by the runner.
    return { id, result: result as OrderResult['outcome'] }
  })
  const done = results.filter(({ result }) => result === 'done').length
  return {
    ...{ batch, action, total, done, failed: results.length - done, isCancelled, results },
    isOver: isCancelled || results.length === total,
  }
}
