/**
 * The provider's control port: what its ledger and the mailbox hold, and its switches.
 *
 * @module
 */

import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http'
import { json } from 'node:stream/consumers'
import type { Ledger } from './ledger.ts'
import type { Mailbox } from './mailbox.ts'
import type { Provider } from './provider.ts'

/** What is controlled. */
export interface Controlled {
  readonly ledger: Ledger
  readonly mailbox: Mailbox
  readonly provider: Provider
}

/** Answers `GET /ledger`, `GET /mailbox`, and `GET` and `PUT /switches`. */
export function controlListener(controlled: Controlled): RequestListener {
  return (request, response) => {
    answer(controlled, request, response).catch((error: unknown) => {
      send(response, 400, { error: error instanceof Error ? error.message : String(error) })
    })
  }
}

async function answer(
  { ledger, mailbox, provider }: Controlled,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  switch (`${request.method} ${request.url}`) {
    case 'GET /ledger':
      return send(response, 200, { charges: ledger.charges })
    case 'GET /mailbox':
      return send(response, 200, { mails: mailbox.mails })
    case 'GET /switches':
      return send(response, 200, provider.switches)
    case 'PUT /switches': {
      const changes: unknown = await json(request)
      if (typeof changes !== 'object' || changes === null) throw new Error('Send an object.')
      const problem = await provider.turn({ ...changes })
      if (problem !== undefined) throw new Error(problem)
      return send(response, 200, provider.switches)
    }
    default:
      return send(response, 404, { error: `There is no ${request.method} ${request.url}.` })
  }
}

function send(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { 'Content-Type': 'application/json' }).end(JSON.stringify(body))
}
