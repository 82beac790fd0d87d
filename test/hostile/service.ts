/** A service in this process that counts what it does: what hostile requests are sent to. */

import { idempotent } from '../../src/adapters/fetch.ts'
import type { HttpOptions } from '../../src/adapters/options.ts'
import { createReprise } from '../../src/engine/reprise.ts'
import { memoryStore } from '../../src/stores/memory/index.ts'

/** A request, as far as the fuzzers care. */
export interface Sent {
  readonly key: string
  /** None unless given. */
  readonly body?: string
  readonly type?: string
  readonly caller?: string
}

/** What came back. */
export interface Got {
  readonly status: number
  readonly body: string
  readonly isReplay: boolean
  /** The key, as it is echoed. */
  readonly echo: string | null
}

/** The service. */
export interface Service {
  send(sent: Sent): Promise<Got>
  /** How often the handler ran. */
  runs(): number
}

/** The header cannot be made at all; over a socket the parser of Node refuses such bytes. */
export class Unsendable extends Error {
  override readonly name = 'Unsendable'
}

/** A fresh service on a memory store; each run of its handler has another answer. */
export function startService(options: Partial<HttpOptions<Request, never>> = {}): Service {
  let runs = 0
  const reprise = createReprise({ store: memoryStore(), replayCache: false })
  const callerOf = (request: Request) => request.headers.get('x-caller') ?? 'somebody'
  const handle = idempotent(reprise, { caller: callerOf, ...options }, async (request) => {
    await request.text()
    runs++
    return new Response(`run ${runs}`, { status: 201 })
  })
  return {
    runs: () => runs,
    async send(sent) {
      const response = await handle(requestOf(sent))
      return {
        ...{ status: response.status, body: await response.text() },
        isReplay: response.headers.get('idempotent-replayed') === 'true',
        echo: response.headers.get('idempotency-key'),
      }
    },
  }
}

function requestOf({ key, body, type = 'application/json', caller }: Sent): Request {
  const headers = new Headers()
  try {
    headers.set('idempotency-key', key)
    headers.set('content-type', type)
  } catch {
    throw new Unsendable()
  }
  if (caller !== undefined) headers.set('x-caller', caller)
  return new Request('http://a.example/charges', { method: 'POST', headers, body: body ?? null })
}
