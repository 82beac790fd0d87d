/**
 * The language of filters: `field:value` and `field>number`, joined by spaces.
 *
 * @module
 */

import type { RequestFilter, RequestState } from '../src/admin/admin.ts'
import { t } from './strings.ts'

/** A condition as it was written. */
export interface Chip {
  readonly text: string
  readonly field: string
  readonly value: string
}

/** What a text asks for. */
export interface Parsed {
  readonly chips: readonly Chip[]
  readonly filter: RequestFilter
  /** A word alone: perhaps a key. */
  readonly word: string | undefined
  readonly problem: string | undefined
}

const STATES: readonly string[] = [
  ...(['running', 'recovering', 'unfinished', 'stuck'] satisfies RequestState[]),
  ...(['finished', 'failed', 'needs_person', 'expired'] satisfies RequestState[]),
]

/** The fields, with other names for them, what they mean and an example. */
export const FIELDS: readonly (readonly [string, readonly string[], string, string])[] = [
  ['key', [], 'the whole key, or its beginning with *', 'key:7f3a*'],
  ['route', ['operation'], 'the operation', 'route:"POST /rides"'],
  ['method', [], 'the method, beside route:', 'method:POST route:/rides'],
  ['state', [], STATES.join(', '), 'state:stuck'],
  ['scope', ['caller', 'client', 'tenant'], 'the caller', 'scope:acct_42'],
  ['point', [], 'the recovery point', 'point:charge_created'],
  ['outcome', [], 'unknown: a run stopped, and no person has it yet', 'outcome:unknown'],
  ['code', ['status'], 'the status of the answer', 'code:402'],
  ['request', [], 'the id of the request', 'request:req_8f2'],
  ['age', [], 'older than, in s, m, h or d', 'age>1h'],
  ['replays', ['duplicates'], 'more duplicates than', 'replays>3'],
]

const UNITS: Readonly<Record<string, number>> = { s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 }
const TOKEN = /(\w+)([:>])("[^"]*"?|\S*)|(\S+)/g

/** Reads a text. */
export function parseFilter(text: string): Parsed {
  const chips: Chip[] = []
  let word: string | undefined
  for (const [whole, name, sign, raw, alone] of text.trim().matchAll(TOKEN)) {
    if (name === undefined || sign === undefined) {
      word = alone
      continue
    }
    const field = canonical(name)
    const value = (raw ?? '').replace(/^"|"$/g, '')
    const isKey = field === undefined && text.trim() === whole
    // A key may well have a colon in it.
    if (isKey) word = whole
    else if (field === undefined) return failed(chips, t.filter.unknown(name, names()))
    else chips.push({ text: whole, field, value })
  }
  return word === undefined || chips.length === 0
    ? { chips, word, ...filterOf(chips) }
    : failed(chips, t.filter.noField(word))
}

function failed(chips: readonly Chip[], problem: string): Parsed {
  return { chips, filter: {}, word: undefined, problem }
}

/** The fields that there are, to be named. */
function names(): string {
  return FIELDS.map(([name]) => name).join(', ')
}

function canonical(name: string): string | undefined {
  const lower = name.toLowerCase()
  return FIELDS.find(([field, others]) => field === lower || others.includes(lower))?.[0]
}

function filterOf(chips: readonly Chip[]): Pick<Parsed, 'filter' | 'problem'> {
  const filter: Record<string, unknown> = {}
  const states: string[] = []
  let method = ''
  for (const { field, value } of chips) {
    const problem = take({ field, value, filter, states })
    if (problem !== undefined) return { filter: {}, problem }
    if (field === 'method') method = value.toUpperCase()
  }
  if (method !== '') {
    const operation = chips.find(({ field }) => field === 'route')?.value
    if (operation === undefined) return { filter: {}, problem: `${t.filter.methodAlone}.` }
    filter['operation'] = `${method} ${operation}`
  }
  if (states.length > 0) filter['states'] = states
  return { filter, problem: undefined }
}

const TEXTS: Readonly<Record<string, string>> = {
  ...{ key: 'key', route: 'operation', scope: 'caller', point: 'recoveryPoint' },
  request: 'requestId',
}

interface Taking {
  readonly field: string
  readonly value: string
  readonly filter: Record<string, unknown>
  readonly states: string[]
}

/** Takes one condition; gives what is wrong with it. */
function take({ field, value, filter, states }: Taking): string | undefined {
  const text = TEXTS[field]
  if (value === '') return t.filter.badValue(field, 'empty', 'give a value')
  if (text !== undefined) filter[text] = value
  else if (field === 'state') {
    const state = value.toLowerCase()
    if (!STATES.includes(state)) return t.filter.badValue(field, value, STATES.join(', '))
    states.push(state)
  } else if (field === 'outcome') {
    if (value.toLowerCase() !== 'unknown') return t.filter.badValue(field, value, 'unknown')
    filter['isUnknown'] = true
  } else if (field === 'code') {
    if (!/^[1-5]\d\d$/.test(value)) return t.filter.badValue(field, value, 'a status such as 402')
    filter['status'] = Number(value)
  } else if (field === 'age') {
    const [, number, unit = ''] = /^(\d+)([smhd])$/.exec(value) ?? []
    if (number === undefined) return t.filter.badValue(field, value, 'a span such as 30m or 2h')
    filter['olderThanMs'] = Number(number) * (UNITS[unit] ?? 1)
  } else if (field === 'replays') {
    if (!/^\d{1,9}$/.test(value)) return t.filter.badValue(field, value, 'a whole number')
    filter['duplicatesMin'] = Number(value) + 1
  }
  return undefined
}

/** A filter as the query of the API. */
export function apiQuery(filter: RequestFilter): URLSearchParams {
  const query = new URLSearchParams()
  const { states = [], ...rest } = filter
  for (const state of states) query.append('state', state)
  for (const [name, value] of Object.entries(rest)) query.set(name, String(value))
  return query
}

/** The text without one of its conditions. */
export function without(chips: readonly Chip[], chip: Chip): string {
  return chips
    .filter((one) => one !== chip)
    .map((one) => one.text)
    .join(' ')
}
