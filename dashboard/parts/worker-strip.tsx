/**
 * The workers in short.
 *
 * @module
 */

import type { WorkerSummary } from '../../src/admin/admin.ts'
import { capped, count, t } from '../strings.ts'
import { WithCodes } from './error-codes.tsx'
import { Icon } from './icon.tsx'
import { span } from './time.tsx'

/** How a worker stands: a sign and words. */
export function WorkerState({ worker }: { worker: WorkerSummary }) {
  const { isPaused, isSilent, nodes, backlog } = worker
  // An app without phases or staged jobs has nothing for some of them.
  const isIdle = nodes.length === 0 && backlog === 0
  const [sign, words, kind] = isPaused
    ? (['pause', t.workers.paused, 'paused'] as const)
    : isSilent && isIdle
      ? (['ring', t.workers.idle, 'idle'] as const)
      : isSilent
        ? (['cross', t.workers.silent(worker.worker), 'silent'] as const)
        : (['check', t.workers.works, 'works'] as const)
  return (
    <span class="badge" data-worker={kind}>
      <Icon name={sign} /> {words}
    </span>
  )
}

/** When a worker last ran, on whichever node. */
function lastRun({ nodes }: WorkerSummary): string {
  if (nodes.length === 0) return t.workers.never
  return t.time.ago(span(Math.min(...nodes.map(({ agoMs }) => agoMs))))
}

/** The workers in short. */
export function WorkerStrip({ workers }: { workers: readonly WorkerSummary[] }) {
  if (workers.length === 0) return <p class="soft">{t.empty.none}</p>
  return (
    <ul class="workers">
      {workers.map((worker) => {
        const errors = worker.nodes.flatMap(({ error }) => (error === null ? [] : [error]))
        const done = worker.nodes.reduce((sum, node) => sum + node.done, 0)
        return (
          <li>
            <strong>{worker.worker}</strong>
            <WorkerState worker={worker} />
            <span class="soft">
              {t.workers.lastRun}: {lastRun(worker)} · {t.workers.done}: {count(done)} ·{' '}
              {t.workers.backlog}: {capped(worker.backlog)}
            </span>
            {errors[0] !== undefined && (
              <span class="problem">
                <WithCodes text={errors[0]} />
              </span>
            )}
          </li>
        )
      })}
    </ul>
  )
}
