/**
 * Finds the key of a request.
 *
 * @module
 */

import type { ClientErrorCode } from '../core/errors.ts'
import type { FingerprintOptions } from '../core/fingerprint.ts'
import { FORM_FIELD } from '../core/form-field.ts'
import { type KeyFault, parseKey } from '../core/key.ts'
import type { Exchange } from './exchange.ts'
import type { HttpOptions, RouteRules } from './options.ts'

/** What was found. */
export type FoundKey =
  | { readonly kind: 'missing' }
  | { readonly kind: 'key'; readonly key: string }
  | {
      readonly kind: 'invalid'
      readonly code: ClientErrorCode
      readonly detail: string
      readonly keyFault?: KeyFault
    }

/** Finds and checks the key. */
export async function readKey<Req>(
  request: Req,
  exchange: Exchange,
  { rules, options }: { rules: RouteRules; options: HttpOptions<Req> },
): Promise<FoundKey> {
  const lines = await linesOf(request, exchange, { rules, options })
  const parsed = parseKey(lines, rules.dialect.key)
  if (parsed.kind === 'missing') return parsed
  if (parsed.kind === 'invalid') {
    const { detail, reason } = parsed
    return { kind: 'invalid', code: 'idempotency-key-invalid', detail, keyFault: reason }
  }
  return options.keyAge?.isOver(parsed.key) === true
    ? { kind: 'invalid', code: 'idempotency-key-expired', detail: 'The key is too old' }
    : parsed
}

/** What a request is compared by: all but the key itself, wherever it is. */
export function comparedBy<Req>(
  exchange: Exchange,
  { fingerprint }: RouteRules,
  { key }: HttpOptions<Req>,
): FingerprintOptions {
  const { exclude = [], excludeQuery = [] } = fingerprint
  if (key === undefined) {
    return isForm(exchange) ? { ...fingerprint, exclude: [...exclude, FORM_FIELD] } : fingerprint
  }
  if ('field' in key) return { ...fingerprint, exclude: [...exclude, key.field] }
  if ('query' in key) return { ...fingerprint, excludeQuery: [...excludeQuery, key.query] }
  return fingerprint
}

/** The field lines that may hold the key; a form field counts only where no header is sent. */
async function linesOf<Req>(
  request: Req,
  exchange: Exchange,
  { rules, options }: { rules: RouteRules; options: HttpOptions<Req> },
): Promise<readonly string[]> {
  const source = options.key ?? { header: rules.dialect.header }
  if (typeof source === 'function') return quoted(await source(request))
  if ('field' in source) return quoted(await exchange.field(source.field, rules.fingerprint))
  if ('query' in source) {
    return new URLSearchParams(exchange.query).getAll(source.query).flatMap(quoted)
  }
  const lines = exchange.lines(source.header.toLowerCase())
  if (lines.length > 0 || options.key !== undefined || !isForm(exchange)) return lines
  return quoted(await exchange.field(FORM_FIELD, rules.fingerprint))
}

/** Values that are not header lines are taken as they are: quoted, they go through the same rules. */
function quoted(value: string | undefined): readonly string[] {
  return value === undefined ? [] : [`"${value.replace(/["\\]/g, '\\$&')}"`]
}

function isForm(exchange: Exchange): boolean {
  const type = exchange.lines('content-type')[0]?.toLowerCase() ?? ''
  return type.startsWith('application/x-www-form-urlencoded')
}
