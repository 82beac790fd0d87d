/**
 * The workers over all nodes.
 *
 * @module
 */

import type { Desk, DeskWorker } from '../engine/desk.ts'
import { COUNT_MAX, type WorkerSummary } from './admin.ts'

/** Every worker there is. */
export const WORKERS: readonly WorkerSummary['worker'][] = ['enqueuer', 'completer', 'reaper']

/** A worker says that it ran at most this often, in milliseconds. */
const BEAT_MS = 10_000
/** The longest interval that a worker has unless it says otherwise, in milliseconds. */
const INTERVALS_MS = { enqueuer: 1000, completer: 10_000, reaper: 3_600_000 }
/** After so many intervals without a run it is silent. */
const SILENT_INTERVALS = 3

/** The workers of a store. */
export async function workersOf(desk: Desk): Promise<readonly WorkerSummary[]> {
  const running = await desk.workers()
  const backlog = await desk.backlog(COUNT_MAX)
  const summaries: WorkerSummary[] = []
  for (const worker of WORKERS) {
    const nodes = running.filter((one) => one.worker === worker)
    const { isPaused } = await desk.steering(worker)
    summaries.push({
      ...{ worker, isPaused, backlog: backlog[worker] },
      isSilent: nodes.every((node) => isSilent(worker, node)),
      nodes: nodes.map(({ node, agoMs, tookMs, done, error }) => {
        return { node, agoMs, tookMs, done, error }
      }),
    })
  }
  return summaries
}

/** Whether a worker has not run for three of its intervals. */
export function isSilent(
  worker: WorkerSummary['worker'],
  { agoMs, everyMs }: Pick<DeskWorker, 'agoMs' | 'everyMs'>,
): boolean {
  const intervalMs = Math.max(BEAT_MS, everyMs ?? INTERVALS_MS[worker])
  return agoMs > SILENT_INTERVALS * intervalMs
}
