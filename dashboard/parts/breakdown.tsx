/**
 * Sums by operation or caller: who repeats itself.
 *
 * @module
 */

import type { CountPoint } from '../../src/admin/admin.ts'
import { Link, withQuery } from '../router.tsx'
import { count, percent, t } from '../strings.ts'
import { Card, TableFrame } from './ui.tsx'

/** The sums, those with the most replays first. */
export function Breakdown({
  title,
  points,
  of,
}: {
  title: string
  points: readonly CountPoint[]
  of: 'operation' | 'caller'
}) {
  // What workers did, and what was refused before it was checked, belongs to no row.
  const rows = points
    .filter(({ counts }) => checkedOf(counts) > 0)
    .sort((one, other) => other.counts.hit - one.counts.hit)
  const heads = [t.overview[of], t.overview.requests, t.overview.hit, t.overview.mismatch]
  if (rows.length === 0) return null
  return (
    <Card title={title}>
      <TableFrame label={title}>
        <table>
          <caption class="off">
            {title}. {t.overview.mostHits}
          </caption>
          <thead>
            <tr>
              {[...heads, t.overview.share].map((head, index) => (
                <th scope="col" aria-sort={index === 2 ? 'descending' : undefined}>
                  {head}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {rows.map(({ of: name, caller, counts }) => {
              const checked = checkedOf(counts)
              return (
                <tr>
                  <th scope="row">
                    {of === 'operation' ? (
                      <Link to={withQuery('requests', { q: `route:"${name}"` })}>{name}</Link>
                    ) : caller === undefined ? (
                      <code title={String(name)}>{String(name).slice(0, 12)}</code>
                    ) : (
                      <Link to={withQuery('requests', { q: `scope:"${caller}"` })}>{caller}</Link>
                    )}
                  </th>
                  <td data-label={heads[1]}>{count(checked)}</td>
                  <td data-label={heads[2]}>{count(counts.hit)}</td>
                  <td data-label={heads[3]}>{count(counts.mismatch)}</td>
                  <td data-label={t.overview.share}>
                    {percent(counts.hit / Math.max(1, checked))}
                  </td>
                </tr>
              )
            })}
          </tbody>
        </table>
      </TableFrame>
    </Card>
  )
}

function checkedOf({ miss, hit, in_progress, mismatch }: CountPoint['counts']): number {
  return miss + hit + in_progress + mismatch
}
