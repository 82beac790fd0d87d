/**
 * Bulk actions in memory.
 *
 * @module
 */

import type { OrderEntry } from '../../engine/desk.ts'
import type { BatchItem, DeskBatches, KeptBatch, NewBatch } from '../../engine/desk-batches.ts'

interface Kept extends NewBatch {
  isCancelled: boolean
  readonly resultOf: Map<number, string>
}

/** Batches that end with the process. */
export class MemoryBatches implements DeskBatches {
  readonly #audit: (entry: OrderEntry, text: string) => void
  readonly #batches = new Map<string, Kept>()

  constructor(audit: (entry: OrderEntry, text: string) => void) {
    this.#audit = audit
  }

  async begin(batch: NewBatch): Promise<string> {
    const { orderKey } = batch.entry
    const same = orderKey === null ? undefined : await this.ordered(orderKey)
    if (same !== undefined) return same
    this.#batches.set(batch.batch, { ...batch, isCancelled: false, resultOf: new Map() })
    const subject = `batch ${batch.batch}`
    const entry = { ...batch.entry, action: `batch ${batch.action}`, subject, orderKey: null }
    this.#audit(entry, `${batch.items.length} requests.`)
    return batch.batch
  }

  async ordered(orderKey: string): Promise<string | undefined> {
    const kept = [...this.#batches.values()]
    return kept.find(({ entry }) => entry.orderKey === orderKey)?.batch
  }

  async find(batch: string): Promise<KeptBatch | undefined> {
    const kept = this.#batches.get(batch)
    if (kept === undefined) return undefined
    const { action, entry, isConfirmed, isCancelled, items, resultOf } = kept
    const { author, note, ip } = entry
    const results = items.flatMap(({ id, place }) => {
      const result = resultOf.get(place)
      return result === undefined ? [] : [{ id, result }]
    })
    const total = items.length
    return { batch, action, author, note, ip, isConfirmed, isCancelled, total, results }
  }

  async pending(batch: string, limit: number): Promise<readonly BatchItem[]> {
    const kept = this.#batches.get(batch)
    if (kept === undefined || kept.isCancelled) return []
    return kept.items.filter(({ place }) => !kept.resultOf.has(place)).slice(0, limit)
  }

  async settle(batch: string, place: number, result: string): Promise<void> {
    const resultOf = this.#batches.get(batch)?.resultOf
    if (resultOf?.has(place) === false) resultOf.set(place, result)
  }

  async cancel(batch: string, entry: OrderEntry): Promise<void> {
    const kept = this.#batches.get(batch)
    if (kept === undefined || kept.isCancelled) return
    const { items, resultOf } = kept
    if (resultOf.size === items.length) return
    kept.isCancelled = true
    this.#audit({ ...entry, orderKey: null }, `${resultOf.size} of ${items.length} were over.`)
  }

  async unfinished(): Promise<readonly string[]> {
    return [...this.#batches.values()]
      .filter(({ isCancelled, items, resultOf }) => !isCancelled && resultOf.size < items.length)
      .map(({ batch }) => batch)
  }
}
