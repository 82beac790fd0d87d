/**
 * The workers, on all nodes, and how they are steered.
 *
 * @module
 */

import type { WorkerSummary } from '../../src/admin/admin.ts'
import { useOrder } from '../parts/order-form.tsx'
import { type Column, Table } from '../parts/table.tsx'
import { span } from '../parts/time.tsx'
import { ErrorText } from '../parts/timeline.tsx'
import { Card, Heading, Loading, Problem } from '../parts/ui.tsx'
import { WorkerState } from '../parts/worker-strip.tsx'
import { useResource } from '../resource.ts'
import { may } from '../session.ts'
import { capped, count, t } from '../strings.ts'
import { useTitle } from '../title.ts'

/** The workers. */
export function WorkersPage() {
  useTitle(t.pages.workers)
  const { data, error, reload } = useResource<readonly WorkerSummary[]>('workers')
  return (
    <>
      <Heading>{t.pages.workers}</Heading>
      {error !== undefined && <Problem error={error} onRetry={() => void reload()} />}
      {data === undefined && error === undefined && <Loading />}
      {data?.length === 0 && <p class="card empty">{t.empty.none}</p>}
      {data?.map((worker) => (
        <WorkerCard key={worker.worker} worker={worker} onChange={() => void reload()} />
      ))}
    </>
  )
}

type Way = 'pause' | 'resume' | 'run_once'

function WorkerCard({ worker, onChange }: { worker: WorkerSummary; onChange: () => void }) {
  const { send, problem } = useOrder(onChange)
  const steer = (way: Way) => {
    const back = way === 'pause' ? 'resume' : 'pause'
    const undo = way === 'run_once' ? undefined : () => void send(pathOf(back), {})
    void send(pathOf(way), {}, undo)
  }
  const pathOf = (way: Way) => `workers/${worker.worker}/${way}`
  const ways: readonly Way[] = [worker.isPaused ? 'resume' : 'pause', 'run_once']
  return (
    <Card title={worker.worker}>
      <p>
        <WorkerState worker={worker} /> <span class="soft">{t.workers.about[worker.worker]}</span>
      </p>
      <p>
        {t.workers.backlog}: <strong>{capped(worker.backlog)}</strong>
      </p>
      {worker.nodes.length > 0 && <Nodes worker={worker} />}
      <p class="problem" role="alert">
        {problem}
      </p>
      {may('steer_worker') && (
        <div class="buttons">
          {ways.map((way) => (
            <button
              type="button"
              aria-label={`${t.workers[way]} ${worker.worker}`}
              onClick={() => steer(way)}
            >
              {t.workers[way]}
            </button>
          ))}
        </div>
      )}
    </Card>
  )
}

function Nodes({ worker: { worker, nodes } }: { worker: WorkerSummary }) {
  const columns: readonly Column<WorkerSummary['nodes'][number]>[] = [
    [t.workers.node, ({ node }) => node],
    [t.workers.lastRun, ({ agoMs }) => t.time.ago(span(agoMs))],
    [t.workers.took, ({ tookMs }) => t.workers.ms(tookMs)],
    [t.workers.done, ({ done }) => count(done)],
    [t.workers.error, ({ error }) => <ErrorText text={error} />],
  ]
  return <Table label={worker} items={nodes} columns={columns} />
}
