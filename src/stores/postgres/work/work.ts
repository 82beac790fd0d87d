/**
 * Phases, staged jobs, dead letters and workers in PostgreSQL.
 *
 * @module
 */

import type { HistoryEntry } from '../../../engine/letters.ts'
import type { Beat, Work, WorkerStatus } from '../../../engine/work.ts'
import type { Rows, Value } from '../client.ts'
import { attempt } from '../faults.ts'
import { pack } from '../record.ts'
import { PostgresCounts } from './counts.ts'
import { PostgresJobs } from './jobs.ts'
import { PostgresLetters, parseHistory } from './letters.ts'
import type { WorkParts } from './parts.ts'
import { PostgresPhases } from './phases.ts'
import type { WorkQueries } from './queries.ts'

/** The capability `work` of the store. */
export class PostgresWork<Tx> implements Work<Tx> {
  readonly phases: PostgresPhases<Tx>
  readonly jobs: PostgresJobs<Tx>
  readonly letters: PostgresLetters<Tx>
  readonly counts: PostgresCounts<Tx>
  readonly #parts: WorkParts<Tx>

  constructor(parts: WorkParts<Tx>) {
    this.#parts = parts
    this.phases = new PostgresPhases(parts)
    this.jobs = new PostgresJobs(parts)
    this.letters = new PostgresLetters(parts)
    this.counts = new PostgresCounts(parts)
  }

  async history(id: string): Promise<readonly HistoryEntry[]> {
    const [[history] = []] = await this.#send('history', [pack(id)])
    return parseHistory(String(history))
  }

  async sweepHistory(limit: number): Promise<number> {
    const [[swept] = []] = await this.#send('sweep_history', [limit])
    return Number(swept)
  }

  async beat({ worker, node, tookMs, done, error, everyMs }: Beat): Promise<void> {
    await this.#send('beat', [worker, node, tookMs, done, error, everyMs ?? null])
  }

  async workers(): Promise<readonly WorkerStatus[]> {
    const rows = await this.#send('workers', [])
    return rows.map(([worker, node, tookMs, done, error, agoMs]) => ({
      ...{ worker: String(worker), node: String(node), tookMs: Number(tookMs) },
      ...{ done: Number(done), agoMs: Number(agoMs) },
      error: typeof error === 'string' ? error : null,
    }))
  }

  #send(verb: keyof WorkQueries, values: readonly Value[]): Promise<Rows> {
    const { client, queries } = this.#parts
    return attempt(verb, () => client.query({ statement: queries[verb], values }))
  }
}
