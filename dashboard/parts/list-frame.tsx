/**
 * What is around every list: news, troubles, emptiness and paging.
 *
 * @module
 */

import type { ComponentChildren } from 'preact'
import type { HeldList } from '../held-list.ts'
import { Link, withQuery } from '../router.tsx'
import { t } from '../strings.ts'
import { EmptyList } from './empty.tsx'
import { Loading, Problem } from './ui.tsx'

/** What the page asks its list for: one parameter of the address, and where to go on. */
export function asked(query: URLSearchParams, name: string): URLSearchParams {
  return new URLSearchParams([...query].filter(([one]) => one === name || one === 'after'))
}

/** What is around a list. */
export function ListFrame<T>({
  list,
  path,
  query,
  empty,
  children,
}: {
  list: HeldList<T>
  path: string
  query: URLSearchParams
  empty?: ComponentChildren
  children: ComponentChildren
}) {
  const { page, error, fresh, hasChanged, show } = list
  const after = query.get('after')
  const others = Object.fromEntries([...query].filter(([name]) => name !== 'after'))
  const first = withQuery(path, others)
  const isFiltered = Object.keys(others).some((name) => name !== 'after' && others[name] !== '')
  return (
    <>
      {error !== undefined && <Problem error={error} onRetry={() => void list.reload()} />}
      {page === undefined && error === undefined && <Loading />}
      {(fresh > 0 || hasChanged) && (
        <button type="button" class="news" onClick={show}>
          {fresh > 0 ? t.list.showNew(fresh) : t.list.showChanged}
        </button>
      )}
      {page !== undefined && page.items.length > 0 && children}
      {page !== undefined && page.items.length === 0 && error === undefined && (
        <EmptyList isFiltered={isFiltered} isBeyond={after !== null} path={first}>
          {empty}
        </EmptyList>
      )}
      {page !== undefined && (after !== null || page.next !== null) && (
        <div class="paging">
          {after !== null && <Link to={first}>{t.list.first}</Link>}
          {page.next !== null && (
            <Link to={withQuery(path, { ...others, after: page.next })} rel="next">
              {t.list.next}
            </Link>
          )}
        </div>
      )}
    </>
  )
}
