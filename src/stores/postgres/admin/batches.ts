/**
 * Bulk actions, kept in the database.
 *
 * @module
 */

import type { OrderEntry } from '../../../engine/desk.ts'
import type {
  BatchAction,
  BatchItem,
  DeskBatches,
  KeptBatch,
  NewBatch,
} from '../../../engine/desk-batches.ts'
import type { Client, Rows, Value } from '../client.ts'
import { attempt } from '../faults.ts'
import { pack, unpack } from '../record.ts'
import { type BatchQueries, batchQueries } from './queries/batches.ts'

type BatchRow = readonly [
  batch: string,
  action: BatchAction,
  author: string,
  note: string,
  ip: string | null,
  isConfirmed: boolean,
  isCancelled: boolean,
  total: number,
]

type ItemRow = readonly [place: number, id: Uint8Array, version: string | null]

/** The batches of one schema. */
export class PostgresBatches implements DeskBatches {
  readonly #client: Client<unknown>
  readonly #queries: BatchQueries

  constructor(client: Client<unknown>, schema: string) {
    this.#client = client
    this.#queries = batchQueries(schema)
  }

  async begin({ batch, action, entry, isConfirmed, items }: NewBatch): Promise<string> {
    const { author, note, ip, orderKey } = entry
    const ids = items.map(({ id }) => Buffer.from(pack(id)).toString('hex'))
    const text = `${items.length} requests.`
    const versions = JSON.stringify(items.map(({ version }) => version))
    const values = [batch, action, author, note, ip, orderKey, isConfirmed, text]
    const [begun] = await this.#send('begin', [...values, JSON.stringify(ids), versions])
    if (begun !== undefined) return batch
    return String(await this.ordered(orderKey ?? ''))
  }

  async ordered(orderKey: string): Promise<string | undefined> {
    const [row] = await this.#send('by_order', [orderKey])
    return row && String(row[0])
  }

  async find(batch: string): Promise<KeptBatch | undefined> {
    const [row] = await this.#send('find', [batch])
    if (row === undefined) return undefined
    // The statement selects exactly these columns.
    const [, action, author, note, ip, isConfirmed, isCancelled, total] = row as unknown as BatchRow
    const results = await this.#send('results', [batch])
    return {
      ...{ batch, action, author, note, ip, isConfirmed, isCancelled, total },
      results: results.map(([id, result]) => {
        // The statement gives the id first.
        return { id: unpack(id as Uint8Array), result: String(result) }
      }),
    }
  }

  async pending(batch: string, limit: number): Promise<readonly BatchItem[]> {
    const rows = await this.#send('pending', [batch, limit])
    return rows.map((row) => {
      // The statement selects exactly these columns.
      const [place, id, version] = row as unknown as ItemRow
      return { place, id: unpack(id), version }
    })
  }

  async settle(batch: string, place: number, result: string): Promise<void> {
    await this.#send('settle', [batch, place, result])
  }

  async cancel(batch: string, entry: OrderEntry): Promise<void> {
    const { action, subject, author, note, ip } = entry
    await this.#send('cancel', [batch, action, subject, author, note, ip])
  }

  async unfinished(): Promise<readonly string[]> {
    return (await this.#send('unfinished', [])).map(([batch]) => String(batch))
  }

  #send(verb: keyof BatchQueries, values: readonly Value[]): Promise<Rows> {
    const call = { statement: this.#queries[verb], values }
    return attempt(`${verb} a batch`, () => this.#client.query(call))
  }
}
