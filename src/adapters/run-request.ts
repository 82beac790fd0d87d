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
import { type Asked, type Exchange, headerOf, waitOf } from './exchange.ts'
import { comparedBy } from './key-source.ts'
import type { HttpOptions, RouteRules } from './options.ts'

/** A request that can be recalled, and run once it is digested. */
export interface LookedAt
  extends RecallRequest,
    Omit<RunRequest, 'fingerprints' | 'recalled' | 'identity' | 'origin'> {
  readonly comparison: FingerprintOptions
}

/** What a request is looked at by. */
interface Looking<Req> {
  readonly rules: RouteRules
  readonly options: HttpOptions<Req>
  readonly key: string
}

/**
 * Looks at a request.
 *
 * @throws RepriseError where there is no caller, or the body can not be compared
 */
export function lookAt<Req>(
  request: Req,
  exchange: Exchange,
  looking: Looking<Req>,
): LookedAt | PromiseLike<LookedAt> {
  const caller = looking.options.caller(request)
  const look = (known: unknown) => lookFor(callerOf(known), request, { exchange, ...looking })
  return isLater(caller) ? caller.then(look) : look(caller)
}

function callerOf(caller: unknown): string {
  if (typeof caller === 'string' && caller) return caller
  throw invalid('caller() gave no caller: run authentication before this route is protected')
}

function lookFor<Req>(
  caller: string,
  request: Req,
  { exchange, rules, options, key }: Looking<Req> & { exchange: Exchange },
): LookedAt | PromiseLike<LookedAt> {
  const { method, path, route, query } = exchange
  const contentType = headerOf(exchange, 'content-type')
  const version = options.version?.(request)
  const comparison = comparedBy(exchange, rules, options)
  refuseOver(Number(headerOf(exchange, 'content-length')), comparison)
  const parts = { caller, key, method, path, route: options.operation ?? route ?? path }
  // Names go in with the values: the route of one dialect never meets the path of another.
  const identity: string[] = []
  for (const part of rules.dialect.identity) identity.push(part, parts[part])
  const look = (body: BodyDigest): LookedAt => ({
    caller,
    key,
    compared: { method, path, query, contentType, body, version },
    comparison,
    operation: operationOf(exchange, options),
    identity,
    origin: {
      requestId: options.requestId
        ? options.requestId(request)
        : headerOf(exchange, 'x-request-id'),
      ip: exchange.ip,
      userAgent: headerOf(exchange, 'user-agent'),
    },
    waitMs: waitOf(exchange, rules.preferWaitMsMax),
  })
  const body = exchange.digest(contentType, comparison)
  return isLater(body) ? body.then(look) : look(body)
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
