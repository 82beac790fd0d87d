/**
 * Which requests a command is about.
 *
 * @module
 */

import type { Admin, RequestDetail, RequestFilter, RequestState } from '../../admin/admin.ts'
import { closest } from '../../core/suggest.ts'
import { DESK_STATES } from '../../engine/desk.ts'
import type { Context, Flag } from '../command.ts'
import { CliError, usage } from '../errors.ts'

/** Flags that choose requests. */
export const FILTER_FLAGS: readonly Flag[] = [
  {
    ...{ name: 'state', short: 's', type: 'text', value: '<state>', isMany: true },
    summary: DESK_STATES.join(', '),
  },
  {
    ...{ name: 'route', type: 'text', value: '<name>' },
    summary: 'Operation, such as "POST /charges"',
  },
  { name: 'client', type: 'text', value: '<caller>', summary: 'Caller, as the app names it' },
  { name: 'key', short: 'k', type: 'text', value: '<key>', summary: 'Key, or its beginning and *' },
  { name: 'status', type: 'whole', value: '<status>', summary: 'Status of the stored answer' },
  { name: 'point', type: 'text', value: '<name>', summary: 'Recovery point' },
  {
    ...{ name: 'unknown', type: 'switch' },
    summary: 'Outcome unknown after a run that stopped, and not yet before a person',
  },
  { name: 'older-than', type: 'duration', value: '<time>', summary: 'At least this old' },
]

/**
 * The filter that the flags say.
 *
 * @throws CliError `REPRISE_E_USAGE` for a state that there is not
 */
export function readFilter({ flags }: Pick<Context, 'flags'>): RequestFilter {
  const states = flags
    .many('state')
    .flatMap((text) => text.split(','))
    .map(stateOf)
  const given = {
    ...{ operation: flags.text('route'), caller: flags.text('client'), key: flags.text('key') },
    ...{ status: flags.whole('status'), recoveryPoint: flags.text('point') },
    isUnknown: flags.isOn('unknown') ? true : undefined,
    ...{ olderThanMs: flags.ms('older-than'), states: states.length === 0 ? undefined : states },
  }
  const set = Object.entries(given).filter(([, value]) => value !== undefined)
  return Object.fromEntries(set)
}

function stateOf(text: string): RequestState {
  const name = text.trim().replaceAll('-', '_')
  const found = DESK_STATES.find((state) => state === name)
  if (found !== undefined) return found
  const like = closest(name, DESK_STATES)
  throw usage(
    `--state: there is no state "${text}".`,
    like === undefined ? `One of: ${DESK_STATES.join(', ')}` : `Did you mean ${like}?`,
  )
}

/** An id is a digest of 32 bytes. */
const ID = /^[\w-]{43}$/

/**
 * The request with this id, or with this key if there is only one.
 *
 * @throws CliError `REPRISE_E_NOT_FOUND`; `REPRISE_E_USAGE` when several have the key
 */
export async function findRequest(admin: Admin, wanted: string): Promise<RequestDetail> {
  const byId = ID.test(wanted) ? await admin.find(wanted) : undefined
  if (byId !== undefined) return byId
  const same = await admin.findByKey(wanted)
  if (same.length > 1) {
    const named = same
      .slice(0, 10)
      .map(({ id, operation, caller }) => `${id} (${operation}, ${caller})`)
    throw usage(
      `${same.length} requests have the key ${wanted}; name one by its id.`,
      named.join(', '),
    )
  }
  const [only] = same
  const found = only && (await admin.find(only.id))
  if (found !== undefined) return found
  throw new CliError('REPRISE_E_NOT_FOUND', `There is no request with the id or key ${wanted}.`, {
    reason: 'It never came, it is past its retention and reaped, or it is in another schema.',
    hint: 'npx reprise keys list',
  })
}
