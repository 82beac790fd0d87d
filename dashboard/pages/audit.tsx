/**
 * Who did what, and why.
 *
 * @module
 */

import type { AuditEntry } from '../../src/admin/admin.ts'
import { useHeldList } from '../held-list.ts'
import { ListFrame } from '../parts/list-frame.tsx'
import { Time } from '../parts/time.tsx'
import { Heading, TableFrame } from '../parts/ui.tsx'
import { t } from '../strings.ts'
import { useTitle } from '../title.ts'

/** The audit. */
export function AuditPage({ query }: { query: URLSearchParams }) {
  useTitle(t.pages.audit)
  const after = query.get('after')
  const path = after === null ? 'audit' : `audit?after=${encodeURIComponent(after)}`
  const list = useHeldList<AuditEntry>(path, ({ number }) => number)
  const heads = [t.audit.at, t.audit.author, t.audit.action, t.audit.subject, t.audit.note]
  return (
    <>
      <Heading>{t.pages.audit}</Heading>
      <ListFrame {...{ list, path: 'audit', query }}>
        <TableFrame label={t.pages.audit}>
          <table class="list">
            <caption class="off">{t.list.caption(t.pages.audit)}</caption>
            <thead>
              <tr>
                {[...heads, t.audit.result, t.audit.ip].map((head) => (
                  <th scope="col">{head}</th>
                ))}
              </tr>
            </thead>
            <tbody>
              {list.page?.items.map((entry) => (
                <tr key={entry.number}>
                  <th scope="row">
                    <Time at={entry.at} />
                  </th>
                  <td data-label={heads[1]}>{entry.author}</td>
                  <td data-label={heads[2]}>
                    <code>{entry.action}</code>
                  </td>
                  <td data-label={heads[3]}>
                    <code title={entry.subject}>{entry.subject.slice(0, 24)}</code>
                  </td>
                  <td data-label={heads[4]}>{entry.note}</td>
                  <td data-label={t.audit.result}>{entry.result}</td>
                  <td data-label={t.audit.ip}>{entry.ip ?? t.time.none}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </TableFrame>
      </ListFrame>
    </>
  )
}
