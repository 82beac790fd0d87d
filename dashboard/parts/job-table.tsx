/**
 * Staged jobs.
 *
 * @module
 */

import type { JobSummary } from '../../src/admin/admin.ts'
import { Link } from '../router.tsx'
import { may } from '../session.ts'
import { count, t } from '../strings.ts'
import { Icon } from './icon.tsx'
import { useOrder } from './order-form.tsx'
import { Time } from './time.tsx'
import { ErrorText } from './timeline.tsx'
import { TableFrame } from './ui.tsx'

/** The table of staged jobs. */
export function JobTable({
  jobs,
  label,
  onChange,
}: {
  jobs: readonly JobSummary[]
  label: string
  onChange: () => void
}) {
  const { send, problem } = useOrder(onChange)
  const heads = [
    t.jobs.job,
    t.jobs.name,
    t.list.state,
    t.list.attempts,
    t.jobs.staged,
    t.jobs.runAt,
  ]
  const retry = ({ jobId }: JobSummary) => void send(`jobs/${encodeURIComponent(jobId)}/retry`, {})
  return (
    <>
      <p class="problem" role="alert">
        {problem}
      </p>
      <TableFrame label={label}>
        <table class="list">
          <caption class="off">{label}</caption>
          <thead>
            <tr>
              {[...heads, t.detail.error, t.jobs.request].map((head) => (
                <th scope="col">{head}</th>
              ))}
              {may('retry_job') && <th scope="col">{t.workers.actions}</th>}
            </tr>
          </thead>
          <tbody>
            {jobs.map((job) => (
              <tr key={job.jobId}>
                <th scope="row">
                  <code>{job.jobId}</code>
                </th>
                <td data-label={heads[1]}>{job.name}</td>
                <td data-label={heads[2]}>
                  <span class="badge" data-job={job.state}>
                    <Icon name={t.jobs.signs[job.state]} /> {t.jobs.states[job.state]}
                  </span>
                </td>
                <td data-label={heads[3]}>{count(job.attempts)}</td>
                <td data-label={heads[4]}>
                  <Time at={job.stagedAt} />
                </td>
                <td data-label={heads[5]}>
                  <Time at={job.runAt} />
                </td>
                <td data-label={t.detail.error}>
                  <ErrorText text={job.lastError} />
                </td>
                <td data-label={t.jobs.request}>
                  {job.id === null ? (
                    t.time.none
                  ) : (
                    <Link to={`requests/${encodeURIComponent(job.id)}`}>
                      <code>{job.id.slice(0, 8)}</code>
                    </Link>
                  )}
                </td>
                {may('retry_job') && (
                  <td data-label={t.workers.actions}>
                    <button
                      type="button"
                      class="small"
                      aria-label={`${t.jobs.retry} ${job.jobId}`}
                      onClick={() => retry(job)}
                    >
                      {t.jobs.retry}
                    </button>
                  </td>
                )}
              </tr>
            ))}
          </tbody>
        </table>
      </TableFrame>
    </>
  )
}
