/**
 * Counters in memory, per hour, operation and caller.
 *
 * @module
 */

import {
  COUNT_NAMES,
  type CountBatch,
  type CountQuery,
  type CountStore,
  type CountSum,
  noCounts,
} from '../../engine/counts.ts'

const HOUR_MS = 3_600_000

interface Counted {
  readonly hour: number
  readonly operation: string
  readonly caller: string
  readonly counts: ReturnType<typeof noCounts>
}

/** Counters that end with the process. */
export class MemoryCounts implements CountStore {
  readonly #unix: () => number
  readonly #rows = new Map<string, Counted>()
  readonly #writers = new Map<string, number>()

  /** @param unix - milliseconds since 1970 */
  constructor(unix: () => number) {
    this.#unix = unix
  }

  async add({ writer, number, rows }: CountBatch): Promise<boolean> {
    if (number <= (this.#writers.get(writer) ?? 0)) return false
    this.#writers.set(writer, number)
    const now = this.#unix()
    const hour = now - (now % HOUR_MS)
    for (const { operation, caller, counts } of rows) {
      const id = JSON.stringify([hour, operation, caller])
      const row = this.#rows.get(id) ?? { hour, operation, caller, counts: noCounts() }
      this.#rows.set(id, row)
      for (const name of COUNT_NAMES) row.counts[name] += counts[name] ?? 0
    }
    return true
  }

  async read({ windowMs, by, operation, caller, limit }: CountQuery): Promise<readonly CountSum[]> {
    const since = this.#unix() - windowMs - HOUR_MS
    const sums = new Map<number | string, CountSum & Counted>()
    for (const row of this.#rows.values()) {
      if (row.hour <= since || (operation ?? row.operation) !== row.operation) continue
      if ((caller ?? row.caller) !== row.caller) continue
      const of = row[by]
      const nothing = { hour: null, operation: null, caller: null, counts: noCounts() }
      // Only what was asked for is set.
      const sum = sums.get(of) ?? ({ ...nothing, [by]: of } as CountSum & Counted)
      sums.set(of, sum)
      for (const name of COUNT_NAMES) sum.counts[name] += row.counts[name]
    }
    const checked = ({ counts }: CountSum) =>
      counts.hit + counts.miss + counts.in_progress + counts.mismatch
    const order = (a: CountSum, b: CountSum) =>
      by === 'hour' ? Number(b.hour) - Number(a.hour) : checked(b) - checked(a)
    return [...sums.values()].sort(order).slice(0, limit)
  }

  async sweep(limit: number, retentionMs: number): Promise<number> {
    const past = this.#unix() - retentionMs - HOUR_MS
    const old = [...this.#rows].filter(([, { hour }]) => hour < past).slice(0, limit)
    for (const [id] of old) this.#rows.delete(id)
    return old.length
  }
}
