/**
 * Duplicates that were answered without running anything.
 *
 * @module
 */

import type { DuplicateNote } from '../../src/admin/admin.ts'
import { useHeldList } from '../held-list.ts'
import { Icon } from '../parts/icon.tsx'
import { asked, ListFrame } from '../parts/list-frame.tsx'
import { type Column, Table } from '../parts/table.tsx'
import { Time } from '../parts/time.tsx'
import { Heading, Tabs } from '../parts/ui.tsx'
import { Link, withQuery } from '../router.tsx'
import { t } from '../strings.ts'
import { useTitle } from '../title.ts'

const RESULTS = ['replayed', 'in_progress', 'mismatch', 'unknown'] as const
const SIGNS = {
  replayed: 'loop',
  in_progress: 'play',
  mismatch: 'unequal',
  unknown: 'question',
} as const

/** The list of duplicates. */
export function ConflictsPage({ query }: { query: URLSearchParams }) {
  useTitle(t.pages.conflicts)
  const result = query.get('result')
  const params = asked(query, 'result')
  const list = useHeldList<DuplicateNote>(
    `duplicates?${params}`,
    ({ id, at, requestId }) => `${id} ${at} ${requestId}`,
  )
  const tabs = [
    { name: t.conflicts.all, to: 'conflicts', isHere: result === null },
    ...RESULTS.map((one) => ({
      name: [<Icon name={SIGNS[one]} />, ` ${t.conflicts[one]}`],
      ...{ to: withQuery('conflicts', { result: one }), isHere: result === one },
    })),
  ]
  return (
    <>
      <Heading>{t.pages.conflicts}</Heading>
      <Tabs label={t.conflicts.results} tabs={tabs} />
      <ListFrame {...{ list, path: 'conflicts', query }}>
        <NoteTable notes={list.page?.items ?? []} />
      </ListFrame>
    </>
  )
}

function NoteTable({ notes }: { notes: readonly DuplicateNote[] }) {
  const columns: readonly Column<DuplicateNote>[] = [
    [t.detail.when, ({ at }) => <Time at={at} />],
    [
      t.detail.result,
      ({ result }) => (
        <span class="badge" data-result={result}>
          <Icon name={SIGNS[result]} /> {t.conflicts[result]}
        </span>
      ),
    ],
    [t.list.operation, ({ operation }) => <code>{operation}</code>],
    [
      t.conflicts.request,
      ({ id }) => (
        <Link class="row-link" to={`requests/${encodeURIComponent(id)}`}>
          <code>{id.slice(0, 12)}</code>
        </Link>
      ),
    ],
    [t.detail.ip, ({ ip }) => ip ?? t.time.none],
    [t.detail.userAgent, ({ userAgent }) => userAgent ?? t.time.none],
    [t.detail.requestId, ({ requestId }) => requestId ?? t.time.none],
    [t.conflicts.print, ({ fingerprint }) => <Print text={fingerprint} />],
  ]
  const caption = t.list.caption(t.pages.conflicts)
  return <Table {...{ label: t.pages.conflicts, caption, items: notes, columns, kind: 'list' }} />
}

function Print({ text }: { text: string | null }) {
  return text === null ? <>{t.time.none}</> : <code title={text}>{text.slice(0, 10)}…</code>
}
