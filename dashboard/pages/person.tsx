/**
 * What only a person can settle.
 *
 * @module
 */

import { useState } from 'preact/hooks'
import type { Page, RequestSummary } from '../../src/admin/admin.ts'
import { AT_ONCE } from '../../src/admin/explain.ts'
import type { DeadLetter } from '../../src/engine/letters.ts'
import { useHeldList } from '../held-list.ts'
import { live } from '../live.ts'
import { Icon } from '../parts/icon.tsx'
import { ListFrame } from '../parts/list-frame.tsx'
import { SettleDialog } from '../parts/settle-dialog.tsx'
import { type Column, Table } from '../parts/table.tsx'
import { Time } from '../parts/time.tsx'
import { ErrorText } from '../parts/timeline.tsx'
import { Card, Heading, shorten, TableFrame, Tabs } from '../parts/ui.tsx'
import { useResource } from '../resource.ts'
import { Link, withQuery } from '../router.tsx'
import { may } from '../session.ts'
import { useStore } from '../store.ts'
import { capped, count, t } from '../strings.ts'
import { useTitle } from '../title.ts'

type Letter = Omit<DeadLetter, 'input' | 'state'>

/** The list of letters. */
export function PersonPage({ query }: { query: URLSearchParams }) {
  const isSettled = query.get('settled') === 'true'
  const params = new URLSearchParams({ settled: String(isSettled) })
  const after = query.get('after')
  if (after !== null) params.set('after', after)
  const list = useHeldList<Letter>(`letters?${params}`, ({ letter }) => letter)
  const [open, setOpen] = useState<string>()
  const waiting = useStore(live).pulse?.states.needs_person ?? 0
  useTitle(waiting > 0 ? `${t.pages.person} (${capped(waiting)})` : t.pages.person)
  const tabs = [
    { name: t.person.open, to: 'person', isHere: !isSettled },
    { name: t.person.settled, to: withQuery('person', { settled: 'true' }), isHere: isSettled },
  ]
  return (
    <>
      <Heading>{t.pages.person}</Heading>
      <Tabs label={t.list.states} tabs={tabs} />
      <ListFrame
        {...{ list, path: 'person', query }}
        empty={
          <p class="card empty calm">
            <Icon name="check" /> {t.person.nothing}
          </p>
        }
      >
        <LetterTable
          letters={list.page?.items ?? []}
          isSettled={isSettled}
          onSettle={({ letter }) => setOpen(letter)}
        />
      </ListFrame>
      {!isSettled && <Coming />}
      {open !== undefined && (
        <SettleDialog
          letter={open}
          onClose={() => setOpen(undefined)}
          onEnd={() => {
            setOpen(undefined)
            void list.reload()
          }}
        />
      )}
    </>
  )
}

/** What has an unknown outcome and does not need a person yet. */
function Coming() {
  const { data } = useResource<Page<RequestSummary>>('requests?isUnknown=true')
  const items = data?.items ?? []
  if (items.length === 0) return null
  const columns: readonly Column<RequestSummary>[] = [
    [
      t.list.key,
      ({ id, key }) => (
        <Link class="row-link" to={`requests/${encodeURIComponent(id)}`}>
          <code>{shorten(key)}</code>
        </Link>
      ),
    ],
    [t.list.operation, ({ operation }) => <code>{operation}</code>],
    [t.list.caller, ({ caller }) => caller],
    [t.list.age, ({ createdAt }) => <Time at={createdAt} />],
    [t.person.when, ({ personAt }) => <Time at={personAt} />],
  ]
  return (
    <Card title={t.person.coming}>
      <p class="soft">
        {t.person.comingHint} <code>{AT_ONCE}</code>
      </p>
      <Table label={t.person.coming} {...{ items, columns }} />
    </Card>
  )
}

function LetterTable({
  letters,
  isSettled,
  onSettle,
}: {
  letters: readonly Letter[]
  isSettled: boolean
  onSettle: (letter: Letter) => void
}) {
  const heads = [t.list.key, t.list.operation, t.list.caller, t.person.cause, t.person.point]
  const more = isSettled
    ? [t.person.way, t.person.author, t.person.note]
    : [t.person.tries, t.detail.error, t.person.since]
  const isActing = !isSettled && may('settle')
  return (
    <TableFrame label={t.pages.person}>
      <table class="list">
        <caption class="off">{t.list.caption(t.pages.person)}</caption>
        <thead>
          <tr>
            {[...heads, ...more].map((head) => (
              <th scope="col">{head}</th>
            ))}
            {isActing && <th scope="col">{t.workers.actions}</th>}
          </tr>
        </thead>
        <tbody>
          {letters.map((letter) => (
            <tr key={letter.letter}>
              <th scope="row">
                <Link class="row-link" to={`requests/${encodeURIComponent(letter.id)}`}>
                  <code>{shorten(letter.key)}</code>
                </Link>
              </th>
              <td data-label={heads[1]}>
                <code>{letter.operation}</code>
              </td>
              <td data-label={heads[2]}>{letter.caller}</td>
              <td data-label={heads[3]}>
                <span class="badge" data-state="needs_person">
                  <Icon name="flag" /> {t.person.causes[letter.cause]}
                </span>
              </td>
              <td data-label={heads[4]}>{letter.point ?? t.time.none}</td>
              {isSettled ? (
                <Settlement letter={letter} heads={more} />
              ) : (
                <Trouble {...{ letter }} heads={more} />
              )}
              {isActing && (
                <td data-label={t.workers.actions}>
                  <button
                    type="button"
                    class="main small"
                    aria-label={`${t.person.settle} ${shorten(letter.key)}`}
                    onClick={() => onSettle(letter)}
                  >
                    {t.person.settle}
                  </button>
                </td>
              )}
            </tr>
          ))}
        </tbody>
      </table>
    </TableFrame>
  )
}

function Trouble({ letter, heads }: { letter: Letter; heads: readonly string[] }) {
  return (
    <>
      <td data-label={heads[0]}>{count(letter.tries)}</td>
      <td data-label={heads[1]}>
        <ErrorText text={letter.error} />
      </td>
      <td data-label={heads[2]}>
        <Time at={letter.buriedAt} />
      </td>
    </>
  )
}

function Settlement({
  letter: { settlement },
  heads,
}: {
  letter: Letter
  heads: readonly string[]
}) {
  return (
    <>
      <td data-label={heads[0]}>
        {settlement === null ? t.time.none : t.person.ways[settlement.way]}
      </td>
      <td data-label={heads[1]}>{settlement?.author}</td>
      <td data-label={heads[2]}>{settlement?.note}</td>
    </>
  )
}
