/**
 * The sample API of `reprise dev`: `POST /charges`, `GET /charges`. It runs in a process of its own, so
 * that it can be killed in the middle of a request.
 *
 * @module
 */

import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { idempotent } from '../../adapters/node.ts'
import { parseKey } from '../../core/key.ts'
import type { CapturedResponse } from '../../core/response.ts'
import { hashSecret } from '../../core/secret.ts'
import { createReprise, type Reprise } from '../../engine/reprise.ts'
import type { Store } from '../../engine/store.ts'
import type { Io } from '../io.ts'
import type { Call } from './channel.ts'
import type { Charge } from './ledger.ts'

/** What the API is started with. */
export interface ApiOptions {
  readonly port: number
  readonly host: string
  /** How long a key is held after a crash, in milliseconds. */
  readonly leaseMs: number
}

/** What the API needs. */
export interface ApiParts extends ApiOptions {
  readonly io: Io
  readonly store: Store
  /** Calls the process that keeps the ledger. */
  readonly call: Call
}

/** Serves until the process ends; tells when it listens. */
export async function serveApi(parts: ApiParts): Promise<number> {
  const { store, leaseMs, call, io } = parts
  const reprise = createReprise({
    ...{ store, leaseMs, replayCache: false },
    // Counted and noted where they outlive this process; what was thrown stays here.
    onEvent: ({ error: _, ...event }) => void call('event', [event]).catch(() => {}),
    // After a crash the ledger says whether the charge was made.
    afterCrash: async (request) => {
      // As the ledger gives it.
      const charge = (await call('ledger.find', [ledgerKey(request)])) as Charge | null
      return charge === null ? 'rerun' : answerOf(charge)
    },
  })
  const server = createServer(listener({ io, call, reprise }))
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(parts.port, parts.host, () => resolve())
  })
  const address = server.address()
  return typeof address === 'object' && address !== null ? address.port : parts.port
}

interface Handling {
  readonly io: Io
  readonly call: Call
  readonly reprise: Reprise
}

function listener(
  handling: Handling,
): (request: IncomingMessage, response: ServerResponse) => void {
  const { call, reprise } = handling
  const options = {
    caller: callerOf,
    operation: 'POST /charges',
    required: true,
    // A client that hangs up in the middle of its body is part of the show.
    onError: (_: unknown, __: IncomingMessage, response: ServerResponse) => {
      if (!response.headersSent) response.statusCode = 500
    },
  }
  const charge = idempotent(reprise, options, (request, response) =>
    makeCharge(request, response, handling),
  )
  return (request, response) => {
    const [path] = (request.url ?? '/').split('?')
    if (path === '/charges' && request.method === 'POST') return charge(request, response)
    if (path === '/charges' && request.method === 'GET') {
      call('ledger.list', []).then(
        (charges) => sendJson(response, 200, { data: charges }),
        () => sendJson(response, 503, { error: 'The ledger does not answer.' }),
      )
      return undefined
    }
    if (path === '/') return sendJson(response, 200, { routes: ['POST /charges', 'GET /charges'] })
    return sendJson(response, 404, { error: `There is no ${request.method ?? ''} ${path ?? ''}.` })
  }
}

async function makeCharge(
  request: IncomingMessage,
  response: ServerResponse,
  { io, call }: Handling,
): Promise<void> {
  const amount = amountOf(await bodyOf(request))
  if (amount === undefined) {
    return sendJson(response, 422, { error: 'amount must be a whole number of at least 1' })
  }
  const fault = faultOf(request)
  await pauseOf(io, fault.slowMs)
  if (fault.crash === 'before') die()
  // As the ledger gives it.
  const charge = (await call('ledger.add', [ledgerKeyOf(request), amount])) as Charge
  if (fault.crash === 'after') die()
  return sendJson(response, 201, contentOf(charge))
}

/** A sample has no accounts: whoever sends is known by a digest of the header, if there is one. */
function callerOf({ headers }: IncomingMessage): string {
  return headers.authorization === undefined ? 'you' : hashSecret(headers.authorization)
}

/** The key that stands for this charge and no other. */
function ledgerKeyOf(request: IncomingMessage): string {
  const parsed = parseKey([request.headers['idempotency-key'] ?? ''].flat())
  return ledgerKey({ caller: callerOf(request), key: parsed.kind === 'key' ? parsed.key : '' })
}

function ledgerKey({ caller, key }: { readonly caller: string; readonly key: string }): string {
  return JSON.stringify([caller, key])
}

/** What the header `Demo-Fault` asks for: `slow=2000`, `crash=before`, `crash=after`. */
function faultOf({ headers }: IncomingMessage): { slowMs: number; crash: string } {
  const text = String(headers['demo-fault'] ?? '')
  const [, slow = '0'] = /\bslow=(\d{1,5})\b/.exec(text) ?? []
  const [, crash = ''] = /\bcrash=(before|after)\b/.exec(text) ?? []
  return { slowMs: Number(slow), crash }
}

function pauseOf({ clock }: Io, ms: number): Promise<void> {
  return new Promise((resolve) => {
    if (ms === 0) resolve()
    else clock.after(ms, resolve)
  })
}

/** As the kernel does it when memory runs out: nothing is said, nothing is closed. */
function die(): never {
  process.kill(process.pid, 'SIGKILL')
  throw new Error('This process is gone.')
}

async function bodyOf(request: IncomingMessage): Promise<unknown> {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(Buffer.from(chunk))
  try {
    return JSON.parse(Buffer.concat(chunks).toString())
  } catch {
    return undefined
  }
}

function amountOf(body: unknown): number | undefined {
  const isObject = typeof body === 'object' && body !== null && 'amount' in body
  const amount = isObject ? body.amount : undefined
  return typeof amount === 'number' && Number.isSafeInteger(amount) && amount > 0
    ? amount
    : undefined
}

function contentOf({ id, amount }: Charge): object {
  return { id, amount, status: 'succeeded' }
}

function answerOf(charge: Charge): CapturedResponse {
  const body = Buffer.from(JSON.stringify(contentOf(charge)))
  return { status: 201, headers: [['Content-Type', 'application/json']], body }
}

function sendJson(response: ServerResponse, status: number, content: object): void {
  response.writeHead(status, { 'Content-Type': 'application/json' })
  response.end(JSON.stringify(content))
}
