/**
 * Which index each list of requests walks, and where its pages end.
 *
 * @module
 */

import { QUERY_INVALID } from '../../../core/error-table.ts'
import { RepriseError } from '../../../core/errors.ts'
import {
  DESK_STATES,
  type DeskFilter,
  type DeskPage,
  type DeskQuery,
  type DeskRow,
  type DeskState,
  type DeskView,
} from '../../../engine/desk.ts'
import type { Rows } from '../client.ts'
import { unpack } from '../record.ts'
import type { DeskParts } from './parts.ts'
import { reading } from './parts.ts'
import { type Driver, type Position, walkValues } from './queries/walk.ts'
import { toDeskRow } from './rows.ts'

const OPEN: ReadonlySet<DeskState> = new Set([
  ...(['running', 'recovering', 'unfinished', 'stuck', 'needs_person'] as const),
])

/** Which indexes have everything that the filter asks for, in the order in which they are walked. */
function driversOf({ key, states = [] }: DeskFilter): readonly Driver[] {
  if (key !== undefined) return ['key']
  const [state] = states
  if (states.length === 1 && state === 'needs_person') return ['letters']
  if (states.length === 1 && state === 'failed') return ['failed']
  if (states.length === 1 && state === 'expired') return ['open', 'expired']
  return states.length > 0 && states.every((one) => OPEN.has(one)) ? ['open'] : ['created']
}

/** A cursor is the place of the driver, then the position on its index. */
const CURSOR = /^(\d)\.(\d{1,18})\.([\w-]{1,400})$/

/** One page of requests. */
export async function listRequests(
  parts: DeskParts,
  { view, filter }: { readonly view: DeskView; readonly filter: DeskFilter },
  { limit, after }: DeskQuery,
): Promise<DeskPage<DeskRow>> {
  const drivers = driversOf(filter)
  const { place, position } = after === null ? { place: 0, position: null } : parsed(after)
  const driver = drivers[place]
  if (driver === undefined) throw notOurs()

  const values = walkValues(view, filter, { after: position, limit: limit + 1 })
  const statement = parts.walks.page(driver)
  const rows = await reading(parts, (ask) => ask({ statement, values }))
  const { items, next } = pageOf(rows, limit)
  if (next !== null) return { items, next: cursorOf(place, next) }
  // The next index is walked from its beginning, which nothing is newer than.
  const hasMore = place + 1 < drivers.length
  return { items, next: hasMore ? cursorOf(place + 1, BEGINNING) : null }
}

/** Long after everything; as microseconds, within what PostgreSQL can add to the epoch. */
const BEGINNING: Position = { at: '9000000000000000', id: '-' }

function parsed(cursor: string): { readonly place: number; readonly position: Position } {
  const [, place, at, id] = CURSOR.exec(cursor) ?? []
  if (place === undefined || at === undefined || id === undefined) throw notOurs()
  return { place: Number(place), position: { at, id: Buffer.from(id, 'base64url').toString() } }
}

/** A cursor that this list did not give. */
export function notOurs(): RepriseError {
  return new RepriseError(QUERY_INVALID, 'The cursor is none of this list')
}

function cursorOf(place: number, { at, id }: Position): string {
  return `${place}.${at}.${Buffer.from(id).toString('base64url')}`
}

function pageOf(rows: Rows, limit: number): { items: readonly DeskRow[]; next: Position | null } {
  const matching = rows.filter(([isMatch]) => isMatch === true)
  const items = matching.slice(0, limit).map(([, , , ...row]) => toDeskRow(row))
  const isFull = matching.length > limit
  const last = isFull ? matching[limit - 1] : rows.find(([, isLast]) => isLast === true)
  if (last === undefined) return { items, next: null }
  const [, , at, id] = last
  // The statement gives the id there.
  return { items, next: { at: String(at), id: unpack(id as Uint8Array) } }
}

/** How many records are looked at to find those of one state. */
const COUNTED_MAX = 20_000

/** Where each state is counted: what is stuck is old, and what is not is young. */
const COUNTED: readonly (readonly [driver: Driver, states: readonly DeskState[]])[] = [
  ['open', ['running', 'recovering', 'unfinished', 'expired']],
  ['oldest', ['stuck']],
  ['letters', ['needs_person']],
  ['failed', ['failed']],
  ['expired', ['expired']],
  ['created', ['finished']],
]

/** How many there are of each state. */
export async function countRequests(
  parts: DeskParts,
  { view, filter }: { readonly view: DeskView; readonly filter: DeskFilter },
  max: number,
): Promise<Record<DeskState, number>> {
  const counts = noStates()
  const hasKey = filter.key !== undefined
  const counted = hasKey ? ([['key', DESK_STATES]] as const) : COUNTED
  await reading(parts, async (ask) => {
    for (const [driver, states] of counted) {
      // One state has enough when it has `max`; of several so many are looked at.
      const values = walkValues(view, { ...filter, states }, { after: null, limit: max })
      const statement = parts.walks.count(driver, states.length === 1 ? COUNTED_MAX : max)
      for (const [state, count] of await ask({ statement, values })) {
        // The statement gives states.
        const name = state as DeskState
        counts[name] = Math.min(max, counts[name] + Number(count))
      }
    }
  })
  return counts
}

function noStates(): Record<DeskState, number> {
  return {
    ...{ running: 0, recovering: 0, unfinished: 0, stuck: 0 },
    ...{ finished: 0, failed: 0, needs_person: 0, expired: 0 },
  }
}
