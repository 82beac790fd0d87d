/**
 * The list of requests, and that of the stuck ones.
 *
 * @module
 */

import { useEffect, useLayoutEffect, useMemo, useState } from 'preact/hooks'
import type {
  RequestFilter,
  RequestState,
  RequestSummary,
  StateCounts,
} from '../../src/admin/admin.ts'
import { apiQuery, parseFilter, without } from '../filter.ts'
import { useHeldList } from '../held-list.ts'
import { hold } from '../live.ts'
import { BulkBar } from '../parts/bulk.tsx'
import { NeverAny } from '../parts/empty.tsx'
import { Icon } from '../parts/icon.tsx'
import { ListFrame } from '../parts/list-frame.tsx'
import { ColumnChooser, RequestTable } from '../parts/request-table.tsx'
import { Heading, Tabs } from '../parts/ui.tsx'
import { useResource } from '../resource.ts'
import { Link, withQuery } from '../router.tsx'
import { may } from '../session.ts'
import { capped, STATES, t } from '../strings.ts'
import { useTitle } from '../title.ts'

const PAGE_SIZE = '50'

/** Which requests the address asks for. */
function askedFor(page: 'requests' | 'stuck', query: URLSearchParams) {
  const parsed = parseFilter(query.get('q') ?? '')
  const state = page === 'stuck' ? 'stuck' : query.get('state')
  const states = state === null ? undefined : ([state] as RequestState[]) // The server checks it.
  const filter: RequestFilter = { ...parsed.filter, ...(states === undefined ? {} : { states }) }
  return { parsed, filter, state }
}

/** A list of requests. */
export function RequestsPage({
  page,
  query,
}: {
  page: 'requests' | 'stuck'
  query: URLSearchParams
}) {
  const { parsed, filter, state } = askedFor(page, query)
  const params = apiQuery(filter)
  params.set('limit', PAGE_SIZE)
  const after = query.get('after')
  if (after !== null) params.set('after', after)
  const list = useHeldList<RequestSummary>(`requests?${params}`, ({ id }) => id)
  const { states: _, ...rest } = filter
  const counts = useResource<StateCounts>(`counts?${apiQuery(rest)}`)
  const [selected, setSelected] = useState<ReadonlySet<string>>(new Set())
  useEffect(() => {
    hold('selection', selected.size > 0)
    return () => hold('selection', false)
  }, [selected.size > 0])
  // Before the page is painted: what is selected after that must stay.
  useLayoutEffect(() => setSelected(new Set()), [params.toString()])

  const name = t.pages[page]
  const stuck = counts.data?.stuck ?? 0
  useTitle(page === 'stuck' && stuck > 0 ? `${name} (${capped(stuck)})` : name)
  const items = list.page?.items ?? []
  const isSelecting = may('resume') || may('release') || may('expire')
  const total = useMemo(() => totalOf(counts.data, filter), [counts.data, params.toString()])
  return (
    <>
      <div class="head">
        <Heading>{name}</Heading>
        <ColumnChooser />
      </div>
      {page === 'requests' && <StateTabs counts={counts.data} state={state} query={query} />}
      <Chips page={page} query={query} parsed={parsed} />
      <ListFrame list={list} path={page} query={query} empty={emptyOf(page)}>
        <RequestTable
          {...{ items, selected, onSelect: setSelected, isSelecting }}
          caption={t.list.caption(name)}
        />
      </ListFrame>
      {selected.size > 0 && (
        <BulkBar
          {...{ selected, filter, total }}
          onClear={() => setSelected(new Set())}
          onDone={() => {
            setSelected(new Set())
            void list.reload()
          }}
        />
      )}
    </>
  )
}

function emptyOf(page: 'requests' | 'stuck') {
  if (page === 'requests') return <NeverAny />
  return (
    <p class="card empty calm">
      <Icon name="check" /> {t.overview.nothing}
    </p>
  )
}

function totalOf(counts: StateCounts | undefined, { states }: RequestFilter): number {
  if (counts === undefined) return 0
  const asked = states ?? Object.keys(counts)
  // The names of the states.
  return asked.reduce((sum, state) => sum + counts[state as RequestState], 0)
}

const TABS: readonly RequestState[] = [
  ...(['running', 'recovering', 'unfinished', 'stuck'] as const),
  ...(['needs_person', 'finished', 'failed', 'expired'] as const),
]

function StateTabs({
  counts,
  state,
  query,
}: {
  counts: StateCounts | undefined
  state: string | null
  query: URLSearchParams
}) {
  const q = query.get('q') ?? ''
  const all = counts === undefined ? 0 : Object.values(counts).reduce((sum, one) => sum + one, 0)
  const tab = (
    name: preact.ComponentChildren,
    number: number | undefined,
    to: string,
    isHere: boolean,
  ) => ({
    ...{ to, isHere },
    name: (
      <>
        {name} <span class="count">{number === undefined ? '' : capped(number)}</span>
      </>
    ),
  })
  return (
    <Tabs
      label={t.list.states}
      tabs={[
        tab(t.list.all, counts && all, withQuery('requests', { q }), state === null),
        ...TABS.map((one) => {
          const [word, sign] = STATES[one]
          const to = withQuery('requests', { q, state: one })
          return tab([<Icon name={sign} />, ` ${word}`], counts?.[one], to, state === one)
        }),
      ]}
    />
  )
}

function Chips({
  page,
  query,
  parsed,
}: {
  page: string
  query: URLSearchParams
  parsed: ReturnType<typeof parseFilter>
}) {
  const state = query.get('state') ?? ''
  const { chips, problem, word } = parsed
  const wrong = problem ?? (word === undefined ? undefined : t.filter.noField(word))
  const presets = [
    [t.list.mostReplayed, withQuery(page, { q: 'replays>1', state })],
    [t.list.olderThanHour, withQuery(page, { q: 'age>1h', state })],
  ] as const
  return (
    <div class="chips">
      {wrong !== undefined && (
        <p class="problem" role="alert">
          {wrong}
        </p>
      )}
      {chips.map((chip) => (
        <span class="chip">
          <code>{chip.text}</code>
          <Link
            to={withQuery(page, { q: without(chips, chip), state })}
            aria-label={t.filter.remove(chip.text)}
          >
            <Icon name="cross" />
          </Link>
        </span>
      ))}
      {chips.length > 0 && <Link to={withQuery(page, { state })}>{t.empty.clear}</Link>}
      {chips.length === 0 && (
        <span class="presets">
          <span class="soft">{t.list.presets}:</span>
          {presets.map(([name, to]) => (
            <Link to={to}>{name}</Link>
          ))}
        </span>
      )}
    </div>
  )
}
