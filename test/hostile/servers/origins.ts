/**
 * Real servers on the loopback, and the ledger of what they did.
 *
 * @module
 */

import { once } from 'node:events'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Clock } from '../../../src/client/clock.ts'
import { type Fate, KINDS, type Kind } from './plan.ts'

/** Something that a server did. */
export interface Effect {
  readonly id: number
  readonly op: string
  readonly key: string | null
  /** Whose token came along. */
  readonly user: string
}

/** A request as a server saw it. */
export interface Seen {
  readonly op: string
  /** `op`, or where a redirect led. */
  readonly page: string
  readonly key: string | null
  readonly body: string
}

/** What the servers know of one world. */
export interface Scene {
  readonly name: string
  readonly clock: Clock
  readonly effects: Effect[]
  readonly seen: Seen[]
  /** What should not have come to a server. */
  readonly intrusions: string[]
  /** Calls of `fetch` to which no answer is due. */
  readonly waiting: Set<string>
  /** How often an origin that honours keys was told each key of a user, and what it answers. */
  readonly keys: Map<string, Answer | 'running'>
  fateOf(op: string, call: string): Fate
}

interface Answer {
  readonly status: number
  readonly body: string
  readonly headers?: Readonly<Record<string, string>>
}

/** A request in the hands of a server. */
interface Exchange {
  readonly scene: Scene
  readonly kind: Kind
  readonly request: IncomingMessage
  readonly response: ServerResponse
  readonly op: string
  readonly key: string | null
  readonly user: string
  readonly call: string
}

/** The origins, for all worlds that are played one after the other. */
export class Origins {
  /** The world that is being played. */
  scene: Scene | undefined
  readonly #servers: Server[] = []
  /** The addresses of the origins, in the order of {@link KINDS}. */
  readonly urls: string[] = []
  /** An origin that nobody asked for. */
  foreign = ''
  /** An address on which nobody listens. */
  closed = ''

  static async open(): Promise<Origins> {
    const origins = new Origins()
    for (const kind of KINDS)
      origins.urls.push(await origins.#listen((req, res) => origins.#serve(kind, req, res)))
    origins.foreign = await origins.#listen((req, res) => {
      const { 'idempotency-key': key, authorization } = req.headers
      if (authorization)
        origins.scene?.intrusions.push(`the token of ${authorization} came to a foreign origin`)
      if (key) origins.scene?.intrusions.push('a key came to a foreign origin')
      req.resume()
      res.end('somewhere else')
    })
    const closed = createServer()
    origins.closed = await urlOf(closed)
    closed.close()
    return origins
  }

  async close(): Promise<void> {
    for (const server of this.#servers) {
      server.closeAllConnections()
      server.close()
    }
  }

  async #listen(handle: (req: IncomingMessage, res: ServerResponse) => void): Promise<string> {
    const server = createServer(handle)
    server.keepAliveTimeout = 60_000
    this.#servers.push(server)
    return urlOf(server)
  }

  #serve(kind: Kind, request: IncomingMessage, response: ServerResponse): void {
    const { scene } = this
    const [, world, page = '', op = ''] = /^\/([^/]+)\/(\w+)\/([^/]+)/.exec(request.url ?? '') ?? []
    request.socket.on('error', () => {})
    if (scene === undefined || world !== scene.name) {
      request.resume()
      response.writeHead(404).end()
      return
    }
    const { 'idempotency-key': key = null, authorization = '', 'x-call': call } = request.headers
    const user = authorization.replace('Bearer ', '')
    const exchange = {
      scene,
      kind,
      request,
      response,
      op,
      user,
      key: key as string | null,
      call: String(call),
    }
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      scene.seen.push({ op, page, key: exchange.key, body: Buffer.concat(chunks).toString() })
      if (page === 'op') this.#meet(scene.fateOf(op, exchange.call), exchange)
      // After a redirect the operation is at its new place; who only looks gets a page.
      else if (page === 'moved' && request.method !== 'GET')
        this.#reply(exchange, this.#done(exchange))
      else if (page === 'result') this.#reply(exchange, { status: 200, body: resultOf(exchange) })
      else if (page === 'circle')
        this.#reply(exchange, { status: 307, body: '', headers: { Location: request.url ?? '' } })
      else this.#reply(exchange, { status: 200, body: 'a page' })
    })
  }

  #meet(fate: Fate, exchange: Exchange): void {
    const { scene, request, kind, call } = exchange
    const retryAfter = (value: string | null) => (value === null ? {} : { 'Retry-After': value })
    switch (fate.kind) {
      case 'lost':
        request.socket.resetAndDestroy()
        return
      case 'cut': {
        const { status, headers, body } = this.#done(exchange)
        const lines = Object.entries({ ...headers, 'Content-Length': body.length }).map(
          ([name, value]) => `${name}: ${value}\r\n`,
        )
        const bytes = Buffer.from(`HTTP/1.1 ${status} X\r\n${lines.join('')}\r\n${body}`)
        const { socket } = request
        socket.write(bytes.subarray(0, Math.floor(fate.at * bytes.length)), () =>
          fate.isReset ? socket.resetAndDestroy() : socket.end(),
        )
        return
      }
      case 'hang':
        if (fate.hasEffect) this.#done(exchange)
        scene.waiting.add(call)
        return
      case 'late': {
        scene.waiting.add(call)
        const isRunning = kind !== 'ignores' && !scene.keys.has(nameOf(exchange))
        if (isRunning) scene.keys.set(nameOf(exchange), 'running')
        scene.clock.after(fate.ms, () => {
          scene.waiting.delete(call)
          if (isRunning) scene.keys.delete(nameOf(exchange))
          this.#reply(exchange, this.#done(exchange))
        })
        return
      }
      case 'status': {
        if (fate.hasEffect) this.#done(exchange)
        this.#reply(exchange, {
          status: fate.status,
          body: '{}',
          headers: retryAfter(fate.retryAfter),
        })
        return
      }
      case 'denied':
        this.#reply(exchange, this.#done(exchange, fate.status))
        return
      case 'in-progress':
        this.#reply(exchange, { ...IN_PROGRESS, headers: retryAfter(fate.retryAfter) })
        return
      case 'redirect':
        this.#reply(exchange, {
          status: fate.status,
          body: '',
          headers: { Location: this.#target(fate.to, exchange) },
        })
        return
      case 'result-page': {
        const { status, body, headers = {} } = this.#done(exchange)
        const isDone = status === 201
        const there = { ...headers, Location: this.#target('result', exchange) }
        this.#reply(
          exchange,
          isDone ? { status: 303, body: '', headers: there } : { status, body, headers },
        )
        return
      }
      case 'portal':
        this.#reply(exchange, { status: 200, body: 'a page' })
        return
      default:
        this.#reply(exchange, this.#done(exchange))
    }
  }

  #target(to: string, { scene, op }: Exchange): string {
    return `${to === 'foreign' ? this.foreign : ''}/${scene.name}/${to}/${op}`
  }

  /** Does what is asked for, or what the key asks for; or decides against it. */
  #done(exchange: Exchange, denied?: number): Answer {
    const { scene, kind, op, key, user } = exchange
    const name = nameOf(exchange)
    const known = kind === 'ignores' || key === null ? undefined : scene.keys.get(name)
    const echo: Record<string, string> =
      kind === 'honours' && key !== null ? { 'Idempotency-Key': key } : {}
    if (known === 'running') return { ...IN_PROGRESS, headers: { ...echo, 'Retry-After': '1' } }
    if (known !== undefined)
      return { ...known, headers: { ...echo, 'Idempotent-Replayed': 'true' } }
    // An origin without keys does not decide against what it has done.
    const isDenied = denied !== undefined && !scene.effects.some((effect) => effect.op === op)
    if (!isDenied) scene.effects.push({ id: scene.effects.length + 1, op, key, user })
    const answer = isDenied
      ? { status: denied, body: '{"denied":true}' }
      : { status: 201, body: JSON.stringify({ effect: scene.effects.length }) }
    if (kind !== 'ignores' && key !== null) scene.keys.set(name, answer)
    return { ...answer, headers: echo }
  }

  #reply({ response }: Exchange, { status, body, headers = {} }: Answer): void {
    if (response.destroyed || response.socket === null) return
    response.writeHead(status, headers).end(body)
  }
}

const IN_PROGRESS = { status: 409, body: '{"code":"idempotency-in-progress"}' } as const

function nameOf({ kind, user, key }: Exchange): string {
  return `${kind} ${user} ${key}`
}

/** The page that shows what an operation came to. */
function resultOf({ scene, op }: Exchange): string {
  const effect = scene.effects.find((one) => one.op === op)
  return JSON.stringify(effect === undefined ? {} : { effect: effect.id })
}

async function urlOf(server: Server): Promise<string> {
  await once(server.listen(0, '127.0.0.1'), 'listening')
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}
