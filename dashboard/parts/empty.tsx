/**
 * What is shown where there is nothing, and why there is nothing.
 *
 * @module
 */

import { Link, urlOf } from '../router.tsx'
import { t } from '../strings.ts'

/** Nothing was ever recorded: how to begin. */
export function NeverAny() {
  const curl = `curl -i -X POST ${new URL('/your-route', location.href).href} \\\n  -H 'Idempotency-Key: my-first-key' \\\n  -H 'Content-Type: application/json' -d '{}'`
  return (
    <div class="card empty">
      <h2>{t.empty.neverTitle}</h2>
      <p>{t.empty.never}</p>
      <pre>{curl}</pre>
      <p>{t.empty.neverOpen(urlOf('requests'))}</p>
    </div>
  )
}

/** Why a list is empty. */
export function EmptyList({
  isFiltered,
  isBeyond,
  path,
  children,
}: {
  isFiltered: boolean
  isBeyond: boolean
  path: string
  children?: preact.ComponentChildren
}) {
  if (isBeyond) {
    return (
      <div class="card empty">
        <p>{t.empty.beyond}</p>
        <Link to={path}>{t.empty.first}</Link>
      </div>
    )
  }
  if (isFiltered) {
    return (
      <div class="card empty">
        <p>{t.empty.noMatch}</p>
        <Link to={path.split('?')[0] ?? ''}>{t.empty.clear}</Link>
      </div>
    )
  }
  return <>{children ?? <p class="card empty">{t.empty.none}</p>}</>
}
