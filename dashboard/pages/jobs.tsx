/**
 * Staged jobs that are not handed over yet.
 *
 * @module
 */

import type { JobSummary } from '../../src/admin/admin.ts'
import { useHeldList } from '../held-list.ts'
import { Icon } from '../parts/icon.tsx'
import { JobTable } from '../parts/job-table.tsx'
import { asked, ListFrame } from '../parts/list-frame.tsx'
import { Heading, Tabs } from '../parts/ui.tsx'
import { withQuery } from '../router.tsx'
import { t } from '../strings.ts'
import { useTitle } from '../title.ts'

const STATES = ['waiting', 'later', 'set_aside'] as const

/** The list of staged jobs. */
export function JobsPage({ query }: { query: URLSearchParams }) {
  useTitle(t.pages.jobs)
  const state = query.get('state')
  const params = asked(query, 'state')
  const list = useHeldList<JobSummary>(`jobs?${params}`, ({ jobId }) => jobId)
  const tabs = [
    { name: t.jobs.all, to: 'jobs', isHere: state === null },
    ...STATES.map((one) => ({
      name: [<Icon name={t.jobs.signs[one]} />, ` ${t.jobs.states[one]}`],
      ...{ to: withQuery('jobs', { state: one }), isHere: state === one },
    })),
  ]
  return (
    <>
      <Heading>{t.pages.jobs}</Heading>
      <Tabs label={t.jobs.tabs} tabs={tabs} />
      <ListFrame {...{ list, path: 'jobs', query }}>
        <JobTable
          jobs={list.page?.items ?? []}
          label={t.list.caption(t.pages.jobs)}
          onChange={() => void list.reload()}
        />
      </ListFrame>
    </>
  )
}
