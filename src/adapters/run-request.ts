/**
 * What a request says: on whose behalf it comes, what it is compared by, where it came from.
 *
 * @module
 */

import {
  type BodyDigest,
  type FingerprintOptions,
  fingerprintRequest,
  refuseOver,
} from '../core/fingerprint.ts'
import { isLater } from '../core/later.ts'
import { invalid } from '../core/options.ts'
import type { RunRequest } from '../engine/job.ts'
import type { RecallRequest } from '../engine/replay-cache.ts'
import { type Asked, type Exchange, waitOf } from './exchange.ts'
import { comparedBy } from './key-source.ts'
import type { HttpOptions, RouteRules } from './options.ts'

/** A request that can be recalled, and run once it is digested. */
export interface LookedAt
  extends RecallRequest,
    Omit<RunRequest, 'fingerprints' | 'recalled' | 'identity' | 'origin'> {
  readonly comparison: FingerprintOptions
}

/** A request that is looked at. */
interface Looking<Req> {
  readonly request: Req
  readonly exchange: Exchange
}

/** What it is looked at by. */
interface Route<Req> {
  readonly rules: RouteRules
  readonly options: HttpOptions<Req>
}

/**
 * Looks at a request.
 *
 * @throws RepriseError where there is no caller, or the body can not be compared
 */
export function lookAt<Req>(
  asked: Looking<Req>,
  route: Route<Req>,
  key: string,
): LookedAt | PromiseLike<LookedAt> {
  const caller = route.options.caller(asked.request)
  return isLater(caller)
    ? caller.then((known) => lookFor(asked, route, [callerOf(known), key]))
    : lookFor(asked, route, [callerOf(caller), key])
}

function callerOf(caller: unknown): string {
  if (typeof caller === 'string' && caller) return caller
  throw invalid('caller() gave no caller: run authentication before this route is protected')
}

function lookFor<Req>(
  asked: Looking<Req>,
  route: Route<Req>,
  [caller, key]: readonly [caller: string, key: string],
): LookedAt | PromiseLike<LookedAt> {
  const { exchange } = asked
  const contentType = exchange.line('content-type')
  const comparison = comparedBy(contentType, route)
  refuseOver(Number(exchange.line('content-length')), comparison)
  const version = route.options.version?.(asked.request)
  const body = exchange.digest(contentType, comparison)
  if (!isLater(body)) {
    return lookedAt(asked, route, { caller, key, contentType, comparison, version, body })
  }
  return body.then((digest) =>
    lookedAt(asked, route, { caller, key, contentType, comparison, version, body: digest }),
  )
}

/** What is known of a request by now. */
interface Known extends Pick<LookedAt, 'caller' | 'key' | 'comparison'> {
  readonly contentType: string | null
  readonly version: string | undefined
  readonly body: BodyDigest
}

function lookedAt<Req>(
  { request, exchange }: Looking<Req>,
  { rules, options }: Route<Req>,
  { caller, key, contentType, comparison, version, body }: Known,
): LookedAt {
  const { method, path, query } = exchange
  const { requestId } = options
  const route = options.operation ?? exchange.route ?? path
  const parts = { caller, key, method, path, route }
  // Names go in with the values: the route of one dialect never meets the path of another.
  const identity: string[] = []
  for (const part of rules.dialect.identity) identity.push(part, parts[part])
  return {
    caller,
    key,
    compared: { method, path, query, contentType, body, version },
    comparison,
    operation: operationOf(exchange, options),
    identity,
    origin: {
      requestId: requestId ? requestId(request) : exchange.line('x-request-id'),
      ip: exchange.ip,
      userAgent: exchange.line('user-agent'),
    },
    waitMs: waitOf(exchange, rules.preferWaitMsMax),
  }
}

/** The request with its fingerprints, which one that is recalled can do without. */
export function digested(look: LookedAt): RunRequest {
  const { caller, operation, key, identity, origin, waitMs, compared, comparison } = look
  const fingerprints = fingerprintRequest(compared, comparison)
  return { caller, operation, key, fingerprints, identity, origin, waitMs, recalled: look }
}

/** What a request asks for, as it is told. */
export function operationOf<Req>(
  { method, route, path }: Asked,
  { operation }: HttpOptions<Req>,
): string {
  return operation ?? `${method} ${route ?? path}`
}
