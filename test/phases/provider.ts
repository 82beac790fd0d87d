/**
 * A payment provider: a process of its own, with a ledger that outlives it. It speaks as Stripe does,
 * makes one charge per key, and can be told to fail.
 */

import { closeSync, existsSync, fsyncSync, openSync, readFileSync, writeSync } from 'node:fs'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'

/** How the provider treats a request: `random` draws one of the others for each. */
export type Fault = 'none' | 'down' | 'cut-before' | 'cut-after' | 'slow' | 'random'

export interface ProviderTask {
  readonly ledger: string
}

export interface ProviderMessage {
  readonly port: number
  readonly fault: Fault
}

/** A charge, as it stands in the ledger, one per line. */
export interface Charge {
  readonly id: string
  readonly key: string
  readonly customer: string
  readonly amount: string
  readonly description: string
}

/** Whoever has this in their name has a card that is declined. */
const BAD_SOURCE = 'bad-source'
/** How long a slow answer takes, in milliseconds. */
const SLOW_MS = 600
const DRAWN: readonly Fault[] = ['cut-before', 'cut-after', 'slow', 'down', 'none', 'none', 'none']

const { ledger } = JSON.parse(process.argv[2] ?? '') as ProviderTask
const charges = new Map<string, Charge>()
if (existsSync(ledger)) {
  for (const line of readFileSync(ledger, 'utf8').split('\n').filter(Boolean)) {
    const charge = JSON.parse(line) as Charge
    charges.set(charge.key, charge)
  }
}
const file = openSync(ledger, 'a')
let fault: Fault = 'none'

/** The charge of the key: the one there is, or a new one, on the disk before anybody hears of it. */
function book(key: string, form: URLSearchParams): Charge {
  const known = charges.get(key)
  if (known !== undefined) return known
  const charge: Charge = {
    ...{ id: `ch_${charges.size + 1}`, key, customer: form.get('customer') ?? '' },
    ...{ amount: form.get('amount') ?? '', description: form.get('description') ?? '' },
  }
  writeSync(file, `${JSON.stringify(charge)}\n`)
  fsyncSync(file)
  charges.set(key, charge)
  return charge
}

function answer(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
}

async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const form = new URLSearchParams(await text(request))
  const key = String(request.headers['idempotency-key'])
  const drawn = fault === 'random' ? DRAWN[Math.floor(Math.random() * DRAWN.length)] : fault
  if (drawn === 'cut-before') return void request.socket.destroy()
  if (drawn === 'down') return answer(response, 503, { error: { type: 'api_error' } })

  const customer = form.get('customer') ?? ''
  if (customer.includes(BAD_SOURCE)) {
    const message = 'Your card was declined.'
    const error = { type: 'card_error', code: 'card_declined', message }
    return answer(response, 402, { error })
  }
  const known = charges.get(key)
  if (known !== undefined && known.description !== form.get('description')) {
    const message = 'This key was used for another request.'
    return answer(response, 400, { error: { type: 'idempotency_error', message } })
  }
  const { id, amount } = book(key, form)
  if (drawn === 'cut-after') return void request.socket.destroy()
  if (drawn === 'slow') await new Promise((resolve) => setTimeout(resolve, SLOW_MS))
  answer(response, 200, { id, object: 'charge', amount: Number(amount), customer })
}

const server = createServer((request, response) => void serve(request, response))
const tell = () => {
  const { port } = server.address() as AddressInfo
  process.send?.({ port, fault } satisfies ProviderMessage)
}
server.listen(0, '127.0.0.1', tell)
process.on('message', (told) => {
  fault = told as Fault
  tell()
})
process.on('disconnect', () => {
  closeSync(file)
  process.exit()
})
