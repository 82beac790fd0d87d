/**
 * Everything about one request.
 *
 * @module
 */

import { useState } from 'preact/hooks'
import type { DuplicateNote, RequestDetail } from '../../src/admin/admin.ts'
import { ActionButtons } from '../parts/action-dialog.tsx'
import { WithCodes } from '../parts/error-codes.tsx'
import { Icon } from '../parts/icon.tsx'
import { JobTable } from '../parts/job-table.tsx'
import { PayloadPanel } from '../parts/payload.tsx'
import { SettleDialog } from '../parts/settle-dialog.tsx'
import { type Column, Table } from '../parts/table.tsx'
import { Time, tellNow } from '../parts/time.tsx'
import { Attempts, Calls, Timeline } from '../parts/timeline.tsx'
import {
  Card,
  CopyButton,
  copy,
  Heading,
  Loading,
  Problem,
  StateBadge,
  shorten,
} from '../parts/ui.tsx'
import { useResource } from '../resource.ts'
import { Link, withQuery } from '../router.tsx'
import { may, session } from '../session.ts'
import { count, STATES, t } from '../strings.ts'
import { useTitle } from '../title.ts'

/** Everything about one request. */
export function DetailPage({ id }: { id: string }) {
  const { data, error, reload } = useResource<RequestDetail>(`requests/${encodeURIComponent(id)}`)
  const title = data === undefined ? t.pages.requests : shorten(data.key)
  useTitle(data === undefined ? title : `${title} ${STATES[data.state][0]}`)
  if (data !== undefined) tellNow(data.now)
  return (
    <>
      <p class="crumbs">
        <Link to="requests">{t.pages.requests}</Link>
      </p>
      {data === undefined && <Heading>{t.pages.requests}</Heading>}
      {error !== undefined && <Problem error={error} onRetry={() => void reload()} />}
      {data === undefined && error === undefined && <Loading />}
      {data !== undefined && <Content request={data} onChange={() => void reload()} />}
    </>
  )
}

/** The request as a command, without anything secret. */
function curlOf({ operation, key }: RequestDetail): string {
  const [method = 'POST', path = '/'] = operation.includes(' ') ? operation.split(' ') : []
  const url = new URL(path.startsWith('/') ? path : '/', location.origin).href
  return [
    `curl -i -X ${method} '${url}'`,
    `-H 'Idempotency-Key: ${key.replaceAll("'", "'\\''")}'`,
    `-H 'Authorization: ***'`,
    `-H 'Content-Type: application/json' -d '***'`,
  ].join(' \\\n  ')
}

function Content({ request, onChange }: { request: RequestDetail; onChange: () => void }) {
  const [isSettling, setSettling] = useState(false)
  const { letter } = request
  return (
    <>
      <div class="head detail-head">
        <Heading>
          <code>{request.key}</code>
        </Heading>
        <CopyButton text={request.key} label={t.detail.copyKey} />
        <StateBadge state={request.state} />
        <button type="button" class="small" onClick={() => void copy(curlOf(request))}>
          {t.detail.copyCurl}
        </button>
      </div>
      <Facts request={request} />
      {request.personAt !== null && (
        <div class="notice warn">
          <p>
            <strong>
              <Icon name="question" /> {t.detail.outcomeUnknown}
            </strong>{' '}
            {t.detail.comesBefore} <Time at={request.personAt} />.
          </p>
        </div>
      )}
      {letter !== null && (
        <div class="notice warn">
          <p>
            <strong>
              <Icon name="flag" /> {t.detail.needsPerson}
            </strong>
          </p>
          {may('settle') && (
            <button type="button" class="main" onClick={() => setSettling(true)}>
              {t.detail.settle}
            </button>
          )}
        </div>
      )}
      <div class="pair">
        <Card title={t.detail.why}>
          <p class="why">
            <WithCodes text={request.explanation} />
          </p>
          <h3>{t.detail.actions}</h3>
          <ActionButtons request={request} onEnd={onChange} />
        </Card>
        <Card title={t.detail.timeline}>
          <Timeline request={request} />
        </Card>
      </div>
      <Card title={t.detail.attempts}>
        <Attempts history={request.history} />
      </Card>
      <Mismatch request={request} />
      <div class="pair">
        <Card title={t.detail.duplicates}>
          <Duplicates request={request} />
        </Card>
        <Card title={t.detail.calls}>
          <Calls history={request.history} />
        </Card>
      </div>
      <Card title={t.detail.jobs}>
        {request.jobs.length === 0 ? (
          <p class="soft">{t.detail.noJobs}</p>
        ) : (
          <JobTable jobs={request.jobs} label={t.detail.jobs} onChange={onChange} />
        )}
      </Card>
      <div class="pair">
        <Card title={t.detail.payload}>
          <PayloadPanel id={request.id} />
        </Card>
        <Card title={t.detail.story}>
          <ol class="story">
            {request.story.map((line) => (
              <li>{line}</li>
            ))}
          </ol>
          <button type="button" class="small" onClick={() => void copy(request.story.join('\n'))}>
            {t.detail.copyStory}
          </button>
        </Card>
      </div>
      {isSettling && letter !== null && (
        <SettleDialog
          letter={letter}
          onClose={() => setSettling(false)}
          onEnd={() => {
            setSettling(false)
            onChange()
          }}
        />
      )}
    </>
  )
}

function Facts({ request }: { request: RequestDetail }) {
  const { traceUrl } = session.get()
  const { requestId, resource, leaseOwner, leaseUntil } = request
  return (
    <dl class="facts card wide-facts">
      <dt>{t.list.operation}</dt>
      <dd>
        <Link to={withQuery('requests', { q: `route:"${request.operation}"` })}>
          {request.operation}
        </Link>
      </dd>
      <dt>{t.list.caller}</dt>
      <dd>
        <Link to={withQuery('requests', { q: `scope:"${request.caller}"` })}>{request.caller}</Link>
      </dd>
      <dt>{t.detail.digest}</dt>
      <dd>
        <code>{request.callerDigest}</code>
      </dd>
      <dt>{t.detail.created}</dt>
      <dd>
        <Time at={request.createdAt} />
      </dd>
      <dt>{t.detail.finished}</dt>
      <dd>
        <Time at={request.finishedAt} />
        {request.status !== null && ` · ${request.status}`}
      </dd>
      <dt>{t.detail.expires}</dt>
      <dd>
        <Time at={request.expiresAt} />
      </dd>
      <dt>{t.detail.lease}</dt>
      <dd>
        {leaseOwner === null ? t.detail.leaseFree : t.detail.leaseHeld(leaseOwner)}
        {leaseUntil !== null && leaseOwner !== null && (
          <>
            {' · '}
            <Time at={leaseUntil} />
          </>
        )}
      </dd>
      <dt>{t.list.point}</dt>
      <dd>{request.recoveryPoint ?? t.time.none}</dd>
      <dt>{t.list.attempts}</dt>
      <dd>{count(request.attempts)}</dd>
      <dt>{t.detail.requestId}</dt>
      <dd>
        {requestId ?? t.time.none}{' '}
        {traceUrl !== null && requestId !== null && (
          <a
            href={traceUrl.replace('{requestId}', encodeURIComponent(requestId))}
            {...{ rel: 'noreferrer', target: '_blank' }}
          >
            {t.detail.trace}
          </a>
        )}
      </dd>
      <dt>{t.detail.ip}</dt>
      <dd>{request.ip ?? t.time.none}</dd>
      <dt>{t.detail.userAgent}</dt>
      <dd>{request.userAgent ?? t.time.none}</dd>
      <dt>{t.detail.resource}</dt>
      <dd>{resource === null ? t.time.none : `${resource.type} ${resource.id}`}</dd>
    </dl>
  )
}

function Duplicates({ request }: { request: RequestDetail }) {
  const { duplicateNotes: notes, duplicates } = request
  if (notes.length === 0) return <p class="soft">{t.detail.noDuplicates}</p>
  return (
    <>
      <DuplicateTable notes={notes} />
      <p class="soft">{t.detail.noted(notes.length, duplicates)}</p>
    </>
  )
}

function DuplicateTable({ notes }: { notes: readonly DuplicateNote[] }) {
  const columns: readonly Column<DuplicateNote>[] = [
    [t.detail.when, ({ at }) => <Time at={at} />],
    [t.detail.result, ({ result }) => t.conflicts[result]],
    [t.detail.client, ({ ip, userAgent }) => [ip, userAgent].filter(Boolean).join(' · ')],
    [t.detail.requestId, ({ requestId }) => requestId ?? t.time.none],
  ]
  return <Table label={t.detail.duplicates} items={notes} columns={columns} />
}

function Mismatch({ request }: { request: RequestDetail }) {
  const prints = [
    ...new Set(
      request.duplicateNotes.flatMap(({ result, fingerprint }) =>
        result === 'mismatch' && fingerprint !== null ? [fingerprint] : [],
      ),
    ),
  ]
  if (prints.length === 0) return null
  return (
    <Card title={t.detail.mismatch} kind="mismatch">
      <p class="soft">{t.detail.mismatchHint}</p>
      <dl class="facts">
        <dt>{t.detail.firstPrint}</dt>
        <dd>
          <code>{request.fingerprint}</code>
        </dd>
        {prints.map((print) => (
          <>
            <dt>{t.detail.otherPrint}</dt>
            <dd>
              <code>{print}</code>
            </dd>
          </>
        ))}
      </dl>
    </Card>
  )
}
