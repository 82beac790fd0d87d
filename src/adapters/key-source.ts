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
import { fieldOf } from './body-field.ts'
import { type Exchange, headerOf } from './exchange.ts'
import type { HttpOptions, RouteRules } from './options.ts'

/**
 * Finds and checks the key.
 *
 * @throws RepriseError `idempotency-key-expired`
 */
export function readKey<Req>(
  request: Req,
  exchange: Exchange,
  { rules, options }: { rules: RouteRules; options: HttpOptions<Req> },
): KeyResult | PromiseLike<KeyResult> {
  const check = (lines: readonly string[]): KeyResult => {
    const found = parseKey(lines, rules.dialect.key)
    if (found.kind === 'key') options.keyAge?.check(found.key)
    return found
  }
  const lines = linesOf(request, exchange, { rules, options })
  return isLater(lines) ? lines.then(check) : check(lines)
}

/** What a request is compared by: all but the key itself, wherever it is. */
export function comparedBy<Req>(
  exchange: Exchange,
  { fingerprint }: RouteRules,
  { key }: HttpOptions<Req>,
): FingerprintOptions {
  const { exclude = [], excludeQuery = [] } = fingerprint
  if (key === undefined) {
    return isFormPost(exchange)
      ? { ...fingerprint, exclude: [...exclude, FORM_FIELD] }
      : fingerprint
  }
  if ('field' in key) return { ...fingerprint, exclude: [...exclude, key.field] }
  if ('query' in key) return { ...fingerprint, excludeQuery: [...excludeQuery, key.query] }
  return fingerprint
}

/** The field lines that may hold the key; a form field counts only where no header is sent. */
function linesOf<Req>(
  request: Req,
  exchange: Exchange,
  { rules, options }: { rules: RouteRules; options: HttpOptions<Req> },
): readonly string[] | PromiseLike<readonly string[]> {
  const source = options.key ?? { header: rules.dialect.header }
  if (typeof source === 'function') {
    const value = source(request)
    return isLater(value) ? value.then(linesIn) : linesIn(value)
  }
  if ('field' in source) return fieldLines(exchange, source.field, rules)
  if ('query' in source) {
    return new URLSearchParams(exchange.query).getAll(source.query).map(quoted)
  }
  const lines = exchange.lines(source.header.toLowerCase())
  if (lines.length > 0 || options.key !== undefined || !isFormPost(exchange)) return lines
  return fieldLines(exchange, FORM_FIELD, rules)
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
  return isForm(essenceOf(headerOf(exchange, 'content-type')))
}
