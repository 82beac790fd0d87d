/**
 * The help, made from the table of commands.
 *
 * @module
 */

import type { Command, Flag } from './command.ts'
import { EXIT_MEANINGS } from './errors.ts'
import { GLOBAL_FLAGS } from './flag-sets.ts'

const WIDTH = 80

/** What `reprise` alone says. */
export function overviewHelp(commands: readonly Command[]): string {
  const shown = commands.filter(({ isHidden }) => isHidden !== true)
  const width = Math.max(...shown.map(({ name }) => name.length))
  const line = ({ name, summary }: Command) => wrap(summary, `  ${name.padEnd(width)}  `)
  return [
    ...['Usage: reprise <command> [flags]', ''],
    ...['One effect and the same answer, however often a request is sent.', ''],
    ...shown.map(line),
    ...['', 'Flags of every command:', ...GLOBAL_FLAGS.map(flagHelp)],
    ...[
      '',
      'Examples:',
      '  npx reprise dev',
      '  npx reprise migrate up',
      '  npx reprise doctor --json',
    ],
    ...['', 'More: reprise <command> --help, reprise help exit-codes'],
  ].join('\n')
}

/** The help of a group, such as `keys`. */
export function groupHelp(group: string, commands: readonly Command[]): string {
  const width = Math.max(...commands.map(({ name }) => name.length))
  const examples = commands.flatMap(({ examples: [first] }) => (first ? [`  ${first[0]}`] : []))
  return [
    ...[`Usage: reprise ${group} <command> [flags]`, ''],
    ...commands.map(({ name, summary }) => wrap(summary, `  ${name.padEnd(width)}  `)),
    ...['', 'Examples:', ...examples],
  ].join('\n')
}

/** The help of a command. */
export function commandHelp(command: Command): string {
  const { name, args, summary, details = [], flags, examples } = command
  return [
    ...[`Usage: reprise ${name}${args === undefined ? '' : ` ${args}`} [flags]`, ''],
    ...[wrap(summary, ''), ...details.map((text) => wrap(text, ''))],
    ...(flags.length === 0 ? [] : ['', 'Flags:', ...flags.map(flagHelp)]),
    ...['', 'Flags of every command:', ...GLOBAL_FLAGS.map(flagHelp)],
    ...[
      '',
      'Examples:',
      ...examples.flatMap(([line, what]) => [wrap(`# ${what}`, '  '), `  ${line}`]),
    ],
  ].join('\n')
}

/** What `reprise help exit-codes` says. */
export function exitCodesHelp(): string {
  const lines = Object.entries(EXIT_MEANINGS).map(
    ([code, text]) => `  ${code.padStart(3)}  ${text}`,
  )
  return [
    'Exit codes:',
    '',
    ...lines,
    '',
    'Example:',
    '  npx reprise doctor || echo "ended with $?"',
  ].join('\n')
}

function flagHelp({ name, short, value, summary, default: preset, env = [] }: Flag): string {
  const letter = short === undefined ? '    ' : `-${short}, `
  const head = `  ${letter}--${name}${value === undefined ? '' : ` ${value}`}`
  const notes = [
    ...(preset === undefined ? [] : [`[${preset}]`]),
    ...(env.length === 0 ? [] : [`(env ${env.join(', ')})`]),
  ]
  return wrap([summary, ...notes].join(' '), `${head.padEnd(30)} `)
}

/** Breaks a text so that it fits behind its head, on as many lines as it takes. */
function wrap(text: string, head: string): string {
  const lines: string[] = []
  let line = head
  let isEmpty = true
  for (const word of text.split(' ')) {
    if (!isEmpty && line.length + word.length + 1 > WIDTH) {
      lines.push(line)
      line = ' '.repeat(head.length)
      isEmpty = true
    }
    line += isEmpty ? word : ` ${word}`
    isEmpty = false
  }
  return [...lines, line].join('\n')
}
