/**
 * Questions to a person, where there is one.
 *
 * @module
 */

import type { Context } from './command.ts'
import { CliError } from './errors.ts'

/** Whether somebody can be asked. */
export function canAsk({ io, flags, out }: Pick<Context, 'io' | 'flags' | 'out'>): boolean {
  return io.stdin.isTTY && io.stderr.isTTY && !flags.isOn('no-input') && !out.isJson
}

/**
 * Asks whether to go on; `--yes` is the answer of a script.
 *
 * @throws CliError `REPRISE_E_CONFIRM` when nobody can be asked, or the answer is no
 */
export async function confirm(
  context: Pick<Context, 'io' | 'flags' | 'out'>,
  question: string,
): Promise<void> {
  if (context.flags.isOn('yes')) return
  if (!canAsk(context)) {
    throw new CliError('REPRISE_E_CONFIRM', `Not done: ${question}`, {
      hint: 'Add --yes to say that it is meant.',
    })
  }
  const answer = await context.io.stdin.ask(`${question} [y/N] `)
  if (/^y(es)?$/i.test(answer?.trim() ?? '')) return
  throw new CliError('REPRISE_E_CONFIRM', 'Not done.', { hint: 'Answer y, or add --yes.' })
}

/**
 * A text that has to be given, by a flag or by whoever sits there.
 *
 * @throws CliError `REPRISE_E_CONFIRM` when nobody can be asked
 */
export async function needed(
  context: Pick<Context, 'io' | 'flags' | 'out'>,
  flag: string,
  question: string,
): Promise<string> {
  const given = context.flags.text(flag)
  if (given !== undefined && given.trim() !== '') return given
  const missing = new CliError('REPRISE_E_CONFIRM', `--${flag} is missing.`, {
    hint: `Add --${flag} "…".`,
  })
  if (!canAsk(context)) throw missing
  const answer = await context.io.stdin.ask(`${question} `)
  if (answer === undefined || answer.trim() === '') throw missing
  return answer
}
