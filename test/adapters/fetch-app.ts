/**
 * The handlers that the contract of adapters asks `fetch` for.
 *
 * @module
 */

import { idempotent, runOf } from '../../src/adapters/fetch.ts'
import type { AdapterSpec } from '../../src/testing/adapter-contract.ts'
import { bodyOf, deedResponse, raced } from './fetch-bridge.ts'

/** A handler, given what a platform adds to the request. */
type Served = (request: Request, ...rest: readonly unknown[]) => Response | Promise<Response>

/** One handler per route, because such a handler does not know the template of its route. */
export function routed(spec: AdapterSpec): Served {
  const items = protectedDeed(spec, '/items/:id')
  const others = protectedDeed(spec, '/others/:id')
  return raced(spec.early, (request, ...rest) =>
    (new URL(request.url).pathname.startsWith('/items/') ? items : others)(request, ...rest),
  )
}

function protectedDeed(
  { deed, reprise, options, ...spec }: AdapterSpec,
  operation: string,
): Served {
  const handler = async (request: Request) => {
    const id = new URL(request.url).pathname.split('/').at(-1) ?? ''
    const body = await bodyOf(request, spec.parser)
    return deedResponse(await deed({ id, body, run: runOf(request) }))
  }
  if (options === null) return handler
  const protect = (inner: Served) => idempotent(reprise, { operation, ...options }, inner)
  return spec.isMountedTwice ? protect(protect(handler)) : protect(handler)
}
