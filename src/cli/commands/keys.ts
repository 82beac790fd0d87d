/**
 * `reprise keys list | get | resume | release | expire`.
 *
 * @module
 */

import type { RequestAction } from '../../admin/admin.ts'
import type { Command, Flag } from '../command.ts'
import { withEngine } from '../engine.ts'
import { usage } from '../errors.ts'
import { DATABASE_FLAGS, FORMAT_FLAG, ORDER_FLAGS } from '../flag-sets.ts'
import { actOnMany, actOnOne, orderOf } from '../operator/act.ts'
import { requestTable, requestText } from '../operator/request-text.ts'
import { FILTER_FLAGS, findRequest, readFilter } from '../operator/targets.ts'

/** Flags of a page. */
export const PAGE_FLAGS: readonly Flag[] = [
  {
    name: 'limit',
    short: 'n',
    type: 'whole',
    value: '<count>',
    default: '50',
    summary: 'At most this many, up to 200',
  },
  { name: 'after', type: 'text', value: '<cursor>', summary: 'Where the page before ended' },
]

/** The page that the flags say. */
export function pageOf({ flags }: Parameters<Command['run']>[0]): {
  limit: number
  after?: string
} {
  const limit = flags.whole('limit') ?? 50
  if (limit < 1 || limit > 200) throw usage('--limit: from 1 to 200.')
  const after = flags.text('after')
  return after === undefined ? { limit } : { limit, after }
}

/** `reprise keys list`. */
export const keysList: Command = {
  ...{ name: 'keys list', summary: 'List requests, newest first' },
  flags: [
    ...[...FILTER_FLAGS, ...PAGE_FLAGS, FORMAT_FLAG],
    { name: 'wide', type: 'switch', summary: 'Every column whole, however wide the terminal is' },
    ...DATABASE_FLAGS,
  ],
  examples: [
    ['npx reprise keys list --state stuck', 'What nobody finishes'],
    ['npx reprise keys list --route "POST /charges" --older-than 1h -o ids', 'Ids, for xargs'],
  ],
  run: (context) =>
    withEngine(context, async ({ admin }) => {
      const { items, next } = await admin.list(readFilter(context), pageOf(context))
      const more = next === null ? [] : ['', `More: --after ${next}`]
      const { clock, stdout } = context.io
      const now = clock.unix()
      const isWide = context.flags.isOn('wide') || !stdout.isTTY
      const { duplicates: hasDuplicates } = await admin.recorded()
      const view = { now, width: isWide ? null : stdout.columns, hasDuplicates }
      const table = [requestTable(items, view), ...(hasDuplicates ? [] : ['', NOTED_BY])]
      const text = items.length === 0 ? 'No request matches.' : table.join('\n')
      return {
        document: { items, next },
        text: [text, ...more].join('\n'),
        ids: items.map(({ id }) => id),
      }
    }),
}

const NOTED_BY =
  'DUPS are not recorded. The app notes them with onEvent: keepDuplicates(store).onEvent, of reprise/telemetry.'

/** `reprise keys get`. */
export const keysGet: Command = {
  ...{ name: 'keys get', summary: 'Show one request and why it is not finished' },
  args: '<id-or-key>',
  flags: [
    { name: 'payload', type: 'switch', summary: 'Show input, state and answer, redacted; audited' },
    ...ORDER_FLAGS.filter(({ name }) => name !== 'yes'),
    ...DATABASE_FLAGS,
  ],
  examples: [
    ['npx reprise keys get k-1', 'By key'],
    [
      'npx reprise keys get k-1 --payload --reason "ticket 4711"',
      'With what was asked and answered',
    ],
  ],
  run: (context) =>
    withEngine(context, async ({ admin }) => {
      const detail = await findRequest(admin, context.args[0] ?? '')
      const wants = context.flags.isOn('payload')
      const payload = wants ? await admin.reveal(detail.id, await orderOf(context)) : undefined
      const { duplicates: hasDuplicates } = await admin.recorded()
      return {
        document: payload === undefined ? detail : { ...detail, payload },
        text: requestText(detail, { payload, hasDuplicates }),
        ids: [detail.id],
      }
    }),
}

const SUMMARIES: Readonly<Record<RequestAction, string>> = {
  resume: 'Have requests taken up where they stopped',
  release: 'Take the lease away from whoever holds it',
  expire: 'Forget answers: the next request runs anew',
}

function action(name: RequestAction): Command {
  return {
    ...{ name: `keys ${name}`, summary: SUMMARIES[name], args: '[id-or-key...]', isLong: true },
    details: [
      'Needs --reason, and --yes in scripts; written to the audit. Where it can lead to a second effect, --confirm takes the last four characters of the key, or the count for many.',
    ],
    flags: [
      ...ORDER_FLAGS,
      {
        name: 'confirm',
        type: 'text',
        value: '<text>',
        summary: 'Last four characters of the key',
      },
      ...FILTER_FLAGS,
      ...[FORMAT_FLAG, ...DATABASE_FLAGS],
    ],
    examples: [
      [`npx reprise keys ${name} k-1 --reason "ticket 4711" --yes`, 'One request, by key'],
      [`npx reprise keys ${name} --state stuck --reason "outage" --yes`, 'All that are stuck'],
    ],
    run: (context) =>
      withEngine(context, ({ admin }) => {
        const [only, ...others] = context.args
        return only !== undefined && others.length === 0 && !hasFilter(context)
          ? actOnOne(context, { admin, action: name, wanted: only })
          : actOnMany(context, { admin, action: name, wanted: context.args })
      }),
  }
}

/** `reprise keys resume`. */
export const keysResume: Command = action('resume')
/** `reprise keys release`. */
export const keysRelease: Command = action('release')
/** `reprise keys expire`. */
export const keysExpire: Command = action('expire')

function hasFilter(context: Parameters<Command['run']>[0]): boolean {
  return Object.keys(readFilter(context)).length > 0
}
