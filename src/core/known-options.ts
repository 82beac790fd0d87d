/**
 * Refuses what no option is: a name that nobody reads would be ignored without a word. Checked once,
 * where something is made; no request pays for it.
 *
 * @module
 */

import { invalid, type RunOptions } from './options.ts'
import { closest } from './suggest.ts'

/** The names of all options, complete by its type: an option that is added has to be named. */
export type Names<Options> = Readonly<Record<keyof Options, true>>

/** The options of runs. */
export const RUN_NAMES: Names<RunOptions> = {
  leaseMs: true,
  retentionMs: true,
  quota: true,
  afterCrash: true,
  marksEffect: true,
  waitMs: true,
  policy: true,
  headers: true,
  bodyBytesMax: true,
  compressBytesMin: true,
  encryption: true,
  storeTimeoutMs: true,
  transactionAttemptsMax: true,
}

/**
 * Checks that `options` is an object that has no other names.
 *
 * @param place - what takes them, such as `createReprise()`
 * @throws RepriseError `reprise-options-invalid`
 */
export function checkNames(
  place: string,
  options: unknown,
  names: Readonly<Record<string, true>>,
): void {
  const isObject = typeof options === 'object' && options !== null && !Array.isArray(options)
  if (!isObject) throw invalid(`${place} takes an object of options, not ${said(options)}`)
  for (const name of Object.keys(options)) {
    if (Object.hasOwn(names, name)) continue
    const known = Object.keys(names)
    const meant = closest(name, known)
    const hint = meant === undefined ? `it takes ${known.join(', ')}` : `did you mean \`${meant}\`?`
    throw invalid(`\`${name}\` is no option of ${place}: ${hint}`)
  }
}

/** The options of `names` alone. */
export function pickNames<Options extends object>(
  options: Options,
  names: Names<Options>,
): Options {
  const own = Object.entries(options).filter(([name]) => Object.hasOwn(names, name))
  // What was left out is no member of the type.
  return Object.fromEntries(own) as Options
}

/** Checks that a value has these functions, so that it is what the sentence asks for. */
export function checkFunctions(value: unknown, names: readonly string[], asked: string): void {
  const isSo = names.every((name) => typeof memberOf(value, name) === 'function')
  if (!isSo) throw invalid(`${asked}, not ${said(value)}`)
}

function memberOf(value: unknown, name: string): unknown {
  const isObject = typeof value === 'object' || typeof value === 'function'
  return isObject && value !== null ? Reflect.get(value, name) : undefined
}

/** What kind of thing was given. Never the thing itself: an address may hold a password. */
export function said(value: unknown): string {
  if (value === undefined) return 'nothing'
  if (value === null) return 'null'
  if (typeof value === 'string') return 'a text'
  if (Array.isArray(value)) return 'an array'
  if (typeof value === 'object') {
    const name: unknown = Reflect.get(Object(value.constructor), 'name')
    if (typeof name !== 'string' || name === '' || name === 'Object') return 'an object'
    return `${/^[AEIOU]/.test(name) ? 'an' : 'a'} ${name}`
  }
  return `a ${typeof value}`
}
