/**
 * The contract of the adapters that run outside of Node, on a server of the runtime itself.
 *
 * @module
 */

import type { Context } from 'hono'
import type { AdapterHarness, Served } from '../../../src/testing/adapter-contract.ts'
import { routed } from '../../adapters/fetch-app.ts'
import { contractApp } from '../../adapters/hono-app.ts'

/** Serves a handler on 127.0.0.1; what the handler throws is kept in `errors`. */
export type Serve = (
  fetch: (request: Request, ...rest: readonly unknown[]) => Response | Promise<Response>,
  errors: unknown[],
) => Promise<Served>

/** What a harness is made of, but for the store with transactions. */
type Framework = Omit<AdapterHarness, 'openTransactional'>

/** The adapter for plain handlers. */
export function fetchOn(serve: Serve): Framework {
  return {
    serve: (spec) => serve(routed(spec), []),
    // The options of this adapter are given the `Request` itself.
    header: (request, name) => (request as Request).headers.get(name) ?? undefined,
    parserPlaces: ['after', 'none'],
    rendersErrors: false,
  }
}

/** The adapter for Hono. */
export function honoOn(serve: Serve): Framework {
  return {
    serve(spec) {
      const errors: unknown[] = []
      const app = contractApp(spec, errors)
      // What a platform adds to the request is what Hono takes after it.
      return serve((...args) => app.fetch(...(args as Parameters<typeof app.fetch>)), errors)
    },
    // The options of this adapter are given Hono's context.
    header: (c, name) => (c as Context).req.header(name),
  }
}
