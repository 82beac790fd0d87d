/**
 * The same action on many requests. Which they are is settled when it begins.
 *
 * @module
 */

import type { BatchItem } from '../engine/desk-batches.ts'
import type { Admin, Batch, Order, RequestAction, RequestFilter } from './admin.ts'
import { BatchRunner, batchOf } from './batches.ts'
import { type Changes, checkAction } from './changes.ts'
import { checkText, entryOf, queryInvalid } from './check.ts'
import type { Look } from './look.ts'
import type { AdminParts } from './parts.ts'

/** How many are read at once. */
const PAGE = 200

/** Bulk actions. */
export class Bulk implements Pick<Admin, 'startBatch' | 'batch' | 'cancelBatch'> {
  readonly #parts: AdminParts
  readonly #look: Look
  readonly #runner: BatchRunner

  constructor(parts: AdminParts, look: Look, changes: Changes) {
    this.#parts = parts
    this.#look = look
    const { desk, clock, settings, context } = parts
    this.#runner = new BatchRunner({
      ...{ batches: desk.batches, clock, perSecond: settings.batchPerSecond },
      isClosing: () => context.isClosing,
      act: (action, on, order) => changes.actOn(action, on, order),
    })
  }

  async startBatch(
    action: RequestAction,
    on: Parameters<Admin['startBatch']>[1],
    order: Order,
  ): Promise<Batch> {
    checkAction(action)
    entryOf(action, 'batch', order)
    const { desk, context } = this.#parts
    await context.store.ready()
    await this.#runner.takeUp()
    const { orderKey } = order
    const first = orderKey === undefined ? undefined : await desk.batches.ordered(orderKey)
    const batch = first ?? (await this.#begin(action, on, order))
    const begun = await this.#runner.find(batch)
    if (begun === undefined) throw queryInvalid('The batch was removed as it began')
    return begun
  }

  async #begin(
    action: RequestAction,
    on: Parameters<Admin['startBatch']>[1],
    order: Order,
  ): Promise<string> {
    const { desk, context } = this.#parts
    const entry = entryOf(action, 'batch', order)
    const items = 'ids' in on ? this.#named(on.ids) : await this.#matching(on.filter)
    const { confirm } = order
    if (confirm !== undefined && confirm !== String(items.length)) {
      throw queryInvalid(`${confirm} requests were confirmed, and there are ${items.length}`)
    }
    const isConfirmed = confirm !== undefined
    const made = { batch: context.random.token(), action, entry, isConfirmed, items }
    return desk.batches.begin(made)
  }

  async batch(batch: string): Promise<Batch | undefined> {
    checkText('batch', batch)
    await this.#parts.context.store.ready()
    await this.#runner.takeUp()
    return this.#runner.find(batch)
  }

  async cancelBatch(batch: string, order: Order): Promise<Batch | undefined> {
    checkText('batch', batch)
    const entry = entryOf('batch cancel', `batch ${batch}`, order)
    const { desk, context } = this.#parts
    await context.store.ready()
    await desk.batches.cancel(batch, entry)
    const kept = await desk.batches.find(batch)
    return kept && batchOf(kept)
  }

  /** Those that are named are acted on as they stand then. */
  #named(ids: readonly string[]): readonly BatchItem[] {
    const distinct = [...new Set(ids)]
    this.#checkCount(distinct.length)
    return distinct.map((id, place) => ({ place, id, version: null }))
  }

  async #matching(filter: RequestFilter): Promise<readonly BatchItem[]> {
    const items = new Map<string, BatchItem>()
    for (let after: string | undefined, isFirst = true; isFirst || after !== undefined; ) {
      isFirst = false
      const query = { limit: PAGE, ...(after === undefined ? {} : { after }) }
      const page = await this.#look.list(filter, query)
      for (const { id, version } of page.items) items.set(id, { place: items.size, id, version })
      this.#checkCount(items.size)
      after = page.next ?? undefined
    }
    return [...items.values()]
  }

  #checkCount(count: number): void {
    const { batchMax } = this.#parts.settings
    if (count <= batchMax) return
    throw queryInvalid(`A batch has at most ${batchMax} requests; narrow it down`)
  }
}
