/**
 * A table of things that are alike, in a frame that scrolls if it has to.
 *
 * @module
 */

import type { ComponentChildren } from 'preact'
import { TableFrame } from './ui.tsx'

/** A column: its head, and what stands below it. */
export type Column<T> = readonly [head: string, cell: (item: T) => ComponentChildren]

/** What a table is made of. The first column names the row. */
interface TableParts<T> {
  readonly label: string
  /** Said to who can not see it; the label unless given. */
  readonly caption?: string
  readonly items: readonly T[]
  readonly columns: readonly Column<T>[]
  /** Of the style. */
  readonly kind?: string
}

/** A table. */
export function Table<T>({ label, caption = label, items, columns, kind }: TableParts<T>) {
  return (
    <TableFrame label={label}>
      <table class={kind}>
        <caption class="off">{caption}</caption>
        <thead>
          <tr>
            {columns.map(([head]) => (
              <th scope="col">{head}</th>
            ))}
          </tr>
        </thead>
        <tbody>
          {items.map((item) => (
            <tr>
              {columns.map(([head, cell], place) =>
                place === 0 ? (
                  <th scope="row">{cell(item)}</th>
                ) : (
                  <td data-label={head}>{cell(item)}</td>
                ),
              )}
            </tr>
          ))}
        </tbody>
      </table>
    </TableFrame>
  )
}
