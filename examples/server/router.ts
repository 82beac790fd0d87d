/**
 * All APIs on one port: each gets the requests for its paths, with the faults that they ask for.
 *
 * @module
 */

import type { RequestListener } from 'node:http'
import { cutAnswer, parseFaults, type RequestFaults } from './faults.ts'
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
    if (plan.cut === 'before') return void request.socket.destroy()
    if (plan.cut === 'after') cutAnswer(request.socket)
    faults.during(plan, () => answer(request, response))
  }
}

function isBelow(pathname: string, path: string): boolean {
  return pathname === path || pathname.startsWith(`${path}/`)
}
