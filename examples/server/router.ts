/**
 * All APIs on one port: each gets the requests for its paths, with the faults that they ask for.
 *
 * @module
 */

import type { IncomingMessage, RequestListener } from 'node:http'
import { parseFaults, type RequestFaults } from './faults.ts'
import { answerPage, type Pages, problem, send } from './site/reply.ts'

/** An API that is served. */
export interface MountedApi {
  /** First parts of its paths: `/tasks` is for `/tasks` and all below it. */
  readonly paths: readonly string[]
  readonly listener: RequestListener
}

/** What the server answers with. */
export interface Routes {
  readonly pages: Pages
  readonly apis: readonly MountedApi[]
  /** Faults by the header `Demo-Fault`; `undefined` when there are none. */
  readonly faults: RequestFaults | undefined
}

/** The server's listener. */
export function routeRequests({ pages, apis, faults }: Routes): RequestListener {
  const answer: RequestListener = (request, response) => {
    const { pathname } = new URL(request.url ?? '/', 'http://server')
    const api = apis.find(({ paths }) => paths.some((path) => isBelow(pathname, path)))
    if (api !== undefined) return api.listener(request, response)
    answerPage(pages, request, response).then(
      (isAnswered) => {
        if (isAnswered) return
        const message = `There is no ${request.method} ${pathname}.`
        send(response, problem(404, 'not_found', message))
      },
      (error: unknown) => {
        const message = error instanceof Error ? error.message : String(error)
        send(response, problem(503, 'unavailable', message))
      },
    )
  }
  if (faults === undefined) return answer
  return (request, response) => {
    const header = request.headers['demo-fault']
    if (header === undefined) return answer(request, response)
    const plan = parseFaults(String(header))
    if ('problem' in plan) {
      return send(response, problem(400, 'demo_fault_unknown', plan.problem))
    }
    const run = () => {
      if (plan.cut === 'before') return faults.cutNow(request.socket)
      if (plan.cut === 'after') faults.cutLater(response, request.socket)
      answer(request, response)
    }
    faults.during(plan, run, keyOf(request))
  }
}

/** The key of a request, in whatever header its API looks. */
function keyOf({ headers }: IncomingMessage): string | undefined {
  const key = headers['idempotency-key'] ?? headers['x-idempotency-key']
  return typeof key === 'string' ? key : undefined
}

function isBelow(pathname: string, path: string): boolean {
  return pathname === path || pathname.startsWith(`${path}/`)
}
