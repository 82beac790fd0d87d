/**
 * What a request asks for, checked: a wrong word is named, with those that are right.
 *
 * @module
 */

import type {
  DuplicateNote,
  JobSummary,
  LetterSettlement,
  PageQuery,
  RequestFilter,
  RequestState,
} from '../admin/admin.ts'
import { Refused } from './reply.ts'

/** Every state a request can be in. */
export const STATES: readonly RequestState[] = [
  ...(['running', 'recovering', 'unfinished', 'stuck'] as const),
  ...(['finished', 'failed', 'needs_person', 'expired'] as const),
]

const RESULTS: readonly DuplicateNote['result'][] = [
  ...(['replayed', 'in_progress', 'mismatch', 'unknown'] as const),
]
const JOB_STATES: readonly JobSummary['state'][] = ['waiting', 'later', 'set_aside']
const WAYS: readonly LetterSettlement['way'][] = ['happened', 'resume', 'give_up']

const LIMIT_DEFAULT = 50
const LIMIT_MAX = 200
const MINUTE_MS = 60_000
const WINDOW_MS_MAX = 31 * 24 * 60 * MINUTE_MS

/** The window of the overview. */
export function windowOf(query: URLSearchParams): number {
  return wholeOf(query, 'window', { least: MINUTE_MS, most: WINDOW_MS_MAX }) ?? 60 * MINUTE_MS
}

/** The page of a list. */
export function pageOf(query: URLSearchParams): PageQuery {
  const limit = wholeOf(query, 'limit', { least: 1, most: LIMIT_MAX }) ?? LIMIT_DEFAULT
  const after = query.get('after')
  return after === null ? { limit } : { limit, after }
}

const TEXTS = ['operation', 'caller', 'key', 'recoveryPoint', 'requestId'] as const
const NUMBERS = ['status', 'olderThanMs', 'duplicatesMin'] as const

/** Which requests; from the query of a URL. */
export function filterOf(query: URLSearchParams): RequestFilter {
  const states = query.getAll('state').map((state) => oneOf('state', state, STATES))
  const given: Record<string, unknown> = states.length > 0 ? { states } : {}
  for (const name of TEXTS) {
    const value = query.get(name)
    if (value !== null && value !== '') given[name] = value
  }
  const isUnknown = query.get('isUnknown')
  if (isUnknown !== null) given['isUnknown'] = oneOf('isUnknown', isUnknown, ['true']) === 'true'
  for (const name of NUMBERS) {
    const value = wholeOf(query, name, { least: 0, most: Number.MAX_SAFE_INTEGER })
    if (value !== undefined) given[name] = value
  }
  return given
}

/** Which requests; from the body of an order. */
export function filterIn(value: unknown): RequestFilter {
  const query = new URLSearchParams()
  for (const [name, one] of Object.entries(objectOf('filter', value))) {
    const known = ['states', 'isUnknown', ...TEXTS, ...NUMBERS].includes(name)
    if (!known) throw bad(`filter has no ${name}`)
    if (name === 'states') for (const state of listOf('states', one)) query.append('state', state)
    else query.set(name, String(one))
  }
  return filterOf(query)
}

/** Which results of duplicates; `undefined` for all. */
export function resultsOf(query: URLSearchParams): DuplicateNote['result'][] | undefined {
  const results = query.getAll('result').map((result) => oneOf('result', result, RESULTS))
  return results.length === 0 ? undefined : results
}

/** Which staged jobs; `undefined` for all. */
export function jobStateOf(query: URLSearchParams): JobSummary['state'] | undefined {
  const state = query.get('state')
  return state === null ? undefined : oneOf('state', state, JOB_STATES)
}

/** Whether letters are settled; `undefined` for all. */
export function isSettledOf(query: URLSearchParams): boolean | undefined {
  const settled = query.get('settled')
  if (settled === null) return undefined
  return oneOf('settled', settled, ['true', 'false'] as const) === 'true'
}

/** How a person settles a letter. */
export function settlementIn(body: Readonly<Record<string, unknown>>): LetterSettlement {
  const way = oneOf('way', String(body['way']), WAYS)
  if (way === 'resume') return { way }
  const { status } = body
  if (typeof status !== 'number' || !Number.isInteger(status) || status < 200 || status > 599) {
    throw bad('status must be a whole number from 200 to 599')
  }
  if (way === 'happened' && status >= 400) {
    throw bad('It happened, so status must be under 400; to return an error, give up')
  }
  if (way === 'give_up' && status < 400) throw bad('To give up, status must be 400 or more')
  return { way, status, body: body['body'] ?? null }
}

/** A value that has to be one of a few. */
export function oneOf<T extends string>(name: string, value: string, known: readonly T[]): T {
  const found = known.find((one) => one === value)
  if (found !== undefined) return found
  throw bad(`${name} can not be ${JSON.stringify(value)}: it is one of ${known.join(', ')}`)
}

/** An object of a body. */
export function objectOf(name: string, value: unknown): Readonly<Record<string, unknown>> {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw bad(`${name} must be an object`)
  }
  return { ...value }
}

/** A list of texts of a body. */
export function listOf(name: string, value: unknown): readonly string[] {
  if (!Array.isArray(value) || !value.every((one) => typeof one === 'string')) {
    throw bad(`${name} must be a list of texts`)
  }
  return value
}

/** A text of a body; `undefined` if it is not there. */
export function textIn(
  body: Readonly<Record<string, unknown>>,
  name: string,
  lengthMax: number,
): string | undefined {
  const value = body[name]
  if (value === undefined || value === null) return undefined
  if (typeof value !== 'string') throw bad(`${name} must be a text`)
  if (value.length > lengthMax) throw bad(`${name} must have at most ${lengthMax} characters`)
  return value.trim()
}

/** The refusal of a request that can not be understood. */
export function bad(message: string): Refused {
  return new Refused(400, 'invalid', `${message}.`)
}

function wholeOf(
  query: URLSearchParams,
  name: string,
  { least, most }: { readonly least: number; readonly most: number },
): number | undefined {
  const text = query.get(name)
  if (text === null || text === '') return undefined
  const value = Number(text)
  if (Number.isSafeInteger(value) && value >= least && value <= most) return value
  throw bad(`${name} must be a whole number from ${least} to ${most}, not ${text}`)
}
