/**
 * The table of requests, with the columns that were chosen.
 *
 * @module
 */

import type { ComponentChildren } from 'preact'
import type { RequestSummary } from '../../src/admin/admin.ts'
import { prefs } from '../prefs.ts'
import { Link } from '../router.tsx'
import { useStore } from '../store.ts'
import { count, t } from '../strings.ts'
import { Time } from './time.tsx'
import { CopyButton, StateBadge, shorten, TableFrame } from './ui.tsx'

interface Column {
  readonly id: string
  readonly name: string
  cell(request: RequestSummary): ComponentChildren
}

/** All but the key, which is always there. */
const COLUMNS: readonly Column[] = [
  { id: 'state', name: t.list.state, cell: ({ state }) => <StateBadge state={state} /> },
  { id: 'operation', name: t.list.operation, cell: ({ operation }) => <code>{operation}</code> },
  { id: 'caller', name: t.list.caller, cell: ({ caller }) => <Cut text={caller} /> },
  {
    ...{ id: 'point', name: t.list.point },
    cell: ({ recoveryPoint }) => <Cut text={recoveryPoint ?? t.time.none} />,
  },
  { id: 'attempts', name: t.list.attempts, cell: ({ attempts }) => count(attempts) },
  { id: 'duplicates', name: t.list.duplicates, cell: ({ duplicates }) => count(duplicates) },
  { id: 'age', name: t.list.age, cell: ({ createdAt }) => <Time at={createdAt} /> },
  { id: 'active', name: t.list.active, cell: ({ activeAt }) => <Time at={activeAt} /> },
  { id: 'status', name: t.list.status, cell: ({ status }) => status ?? t.time.none },
]

/** What may be long is cut where there is no room; the whole of it is told on hover and to readers. */
function Cut({ text }: { text: string }) {
  return (
    <span class="cut" title={text}>
      {text}
    </span>
  )
}

/** Chooses columns; the choice is kept in this browser. */
export function ColumnChooser() {
  const { hiddenColumns } = useStore(prefs)
  const toggle = (id: string) => {
    const isHidden = hiddenColumns.includes(id)
    const next = isHidden ? hiddenColumns.filter((one) => one !== id) : [...hiddenColumns, id]
    prefs.update({ hiddenColumns: next })
  }
  return (
    <details class="menu">
      <summary>{t.list.columns}</summary>
      <fieldset>
        <legend class="off">{t.list.columns}</legend>
        {COLUMNS.map(({ id, name }) => (
          <label class="check">
            <input
              type="checkbox"
              checked={!hiddenColumns.includes(id)}
              onChange={() => toggle(id)}
            />
            {name}
          </label>
        ))}
      </fieldset>
    </details>
  )
}

/** The table. */
export function RequestTable({
  items,
  caption,
  selected,
  onSelect,
  isSelecting,
}: {
  items: readonly RequestSummary[]
  caption: string
  selected: ReadonlySet<string>
  onSelect: (selected: ReadonlySet<string>) => void
  isSelecting: boolean
}) {
  const { hiddenColumns } = useStore(prefs)
  const columns = COLUMNS.filter(({ id }) => !hiddenColumns.includes(id))
  const isAll = items.length > 0 && items.every(({ id }) => selected.has(id))
  const toggle = (id: string) => {
    const next = new Set(selected)
    if (!next.delete(id)) next.add(id)
    onSelect(next)
  }
  return (
    <TableFrame label={caption}>
      <table class="list">
        <caption class="off">{caption}</caption>
        <thead>
          <tr>
            {isSelecting && (
              <th scope="col" class="pick">
                <input
                  type="checkbox"
                  aria-label={t.list.selectAll}
                  checked={isAll}
                  onChange={() => onSelect(new Set(isAll ? [] : items.map(({ id }) => id)))}
                />
              </th>
            )}
            <th scope="col">{t.list.key}</th>
            {columns.map(({ id, name }) => (
              <th scope="col" aria-sort={id === 'age' ? 'descending' : undefined}>
                {name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {items.map((request) => (
            <tr key={request.id} aria-selected={selected.has(request.id) || undefined}>
              {isSelecting && (
                <td class="pick">
                  <input
                    type="checkbox"
                    aria-label={t.list.selectRow(shorten(request.key))}
                    checked={selected.has(request.id)}
                    onChange={() => toggle(request.id)}
                  />
                </td>
              )}
              <th scope="row">
                <Link
                  class="row-link"
                  to={`requests/${encodeURIComponent(request.id)}`}
                  title={request.key}
                >
                  <code>{shorten(request.key)}</code>
                </Link>
                <CopyButton
                  text={request.key}
                  label={`${t.detail.copyKey} ${shorten(request.key)}`}
                />
              </th>
              {columns.map(({ id, name, cell }) => (
                <td data-label={name} data-column={id}>
                  {cell(request)}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </TableFrame>
  )
}
