/**
 * From a command line to an exit code.
 *
 * @module
 */

import { closest } from '../core/suggest.ts'
import type { Command, Context, Flag, Result } from './command.ts'
import { COMMANDS } from './commands/index.ts'
import { environmentOf, pagePathOf } from './environment.ts'
import { CliError, EXIT, type ExitCode, usage } from './errors.ts'
import { describeFailure, type Failure } from './failure.ts'
import { DATABASE_FLAGS, GLOBAL_FLAGS } from './flag-sets.ts'
import { Flags, readLine, type Typed } from './flags.ts'
import { commandHelp, exitCodesHelp, groupHelp, overviewHelp } from './help.ts'
import { aborted, type Io, isByHand } from './io.ts'
import { type Format, Output, wantsColor } from './output.ts'
import { bareProject, openProject, type Project } from './project.ts'

/** Runs a command line; never throws. */
export async function run(argv: readonly string[], io: Io): Promise<ExitCode> {
  const early = earlyOutput(argv, io)
  try {
    const found = route(argv)
    if ('text' in found) {
      early.result({ document: found.document, text: found.text })
      return EXIT.ok
    }
    return await execute(found, io)
  } catch (error) {
    return fail(error, { io, out: early, isVerbose: argv.includes('--verbose') })
  }
}

/** A command with the rest of its line; or a text to be shown. */
type Route =
  | { readonly command: Command; readonly rest: readonly string[] }
  | { readonly text: string; readonly document: unknown }

function route(argv: readonly string[]): Route {
  const [words, isHelp] = wordsOf(argv)
  if (words[0] === 'help' || words.length === 0) return helpOn(words.slice(1), argv)
  const command = commandOf(words)
  if (command === undefined) {
    const group = COMMANDS.filter(({ name }) => name.startsWith(`${words[0]} `))
    if (group.length > 0 && isHelp && words.length === 1)
      return help(groupHelp(words[0] ?? '', group))
    throw unknownCommand(words)
  }
  if (isHelp) return help(commandHelp(command))
  return { command, rest: without(argv, command.name.split(' ')) }
}

function helpOn(topic: readonly string[], argv: readonly string[]): Route {
  if (topic[0] === 'exit-codes') return help(exitCodesHelp())
  if (topic.length > 0) return route([...topic, '--help'])
  if (argv.includes('--version') || argv.includes('-v')) {
    return route([...argv.filter((word) => word !== '--version' && word !== '-v'), 'version'])
  }
  return help(overviewHelp(COMMANDS))
}

function help(text: string): Route {
  return { text, document: { help: text } }
}

/** Two words if they name a command, else one. */
function commandOf([first = '', second = '']: readonly string[]): Command | undefined {
  const find = (wanted: string) => COMMANDS.find(({ name }) => name === wanted)
  return find(`${first} ${second}`) ?? find(first)
}

function unknownCommand([first = '', second]: readonly string[]): CliError {
  const names = COMMANDS.filter(({ isHidden }) => isHidden !== true).map(({ name }) => name)
  const verbs = names.filter((name) => name.startsWith(`${first} `))
  if (verbs.length > 0) {
    const like =
      second &&
      closest(
        second,
        verbs.map((name) => name.slice(first.length + 1)),
      )
    const message =
      second === undefined ? `${first} needs a verb.` : `There is no command ${first} ${second}.`
    return usage(
      message,
      like ? `Did you mean reprise ${first} ${like}?` : `One of: ${verbs.join(', ')}`,
    )
  }
  const like = closest(first, [
    ...new Set(names.flatMap((name) => [name, name.split(' ')[0] ?? ''])),
  ])
  const hint =
    like === undefined ? 'reprise help lists the commands.' : `Did you mean reprise ${like}?`
  return usage(`There is no command ${first}.`, hint)
}

/** Flags before the command that take a value, so that the value is not taken for the command. */
const VALUED = new Set(
  [...GLOBAL_FLAGS, ...DATABASE_FLAGS]
    .filter(({ type }) => type !== 'switch')
    .map(({ name }) => `--${name}`),
)

/** The words of a line that are no flags, and whether help is asked for. */
function wordsOf(argv: readonly string[]): [words: readonly string[], isHelp: boolean] {
  const end = argv.indexOf('--')
  const line = end === -1 ? argv : argv.slice(0, end)
  const words = line.filter((word, at) => !word.startsWith('-') && !VALUED.has(line[at - 1] ?? ''))
  return [words, line.includes('--help') || line.includes('-h')]
}

/** The line without the words of the command, each taken away once. */
function without(argv: readonly string[], words: readonly string[]): readonly string[] {
  const rest = [...argv]
  for (const word of words) {
    const at = rest.findIndex((one, index) => one === word && !VALUED.has(rest[index - 1] ?? ''))
    if (at >= 0) rest.splice(at, 1)
  }
  return rest
}

async function execute(
  { command, rest }: { readonly command: Command; readonly rest: readonly string[] },
  io: Io,
): Promise<ExitCode> {
  const known: readonly Flag[] = [...command.flags, ...GLOBAL_FLAGS]
  const typed = readLine(rest, known)
  const project = await projectOf(command, typed, io)
  const { config } = project
  const configName = project.configPath?.split(/[\\/]/).at(-1)
  const flags = new Flags(known, typed, { env: io.env, config, configName })
  const isColored = wantsColor(flags.text('color'), io.env, io.stdout)
  const out = new Output(io, { format: formatOf(command, flags), isColored })
  const context: Context = { io, out, flags, args: typed.args, project }
  try {
    checkArguments(command, typed.args)
    const result = await interruptible(command, context)
    if (result !== undefined) out.result(result)
    return result?.exit ?? EXIT.ok
  } catch (error) {
    return fail(error, { io, out, isVerbose: flags.isOn('verbose') })
  }
}

/** The configuration, for commands with a flag that it may answer. */
async function projectOf(command: Command, typed: Typed, io: Io): Promise<Project> {
  const asked = typed.values.get('config')?.at(-1) ?? io.env['REPRISE_CONFIG']
  if (command.config === 'ignored') return bareProject(io.cwd)
  const project = await openProject(io.cwd, asked)
  if (project.configError !== undefined && command.config !== 'optional') throw project.configError
  return project
}

function formatOf({ flags: known }: Command, flags: Flags): Format {
  if (flags.isOn('json')) return 'json'
  if (!known.some(({ name }) => name === 'output')) return 'table'
  // The values of the flag are the formats.
  return (flags.text('output') ?? 'table') as Format
}

/** Commands that are over sooner than they are interrupted need not look at the signal themselves. */
async function interruptible(command: Command, context: Context): Promise<Result | undefined> {
  const running = command.run(context)
  if (command.isLong === true) return running
  const { io } = context
  const interrupted = aborted(io.interrupted).then((): never => {
    throw new CliError(
      'REPRISE_E_INTERRUPTED',
      `Interrupted by ${String(io.interrupted.reason)}.`,
      {
        hint: isByHand(io)
          ? 'Nothing that was committed is undone; run it again.'
          : 'Run it again.',
      },
    )
  })
  return Promise.race([running, interrupted])
}

function checkArguments({ name, args = '' }: Command, given: readonly string[]): void {
  const wanted = args === '' ? [] : args.split(' ')
  const least = wanted.filter((word) => word.startsWith('<')).length
  const isOpen = wanted.at(-1)?.endsWith('...') === true || wanted.at(-1)?.endsWith('...]') === true
  if (given.length < least)
    throw usage(`${name} needs ${wanted[given.length]}.`, `reprise ${name} --help`)
  if (given.length > wanted.length && !isOpen) {
    throw usage(`${name} does not take "${given[wanted.length]}".`, `reprise ${name} --help`)
  }
}

/** Before flags are read: enough to print a help, or that they can not be read. */
function earlyOutput(argv: readonly string[], io: Io): Output {
  const isJson = argv.includes('--json') || (io.env['REPRISE_JSON'] ?? '') !== ''
  const isColored = wantsColor(undefined, io.env, io.stdout)
  return new Output(io, { format: isJson ? 'json' : 'table', isColored })
}

interface Reporting {
  readonly io: Io
  readonly out: Output
  readonly isVerbose: boolean
}

function fail(error: unknown, { io, out, isVerbose }: Reporting): ExitCode {
  const failure = describeFailure(error)
  const { exit, code, message, driver, reason, hint, page } = failure
  const docs = pagePathOf(page, io.cwd)
  if (out.isJson && !out.hasDocument) {
    const said = { code, message, ...(driver ? { driver } : {}), ...(reason ? { reason } : {}) }
    out.document({ error: { ...said, hint: hint ?? null, docs } })
  }
  if (!out.isJson) out.note(failureText(out, failure, docs))
  if (isVerbose && error instanceof Error) out.note(stackOf(error))
  if (failure.isBug && !isVerbose) out.note(JSON.stringify(environmentOf(io)))
  return exit
}

function failureText(out: Output, failure: Failure, docs: string): string {
  const { code, message, driver, reason, hint } = failure
  return [
    `${out.paint('red', 'error')}: ${message}`,
    ...(driver === undefined ? [] : [`  said:  ${driver}`]),
    ...(reason === undefined ? [] : [`  cause: ${reason}`]),
    ...(hint === undefined ? [] : [`  fix:   ${hint}`]),
    `  ${code} ${docs}`,
  ].join('\n')
}

function stackOf(error: Error): string {
  const { cause } = error
  return `${error.stack ?? error.message}${cause instanceof Error ? `\nCaused by: ${stackOf(cause)}` : ''}`
}
