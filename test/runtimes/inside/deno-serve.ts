/** The contract of adapters on `Deno.serve`. */

import { describeAdapter } from '../../adapters/describe.ts'
import { fetchOn, honoOn, type Serve } from './adapters.ts'

/** As much of Deno's server as is needed here. */
declare const Deno: {
  serve(
    options: {
      readonly hostname: string
      readonly port: number
      readonly signal: AbortSignal
      onListen(): void
      onError(error: unknown): Response
    },
    fetch: (request: Request) => Response | Promise<Response>,
  ): { readonly addr: { readonly port: number }; readonly finished: Promise<void> }
}

const serve: Serve = async (fetch, errors) => {
  const closing = new AbortController()
  const server = Deno.serve(
    {
      ...{ hostname: '127.0.0.1', port: 0, signal: closing.signal },
      onListen: () => {},
      onError(error) {
        errors.push(error)
        return new Response('failed', { status: 500 })
      },
    },
    (request) => fetch(request),
  )
  return {
    ...{ port: server.addr.port, errors },
    async close() {
      closing.abort()
      await server.finished
    },
  }
}

describeAdapter('fetch on Deno.serve', fetchOn(serve))
describeAdapter('Hono on Deno.serve', honoOn(serve))
