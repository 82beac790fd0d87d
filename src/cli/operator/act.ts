/**
 * What changes a request: with a reason, a confirmation and a line in the audit.
 *
 * @module
 */

import type {
  Admin,
  Batch,
  Order,
  OrderResult,
  RequestAction,
  RequestDetail,
} from '../../admin/admin.ts'
import type { Context, Result } from '../command.ts'
import { CliError, EXIT, usage } from '../errors.ts'
import { pause } from '../io.ts'
import { printable, table } from '../output.ts'
import { canAsk, confirm, needed } from '../prompt.ts'
import { plural } from '../words.ts'
import { findRequest, readFilter } from './targets.ts'

/** Who acts and why; asks for the reason where somebody can be asked. */
export async function orderOf(context: Context): Promise<Order> {
  const reason = await needed(context, 'reason', 'Why?')
  const author = context.flags.text('author') ?? 'cli'
  // The same for every sending of one order; each run of the command is a new one.
  return { author, reason, orderKey: context.io.random.token() }
}

/** Acts on one request. */
export async function actOnOne(
  context: Context,
  { admin, action, wanted }: { admin: Admin; action: RequestAction; wanted: string },
): Promise<Result> {
  const detail = await findRequest(admin, wanted)
  const order = await orderOf(context)
  const { out } = context
  out.note(`${detail.operation}, key ${printable(detail.key)}: ${detail.state}. What has happened:`)
  for (const line of detail.story) out.note(`  ${printable(line)}`)
  const possibility = detail.possibilities.find((one) => one.action === action)
  if (possibility !== undefined && !possibility.isAllowed) {
    throw new CliError('REPRISE_E_REFUSED', `Can not ${action} it: ${possibility.reason}`, {
      hint:
        detail.letter === null
          ? `npx reprise keys get ${detail.id}`
          : `npx reprise dead show ${detail.letter}, then npx reprise dead resolve ${detail.letter}`,
    })
  }
  out.note(possibility?.reason ?? '')
  await confirm(context, `${capital(action)} it?`)
  const sure = possibility?.isDangerous === true ? await confirmation(context, detail) : {}
  const result = await admin.act(action, detail.id, { ...order, ...sure, version: detail.version })
  const text = textOf(result)
  const document = { id: detail.id, action, outcome: result.outcome, text }
  if (result.outcome !== 'done' && result.outcome !== 'repeated') throw refusal(result, detail.id)
  return { document, text: `${result.outcome}: ${text}`, ids: [detail.id] }
}

/** What can lead to a second effect is confirmed by the end of the key. */
async function confirmation(
  context: Context,
  { key }: RequestDetail,
): Promise<{ confirm?: string }> {
  const given = context.flags.text('confirm')
  if (given !== undefined) return { confirm: given }
  if (!canAsk(context)) {
    throw new CliError('REPRISE_E_CONFIRM', 'This can lead to a second effect.', {
      hint: 'Look at what has happened; then add --confirm with the last four characters of the key.',
    })
  }
  const question = `This can lead to a second effect. Last four characters of ${printable(key)}: `
  return { confirm: (await context.io.stdin.ask(question)) ?? '' }
}

/** The error for an order that was not carried out. */
export function refusal(result: OrderResult, id: string): CliError {
  const text = textOf(result)
  if (result.outcome === 'not_found')
    return new CliError('REPRISE_E_NOT_FOUND', `There is no ${id}.`)
  const code = result.outcome === 'unconfirmed' ? 'REPRISE_E_CONFIRM' : 'REPRISE_E_REFUSED'
  return new CliError(code, text, { hint: `Look again: npx reprise keys get ${id}` })
}

/** What became of an order, in words. */
export function textOf(result: OrderResult): string {
  return 'text' in result ? result.text : 'There is no such thing.'
}

function capital(text: string): string {
  return text.slice(0, 1).toUpperCase() + text.slice(1)
}

/** How often a batch is asked for, in milliseconds. */
const LOOK_MS = 300

/** Acts on many: those named, or all that match. */
export async function actOnMany(
  context: Context,
  { admin, action, wanted }: { admin: Admin; action: RequestAction; wanted: readonly string[] },
): Promise<Result> {
  const filter = readFilter(context)
  const isFiltered = Object.keys(filter).length > 0
  if (wanted.length > 0 && isFiltered)
    throw usage('Name requests, or choose them by flags; not both.')
  if (wanted.length === 0 && !isFiltered) {
    throw usage(
      `keys ${action} needs an id or a key, or flags that choose.`,
      `npx reprise keys ${action} --state stuck`,
    )
  }
  const order = await orderOf(context)
  const ids: string[] = []
  for (const one of wanted) ids.push((await findRequest(admin, one)).id)
  const count = isFiltered ? await countOf(admin, filter) : String(ids.length)
  await confirm(context, `${capital(action)} ${count} requests?`)
  const sure = context.flags.text('confirm')
  const on = isFiltered ? { filter } : { ids }
  const begun = await admin.startBatch(action, on, {
    ...order,
    ...(sure === undefined ? {} : { confirm: sure }),
  })
  return batchResult(await followed(context, begun, { admin, order }))
}

async function countOf(admin: Admin, filter: Parameters<Admin['counts']>[0]): Promise<string> {
  const counts = Object.values(await admin.counts(filter))
  return counts.reduce((sum, count) => sum + count, 0).toLocaleString('en-US')
}

/** Shows progress until it is over; Ctrl-C stops it where it is. */
async function followed(
  { io, out }: Context,
  begun: Batch,
  { admin, order }: { readonly admin: Admin; readonly order: Order },
): Promise<Batch> {
  let batch = begun
  while (!batch.isOver) {
    out.progress(`${batch.done + batch.failed} of ${batch.total} `)
    if (!(await pause(io, LOOK_MS))) {
      await admin.cancelBatch(batch.batch, { ...order, reason: 'Interrupted.' })
      throw new CliError(
        'REPRISE_E_INTERRUPTED',
        `Interrupted after ${batch.done} of ${batch.total}.`,
        {
          hint: 'What was done is done and audited; the rest was left alone.',
        },
      )
    }
    batch = (await admin.batch(batch.batch)) ?? { ...batch, isOver: true }
  }
  out.progress('')
  return batch
}

function batchResult(batch: Batch): Result {
  const { total, done, failed, results } = batch
  const rows = results
    .filter(({ result }) => result !== 'done')
    .map(({ id, result }) => [result, id])
  const head = `${done} of ${plural(total, 'request')} done${failed > 0 ? `, ${failed} not` : ''}.`
  return {
    exit: failed > 0 ? EXIT.failed : EXIT.ok,
    document: batch,
    text: rows.length === 0 ? head : `${table(['RESULT', 'ID'], rows)}\n\n${head}`,
    ids: results.filter(({ result }) => result === 'done').map(({ id }) => id),
  }
}
