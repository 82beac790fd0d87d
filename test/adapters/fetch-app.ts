/**
 * The handlers that the contract of adapters asks `fetch` for.
 *
 * @module
 */

import { idempotent, runOf } from '../../src/adapters/fetch.ts'
import type { AdapterSpec } from '../../src/testing/adapter-contract.ts'
import { bodyOf, deedResponse, type Fetch } from './fetch-bridge.ts'

/** One handler per route, because such a handler does not know the template of its route. */
export function routed(spec: AdapterSpec): Fetch {
  const items = protectedDeed(spec, '/items/:id')
  const others = protectedDeed(spec, '/others/:id')
  return (request) =>
    (new URL(request.url).pathname.startsWith('/items/') ? items : others)(request)
}

function protectedDeed({ deed, reprise, options, ...spec }: AdapterSpec, operation: string): Fetch {
  const handler = async (request: Request) => {
    const id = new URL(request.url).pathname.split('/').at(-1) ?? ''
    const body = await bodyOf(request, spec.parser)
    return deedResponse(await deed({ id, body, run: runOf(request) }))
  }
  if (options === null) return handler
  const protect = (inner: Fetch) => idempotent(reprise, { operation, ...options }, inner)
  return spec.isMountedTwice ? protect(protect(handler)) : protect(handler)
}
