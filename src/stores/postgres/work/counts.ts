/**
 * Counters that outlive the process.
 *
 * @module
 */

import {
  COUNT_NAMES,
  type CountBatch,
  type CountQuery,
  type CountStore,
  type CountSum,
  type Counts,
} from '../../../engine/counts.ts'
import type { Rows, Value } from '../client.ts'
import { attempt } from '../faults.ts'
import { lockNumber } from '../lock.ts'
import type { WorkParts } from './parts.ts'
import type { WorkQueries } from './queries.ts'

/** The counters of one schema. */
export class PostgresCounts<Tx> implements CountStore {
  readonly #parts: WorkParts<Tx>

  constructor(parts: WorkParts<Tx>) {
    this.#parts = parts
  }

  async add({ writer, number, rows, rowsMax }: CountBatch): Promise<boolean> {
    const json = rows.map(({ operation, caller, counts }) => {
      return { ...counts, operation: plain(operation), caller: plain(caller) }
    })
    const lock = lockNumber('count', this.#parts.schema)
    const values = [writer, number, JSON.stringify(json), rowsMax, lock]
    const [[isAdded] = []] = await this.#send('add_counts', values)
    return isAdded === true
  }

  async read({ windowMs, by, operation, caller, limit }: CountQuery): Promise<readonly CountSum[]> {
    const values = [windowMs, operation ?? null, caller ?? null, limit]
    return (await this.#send(`counts_by_${by}`, values)).map(toSum)
  }

  async sweep(limit: number, retentionMs: number): Promise<number> {
    const [[swept] = []] = await this.#send('sweep_counts', [limit, retentionMs])
    return Number(swept)
  }

  #send(verb: keyof WorkQueries, values: readonly Value[]): Promise<Rows> {
    const { client, queries } = this.#parts
    return attempt(verb, () => client.query({ statement: queries[verb], values }))
  }
}

/** What the database takes within JSON: no half of a character, and no zero. */
function plain(text: string): string {
  return Buffer.from(text).toString().replaceAll('\0', '')
}

type SumRow = readonly [
  hour: number | null,
  operation: string | null,
  caller: string | null,
  ...counts: number[],
]

function toSum(row: Rows[number]): CountSum {
  // The statement returns exactly these columns.
  const [hour, operation, caller, ...counts] = row as SumRow
  const named = COUNT_NAMES.map((name, index) => [name, counts[index]])
  // Every name is there.
  return { hour, operation, caller, counts: Object.fromEntries(named) as Counts }
}
