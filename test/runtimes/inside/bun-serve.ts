/** The contract of adapters on `Bun.serve`. */

import { describeAdapter } from '../../adapters/describe.ts'
import { fetchOn, honoOn, type Serve } from './adapters.ts'

/** As much of Bun's server as is needed here. */
declare const Bun: {
  serve(options: {
    readonly hostname: string
    readonly port: number
    fetch(request: Request): Response | Promise<Response>
    error(error: unknown): Response
  }): { readonly port: number; stop(closeConnections: boolean): Promise<void> }
}

const serve: Serve = async (fetch, errors) => {
  const server = Bun.serve({
    ...{ hostname: '127.0.0.1', port: 0 },
    fetch: (request) => fetch(request),
    error(error) {
      errors.push(error)
      return new Response('failed', { status: 500 })
    },
  })
  return { port: server.port, errors, close: () => server.stop(true) }
}

describeAdapter('fetch on Bun.serve', fetchOn(serve))
describeAdapter('Hono on Bun.serve', honoOn(serve))
