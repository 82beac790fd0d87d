/**
 * `reprise dead list | show | resolve`.
 *
 * @module
 */

import type { Admin, LetterSettlement, RequestSummary } from '../../admin/admin.ts'
import { AT_ONCE } from '../../admin/explain.ts'
import type { DeadLetter, HistoryEntry } from '../../engine/letters.ts'
import type { Command, Context } from '../command.ts'
import { withEngine } from '../engine.ts'
import { CliError, usage } from '../errors.ts'
import { DATABASE_FLAGS, FORMAT_FLAG, ORDER_FLAGS } from '../flag-sets.ts'
import { orderOf, refusal, textOf } from '../operator/act.ts'
import { type Fit, fittedTable, pairs, printable } from '../output.ts'
import { confirm } from '../prompt.ts'
import { duration, instant } from '../words.ts'
import { PAGE_FLAGS, pageOf } from './keys.ts'

/** `reprise dead list`. */
export const deadList: Command = {
  ...{ name: 'dead list', summary: 'List what only a person can settle, newest first' },
  flags: [
    { name: 'settled', type: 'switch', summary: 'Those that are settled instead' },
    ...[...PAGE_FLAGS, FORMAT_FLAG, ...DATABASE_FLAGS],
  ],
  examples: [['npx reprise dead list', 'What waits for a person']],
  run: (context) =>
    withEngine(context, async ({ admin }) => {
      const isSettled = context.flags.isOn('settled')
      const { items, next } = await admin.letters({ ...pageOf(context), isSettled })
      const now = context.io.clock.unix()
      const rows = items.map((letter) => [
        ...[letter.letter, letter.cause, letter.operation, letter.key, letter.caller],
        ...[letter.point ?? '-', duration(now - letter.buriedAt), letter.error ?? '-'],
      ])
      const soon = isSettled ? [] : await comingOf(admin)
      const { isTTY, columns } = context.io.stdout
      const fit = { ...FIT, width: isTTY ? columns : Number.POSITIVE_INFINITY }
      const heads = ['LETTER', 'CAUSE', 'ROUTE', 'KEY', 'CLIENT', 'POINT', 'AGE', 'ERROR']
      return {
        document: { items: items.map(documentOf), next, soon },
        text: [
          items.length === 0 ? 'Nothing waits for a person.' : fittedTable(heads, rows, fit),
          ...soonText(soon, { now, fit }),
        ].join('\n'),
        ids: items.map(({ letter }) => letter),
      }
    }),
}

/** What gives way in a narrow terminal; `dead show` and `--json` have all of it. */
const FIT = { cut: ['ROUTE', 'KEY', 'CLIENT', 'POINT', 'ERROR'], drop: ['ID', 'POINT'] } as const

/** How many that come before a person are named. */
const COMING_MAX = 50

/** What has an unknown outcome and does not stand before a person yet. */
async function comingOf(admin: Admin): Promise<readonly RequestSummary[]> {
  return (await admin.list({ isUnknown: true }, { limit: COMING_MAX })).items
}

function soonText(
  soon: readonly RequestSummary[],
  { now, fit }: { readonly now: number; readonly fit: Fit },
): readonly string[] {
  if (soon.length === 0) return []
  const rows = soon.map(({ personAt, operation, key, caller, createdAt, id }) => [
    personAt === null ? '-' : personAt <= now ? 'next run' : `in ${duration(personAt - now)}`,
    ...[operation, key, caller, duration(now - createdAt), id],
  ])
  return [
    '',
    'Outcome unknown, and put before a person by the completer:',
    fittedTable(['WHEN', 'ROUTE', 'KEY', 'CLIENT', 'AGE', 'ID'], rows, fit),
    `At once: ${AT_ONCE}`,
  ]
}

/** `reprise dead show`. */
export const deadShow: Command = {
  ...{ name: 'dead show', summary: 'Show one of them, and what was tried', args: '<letter>' },
  flags: DATABASE_FLAGS,
  examples: [['npx reprise dead show 1', 'By its number']],
  run: (context) =>
    withEngine(context, async ({ admin }) => {
      const letter = await admin.letter(context.args[0] ?? '')
      if (letter === undefined) throw notFound(context.args[0] ?? '')
      return { document: documentOf(letter), text: letterText(letter) }
    }),
}

const WAYS = ['happened', 'resume', 'give-up'] as const

/** `reprise dead resolve`. */
export const deadResolve: Command = {
  ...{
    name: 'dead resolve',
    summary: 'Settle one of them: happened, resume or give-up',
    args: '<letter>',
  },
  details: [
    'happened: it took effect; --status and --body are the answer that every further request gets. give-up: the same with an error. resume: it did not happen; it is taken up where it stopped.',
  ],
  flags: [
    {
      name: 'way',
      short: 'w',
      type: 'choice',
      choices: WAYS,
      value: '<way>',
      summary: WAYS.join(', '),
    },
    { name: 'status', type: 'whole', value: '<status>', summary: 'Status of the answer' },
    {
      name: 'body',
      type: 'text',
      value: '<json>',
      summary: 'Body of the answer, as JSON; - reads stdin',
    },
    ...[...ORDER_FLAGS, ...DATABASE_FLAGS],
  ],
  examples: [
    [
      `npx reprise dead resolve 1 --way happened --status 201 --body '{"id":"ch_1"}' --reason "seen at the provider" --yes`,
      'It took effect',
    ],
    ['npx reprise dead resolve 1 --way resume --reason "not at the provider" --yes', 'It did not'],
  ],
  run: (context) =>
    withEngine(context, async ({ admin }) => {
      const wanted = context.args[0] ?? ''
      const settlement = await settlementOf(context)
      const letter = await admin.letter(wanted)
      if (letter === undefined) throw notFound(wanted)
      const order = await orderOf(context)
      context.out.note(letterText(letter))
      await confirm(context, `Settle it: ${settlement.way.replace('_', ' ')}?`)
      const result = await admin.settle(wanted, settlement, order)
      if (result.outcome !== 'done' && result.outcome !== 'repeated') throw refusal(result, wanted)
      const text = textOf(result)
      return {
        document: { letter: wanted, way: settlement.way, outcome: result.outcome, text },
        text: `${result.outcome}: ${text}`,
      }
    }),
}

async function settlementOf({ flags, io }: Context): Promise<LetterSettlement> {
  const way = flags.text('way')
  if (way === undefined) throw usage('--way is missing.', `One of: ${WAYS.join(', ')}`)
  if (way === 'resume') return { way }
  const status = flags.whole('status') ?? (way === 'happened' ? 200 : 500)
  const given = flags.text('body')
  const text = given === '-' ? await io.stdin.all() : given
  return { way: way === 'happened' ? 'happened' : 'give_up', status, body: bodyOf(text) }
}

function bodyOf(text: string | undefined): unknown {
  if (text === undefined) return undefined
  try {
    return JSON.parse(text)
  } catch (error) {
    const said = error instanceof Error ? error.message : ''
    throw usage(`--body is no JSON: ${said}`, `Quote it for the shell: --body '{"id":"ch_1"}'`)
  }
}

function notFound(letter: string): CliError {
  return new CliError('REPRISE_E_NOT_FOUND', `There is no dead letter ${letter}.`, {
    hint: 'npx reprise dead list',
  })
}

/** Input and state are sealed; what a person may read of them is shown by `keys get --payload`. */
function documentOf({ input: _input, state: _state, ...rest }: DeadLetter): object {
  return rest
}

function letterText(letter: DeadLetter): string {
  const { settlement } = letter
  const history = letter.history.map((entry) => {
    const { beganAt, actor, node, point, ending, error } = entry
    const end = ending ?? openText(entry, letter)
    return `  ${instant(beganAt)}  ${actor}${node === undefined ? '' : ` (${node})`} at ${point}: ${end}${error === null ? '' : ` (${printable(error)})`}`
  })
  const lines = pairs([
    ['letter', letter.letter],
    ['cause', letter.cause],
    ['route', letter.operation],
    ['key', letter.key],
    ['client', letter.caller],
    ['stopped at', letter.point ?? '-'],
    ['error', letter.error ?? '-'],
    ['tries', String(letter.tries)],
    ['created', instant(letter.createdAt)],
    ['buried', instant(letter.buriedAt)],
    ['request', letter.id],
    [
      'settled',
      settlement === null ? 'no' : `${settlement.way} by ${settlement.author}: ${settlement.note}`,
    ],
  ])
  return [lines, ...(history.length === 0 ? [] : ['', 'What was tried:', ...history])].join('\n')
}

/** What became of a call without an end: its own run may have told, as when it took too long. */
function openText({ fence, point }: HistoryEntry, letter: DeadLetter): string {
  const isTold = letter.error !== null && letter.fence === fence && letter.point === point
  return isTold
    ? `ended with an unknown outcome (${printable(letter.error)})`
    : 'was never heard of again'
}
