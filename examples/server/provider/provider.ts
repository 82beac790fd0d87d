/**
 * A payment provider of our own: speaks as Stripe does, keeps keys as Stripe does, and fails when it
 * is told to.
 *
 * @module
 */

import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { text } from 'node:stream/consumers'
import { setTimeout as delay } from 'node:timers/promises'
import { type KeptAnswer, type Ledger, newId } from './ledger.ts'
import { type Answer, execute, look } from './stripe-api.ts'
import { ALL_FINE, change, type Mode, type Switches } from './switches.ts'

/** Where the provider listens. */
export interface ProviderAddress {
  readonly host: string
  readonly port: number
}

interface Keyed {
  readonly account: string
  readonly key: string
  readonly fingerprint: string
}

/** The provider's API, on a port that can be closed and opened again. */
export class Provider {
  readonly #ledger: Ledger
  readonly #address: ProviderAddress
  readonly #running = new Set<string>()
  #server: Server | undefined
  #switches: Switches = ALL_FINE

  constructor(ledger: Ledger, address: ProviderAddress) {
    this.#ledger = ledger
    this.#address = address
  }

  get switches(): Switches {
    return this.#switches
  }

  /** Opens the port. */
  async open(): Promise<void> {
    const { host, port } = this.#address
    this.#server = createServer((request, response) => {
      this.#handle(request, response).catch(() => response.destroy())
    })
    await once(this.#server.listen(port, host), 'listening')
  }

  /** Closes the port, with every connection: whoever asks is refused. */
  async close(): Promise<void> {
    const server = this.#server
    this.#server = undefined
    if (server === undefined) return
    const closed = once(server, 'close')
    server.close()
    server.closeAllConnections()
    await closed
  }

  /**
   * Turns switches.
   *
   * @returns what is wrong with the change, if something is
   */
  async turn(changes: Readonly<Record<string, unknown>>): Promise<string | undefined> {
    const next = change(this.#switches, changes)
    if ('problem' in next) return next.problem
    this.#switches = next
    if (next.mode === 'down') await this.close()
    else if (this.#server === undefined) await this.open()
    return undefined
  }

  async #handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = new URL(request.url ?? '/', 'http://provider')
    const body = await text(request)
    const requestId = newId('req')
    response.setHeader('Request-Id', requestId)
    const mode = request.method === 'POST' ? this.#takeMode() : 'fine'
    if (mode === 'cut-before') return void response.destroy()
    const answer = await this.#answer(request, { url, body, requestId, mode, response })
    if (mode === 'cut-after') return void response.destroy()
    send(response, answer)
  }

  /** The mode for one request; a mode that is for so many requests ends with the last of them. */
  #takeMode(): Mode {
    const { mode, times } = this.#switches
    if (times !== null) {
      const left = times > 1 ? { times: times - 1 } : { mode: 'fine' as const, times: null }
      this.#switches = { ...this.#switches, ...left }
    }
    return mode
  }

  async #answer(request: IncomingMessage, asked: Asked): Promise<Answer> {
    const { url, body, requestId, mode, response } = asked
    const account = accountOf(request)
    if (account === undefined) return error(401, 'You did not provide an API key.')
    if (request.method === 'GET') return look(this.#ledger, url)
    if (request.method !== 'POST') return error(404, 'Unrecognized request URL.')

    const key = request.headers['idempotency-key']
    const perform = async (keyed?: Keyed) => {
      if (mode === 'slow') await delay(this.#switches.slow_ms)
      const deed = execute(this.#ledger, url.pathname, new URLSearchParams(body))
      const { status } = deed
      const kept = keyed && { ...keyed, requestId, status, body: deed.body }
      const entry = { ...deed.entry, chargeKey: typeof key === 'string' ? key : null }
      if (deed.isExecuted) await this.#ledger.record(kept ? { ...entry, answer: kept } : entry)
      return deed
    }
    if (typeof key !== 'string') return perform()
    response.setHeader('Idempotency-Key', key)
    if (key.length > 255) return error(400, 'Idempotency keys have at most 255 characters.')
    if (!this.#switches.honours_keys) return perform()
    const fingerprint = createHash('sha256').update(`${url.pathname}\n${body}`).digest('hex')
    return this.#once({ account, key, fingerprint }, response, perform)
  }

  /** The first request of a key is performed; every other one gets its answer, or is refused. */
  async #once(
    keyed: Keyed,
    response: ServerResponse,
    perform: (keyed: Keyed) => Promise<Answer>,
  ): Promise<Answer> {
    const { account, key, fingerprint } = keyed
    const kept = this.#ledger.answer(account, key)
    if (kept !== undefined) return replay(kept, fingerprint, response)
    const identity = `${account} ${key}`
    if (this.#running.has(identity)) return inUse(response)
    this.#running.add(identity)
    try {
      const answer = await perform(keyed)
      response.setHeader('Original-Request', String(response.getHeader('Request-Id')))
      return answer
    } finally {
      this.#running.delete(identity)
    }
  }
}

interface Asked {
  readonly url: URL
  readonly body: string
  readonly requestId: string
  readonly mode: Mode
  readonly response: ServerResponse
}

function replay(kept: KeptAnswer, fingerprint: string, response: ServerResponse): Answer {
  if (kept.fingerprint !== fingerprint) {
    const message = `Keys for idempotent requests can only be used with the same endpoint and parameters they were first used with. Try using a key other than '${kept.key}' if you meant to execute a different request.`
    return { status: 400, body: { error: { type: 'idempotency_error', message } } }
  }
  response.setHeader('Idempotent-Replayed', 'true')
  response.setHeader('Original-Request', kept.requestId)
  if (kept.status >= 400) response.setHeader('Stripe-Should-Retry', 'false')
  return kept
}

function inUse(response: ServerResponse): Answer {
  response.setHeader('Stripe-Should-Retry', 'true')
  const message = 'There is currently another in-progress request using this idempotency key.'
  const code = 'idempotency_key_in_use'
  return { status: 409, body: { error: { type: 'idempotency_error', code, message } } }
}

function error(status: number, message: string): Answer {
  return { status, body: { error: { type: 'invalid_request_error', message } } }
}

/** Who asks, as a digest: the API key itself is not written down. */
function accountOf({ headers }: IncomingMessage): string | undefined {
  const key = /^(?:Bearer|Basic) +(\S+)$/.exec(headers.authorization ?? '')?.[1]
  return key && createHash('sha256').update(key).digest('hex').slice(0, 16)
}

function send(response: ServerResponse, { status, body }: Answer): void {
  response.writeHead(status, { 'Content-Type': 'application/json' })
  response.end(JSON.stringify(body))
}
