/**
 * Finds the key of a request.
 *
 * @module
 */

import type { FingerprintOptions } from '../core/fingerprint.ts'
import { FORM_FIELD } from '../core/form-field.ts'
import { type KeyResult, parseKey, quoted } from '../core/key.ts'
import { isLater } from '../core/later.ts'
import { essenceOf, isForm } from '../core/media-type.ts'
import { pathOfName } from '../core/member-path.ts'
import { fieldOf } from './body-field.ts'
import type { Exchange } from './exchange.ts'
import type { HttpOptions, RouteRules } from './options.ts'

/**
 * `Headers` joins the lines of a header, so that `"a` and `b"` in two lines look like `"a, b"` in one.
 * RFC 9651 (4.2) warns of strings that are split over lines, and lets a parser fail on them.
 */
const JOINED: KeyResult = {
  kind: 'invalid',
  reason: 'multiple-lines',
  detail: 'The header occurs more than once, or has a comma and a space, which looks the same here',
}

/**
 * Finds and checks the key.
 *
 * @throws RepriseError `idempotency-key-expired`
 */
export function readKey<Req>(
  request: Req,
  exchange: Exchange,
  { rules, options }: { readonly rules: RouteRules; readonly options: HttpOptions<Req> },
): KeyResult | PromiseLike<KeyResult> {
  const lines = linesOf(request, exchange, { rules, options })
  // What has to be waited for is a field of the body, or what a function of the app's gave.
  if (isLater(lines)) return lines.then((later) => keyIn(later, rules, options))
  const found = keyIn(lines, rules, options)
  const header = headerOf(rules, options)
  return found.kind === 'key' && header !== undefined && exchange.isJoined?.(header) === true
    ? JOINED
    : found
}

/** The header that the key is in, in lower case, if it is in one. */
function headerOf<Req>({ dialect }: RouteRules, { key: source }: HttpOptions<Req>) {
  if (source === undefined) return dialect.header.toLowerCase()
  return typeof source !== 'function' && 'header' in source
    ? source.header.toLowerCase()
    : undefined
}

function keyIn<Req>(
  lines: readonly string[],
  { dialect }: RouteRules,
  { keyAge }: HttpOptions<Req>,
): KeyResult {
  const found = parseKey(lines, dialect.key)
  if (found.kind === 'key') keyAge?.check(found.key)
  return found
}

/** What a request is compared by: all but the key itself, wherever it is. */
export function comparedBy<Req>(
  contentType: string | null,
  { rules: { fingerprint }, options: { key } }: { rules: RouteRules; options: HttpOptions<Req> },
): FingerprintOptions {
  const { exclude = [], excludeQuery = [] } = fingerprint
  if (key === undefined) {
    return isForm(essenceOf(contentType))
      ? { ...fingerprint, exclude: [...exclude, FORM_FIELD] }
      : fingerprint
  }
  if ('field' in key) return { ...fingerprint, exclude: [...exclude, pathOfName(key.field)] }
  if ('query' in key)
    return { ...fingerprint, excludeQuery: [...excludeQuery, pathOfName(key.query)] }
  return fingerprint
}

/** The field lines that may hold the key; a form field counts only where no header is sent. */
function linesOf<Req>(
  request: Req,
  exchange: Exchange,
  { rules, options }: { rules: RouteRules; options: HttpOptions<Req> },
): readonly string[] | PromiseLike<readonly string[]> {
  const { key: source } = options
  if (source === undefined) {
    const lines = exchange.lines(rules.dialect.header.toLowerCase())
    return lines.length > 0 || !isFormPost(exchange)
      ? lines
      : fieldLines(exchange, FORM_FIELD, rules)
  }
  if (typeof source === 'function') {
    const value = source(request)
    return isLater(value) ? value.then(linesIn) : linesIn(value)
  }
  if ('field' in source) return fieldLines(exchange, source.field, rules)
  if ('query' in source) {
    return new URLSearchParams(exchange.query).getAll(source.query).map(quoted)
  }
  return exchange.lines(source.header.toLowerCase())
}

/** Values that are not header lines are taken as they are: quoted, they go through the same rules. */
function linesIn(value: string | undefined): readonly string[] {
  return value === undefined ? [] : [quoted(value)]
}

async function fieldLines(
  exchange: Exchange,
  name: string,
  { fingerprint }: RouteRules,
): Promise<readonly string[]> {
  return linesIn(fieldOf(await exchange.body(fingerprint), name))
}

function isFormPost(exchange: Exchange): boolean {
  return isForm(essenceOf(exchange.line('content-type')))
}
