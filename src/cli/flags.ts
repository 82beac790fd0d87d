/**
 * Reads the command line. Every value comes from the flag, else the environment, else the
 * configuration, else the default, and it can be said which.
 *
 * @module
 */

import { parseArgs } from 'node:util'
import { closest } from '../core/suggest.ts'
import type { Flag } from './command.ts'
import { usage } from './errors.ts'

/** A value and where it comes from. */
export interface Sourced {
  readonly value: string | undefined
  /** Such as `flag --schema`, `env REPRISE_SCHEMA`, `reprise.config.ts`, `default`. */
  readonly source: string
}

/** Where values come from besides the command line. */
export interface Surroundings {
  readonly env: Readonly<Record<string, string | undefined>>
  readonly config: Readonly<Record<string, unknown>>
  /** Name of the file that the configuration is in. */
  readonly configName: string | undefined
}

/** What was typed: values by the name of their flag, and what stands beside them. */
export interface Typed {
  readonly values: ReadonlyMap<string, readonly string[]>
  readonly args: readonly string[]
}

/**
 * Takes the command line apart.
 *
 * @throws CliError `REPRISE_E_USAGE` for a flag that is unknown or lacks its value
 */
export function readLine(argv: readonly string[], known: readonly Flag[]): Typed {
  const options = Object.fromEntries(
    known.map(({ name, short, type }) => [
      name,
      {
        type: type === 'switch' ? ('boolean' as const) : ('string' as const),
        multiple: true,
        ...(short === undefined ? {} : { short }),
      },
    ]),
  )
  const { tokens } = parseArgs({
    ...{ args: [...argv], options, strict: false, allowPositionals: true, tokens: true },
  })
  const values = new Map<string, string[]>()
  const args: string[] = []
  for (const token of tokens) {
    if (token.kind === 'positional') args.push(token.value)
    if (token.kind !== 'option') continue
    const flag = known.find(({ name }) => name === token.name)
    if (flag === undefined) throw unknownFlag(token.rawName, known)
    values.set(flag.name, [...(values.get(flag.name) ?? []), checkedToken(flag, token.value)])
  }
  for (const { name, isMany } of known) {
    const given = values.get(name) ?? []
    if (isMany !== true && new Set(given).size > 1) {
      throw usage(`--${name} is given ${given.length} times with different values.`)
    }
  }
  return { values, args }
}

function unknownFlag(rawName: string, known: readonly Flag[]): Error {
  const like = closest(
    rawName.replace(/^-+/, ''),
    known.map(({ name }) => name),
  )
  const hint =
    like === undefined ? 'See --help for the flags there are.' : `Did you mean --${like}?`
  return usage(`There is no flag ${rawName}.`, hint)
}

function checkedToken(flag: Flag, value: string | undefined): string {
  if (flag.type === 'switch') {
    if (value === undefined || value === 'true' || value === 'false') return value ?? 'true'
    throw usage(`--${flag.name} takes no value.`)
  }
  // An empty text is what a variable leaves that is not set.
  if (value !== undefined && value !== '') return value
  throw usage(`--${flag.name} needs a value${flag.value ? `: ${flag.value}` : ''}.`)
}

/** The values of a command's flags. */
export class Flags {
  readonly #known: ReadonlyMap<string, Flag>
  readonly #typed: Typed
  readonly #around: Surroundings

  /** @throws CliError `REPRISE_E_USAGE` when a value is not of its kind */
  constructor(known: readonly Flag[], typed: Typed, around: Surroundings) {
    this.#known = new Map(known.map((flag) => [flag.name, flag]))
    this.#typed = typed
    this.#around = around
    for (const flag of known) this.#check(flag)
  }

  /** The value as text; `undefined` when nobody gives one. */
  text(name: string): string | undefined {
    return this.sourced(name).value
  }

  /** Every value of a flag that may be given several times. */
  many(name: string): readonly string[] {
    const typed = this.#typed.values.get(name)
    if (typed !== undefined) return typed
    const value = this.text(name)
    return value === undefined ? [] : [value]
  }

  /** Whether a switch is on. */
  isOn(name: string): boolean {
    const { value } = this.sourced(name)
    return value !== undefined && value !== '' && value !== 'false' && value !== '0'
  }

  /** Whether it stands on the command line itself. */
  isTyped(name: string): boolean {
    return this.#typed.values.has(name)
  }

  /** A whole number; `undefined` when nobody gives one. */
  whole(name: string): number | undefined {
    const value = this.text(name)
    return value === undefined ? undefined : Number(value)
  }

  /** A duration in milliseconds; `undefined` when nobody gives one. */
  ms(name: string): number | undefined {
    const value = this.text(name)
    return value === undefined ? undefined : parseDuration(value)
  }

  /** A value with where it comes from. */
  sourced(name: string): Sourced {
    const flag = this.#known.get(name)
    // A name that no flag has is a mistake in the command, not on its line.
    if (flag === undefined) throw new TypeError(`This command has no flag --${name}.`)
    const typed = this.#typed.values.get(name)?.at(-1)
    if (typed !== undefined) return { value: typed, source: `flag --${name}` }
    for (const variable of flag.env ?? []) {
      const value = this.#around.env[variable]
      if (value !== undefined && value !== '') return { value, source: `env ${variable}` }
    }
    const configured = flag.config === undefined ? undefined : this.#around.config[flag.config]
    const source = this.#around.configName ?? 'configuration'
    if (typeof configured === 'string') return { value: configured, source }
    if (typeof configured === 'number' || typeof configured === 'boolean') {
      return { value: String(configured), source }
    }
    return { value: flag.default, source: flag.default === undefined ? 'not set' : 'default' }
  }

  #check(flag: Flag): void {
    const { value, source } = this.sourced(flag.name)
    if (value === undefined) return
    const complaint = complaintOf(flag, value)
    if (complaint === undefined) return
    throw usage(`${source === 'default' ? `--${flag.name}` : source}: ${complaint}.`)
  }
}

function complaintOf(
  { type, choices = [], isSecret, isMany }: Flag,
  value: string,
): string | undefined {
  const shown = isSecret === true ? 'the value' : `"${value}"`
  if (type === 'whole' && !/^\d{1,15}$/.test(value)) return `${shown} is no whole number`
  if (type === 'duration' && parseDuration(value) === undefined) {
    return `${shown} is no duration; write 500ms, 30s, 5m, 24h or 7d`
  }
  if (type !== 'choice' || isMany === true) return undefined
  return choices.includes(value) ? undefined : `${shown} is none of ${choices.join(', ')}`
}

const UNITS: Readonly<Record<string, number>> = {
  ms: 1,
  s: 1000,
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
}

/** Milliseconds of `30s` and the like; `undefined` for anything else. */
function parseDuration(text: string): number | undefined {
  const [, amount = '', unit = ''] = /^(\d{1,9}(?:\.\d{1,3})?)(ms|s|m|h|d)$/.exec(text) ?? []
  const each = UNITS[unit]
  return each === undefined ? undefined : Number(amount) * each
}
