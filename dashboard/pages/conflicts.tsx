/**
 * Duplicates that were answered without running anything.
 *
 * @module
 */

import type { DuplicateNote } from '../../src/admin/admin.ts'
import { useHeldList } from '../held-list.ts'
import { Icon } from '../parts/icon.tsx'
import { ListFrame } from '../parts/list-frame.tsx'
import { Time } from '../parts/time.tsx'
import { Heading, TableFrame, Tabs } from '../parts/ui.tsx'
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
  const params = new URLSearchParams()
  if (result !== null) params.set('result', result)
  const after = query.get('after')
  if (after !== null) params.set('after', after)
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
      <Tabs
        label={t.conflicts.results}
        tabs={tabs.map(({ name, to, isHere }) => ({
          ...{ name, isHere },
          link: (content) => (
            <Link to={to} aria-current={isHere ? 'true' : undefined}>
              {content}
            </Link>
          ),
        }))}
      />
      <ListFrame {...{ list, path: 'conflicts', query }}>
        <NoteTable notes={list.page?.items ?? []} />
      </ListFrame>
    </>
  )
}

function NoteTable({ notes }: { notes: readonly DuplicateNote[] }) {
  const heads = [t.detail.when, t.detail.result, t.list.operation, t.conflicts.request]
  const more = [t.detail.ip, t.detail.userAgent, t.detail.requestId, t.conflicts.print]
  return (
    <TableFrame label={t.pages.conflicts}>
      <table class="list">
        <caption class="off">{t.list.caption(t.pages.conflicts)}</caption>
        <thead>
          <tr>
            {[...heads, ...more].map((head) => (
              <th scope="col">{head}</th>
            ))}
          </tr>
        </thead>
        <tbody>
          {notes.map((note) => (
            <tr>
              <th scope="row">
                <Time at={note.at} />
              </th>
              <td data-label={heads[1]}>
                <span class="badge" data-result={note.result}>
                  <Icon name={SIGNS[note.result]} /> {t.conflicts[note.result]}
                </span>
              </td>
              <td data-label={heads[2]}>
                <code>{note.operation}</code>
              </td>
              <td data-label={heads[3]}>
                <Link class="row-link" to={`requests/${encodeURIComponent(note.id)}`}>
                  <code>{note.id.slice(0, 12)}</code>
                </Link>
              </td>
              <td data-label={more[0]}>{note.ip ?? t.time.none}</td>
              <td data-label={more[1]}>{note.userAgent ?? t.time.none}</td>
              <td data-label={more[2]}>{note.requestId ?? t.time.none}</td>
              <td data-label={more[3]}>
                {note.fingerprint === null ? (
                  t.time.none
                ) : (
                  <code title={note.fingerprint}>{note.fingerprint.slice(0, 10)}…</code>
                )}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </TableFrame>
  )
}
