/**
 * Apps whose handler takes its time, so that a client can go away meanwhile: whether workerd notices, only a client
 * outside of it can tell.
 *
 * @module
 */

import { Hono } from 'hono'
import { idempotent } from '../../../src/adapters/fetch.ts'
import { idempotent as idempotentHono } from '../../../src/adapters/hono.ts'
import { createReprise, memoryStore } from '../../../src/index.ts'

const caller = () => 'acct_1'
/** The client has gone long before this is over, and workerd has noticed. */
const TURNS = 10
const TURN_MS = 30

let begun = 0

async function slowly(): Promise<Response> {
  const run = ++begun
  for (let turn = 0; turn < TURNS; turn++) {
    await new Promise((resolve) => void setTimeout(resolve, TURN_MS))
  }
  return Response.json({ run }, { status: 201 })
}

const handler = idempotent(createReprise({ store: memoryStore() }), { caller }, slowly)
const app = new Hono()
app.post('/', idempotentHono(createReprise({ store: memoryStore() }), { caller }), slowly)

/** What workerd calls. */
interface App {
  fetch(request: Request, env: object, context: never): Response | Promise<Response>
}

const counting = ({ fetch }: App): App => ({
  fetch: (request, ...rest) =>
    request.method === 'GET' ? Response.json({ begun }) : fetch(request, ...rest),
})

export const cutFetch: App = counting({ fetch: handler })
export const cutHono: App = counting({ fetch: (...args) => app.fetch(...args) })
