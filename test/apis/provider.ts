/**
 * As much of Stripe's API as the official SDK needs for customers and charges, on a port of its own.
 *
 * @module
 */

import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { Stripe } from 'stripe'

/** What the provider is to do with the next requests for a charge. */
export type Mood = 'up' | 'down' | 'cut-before' | 'cut-after'

interface Kept {
  readonly asked: string
  readonly status: number
  readonly body: unknown
}

/** The provider. */
export interface Provider {
  readonly stripe: Stripe
  readonly charges: readonly { readonly id: string; readonly key: string; readonly asked: string }[]
  mood: Mood
  close(): Promise<void>
}

/** Starts a provider. */
export async function startProvider(): Promise<Provider> {
  const customers = new Map<string, string>()
  const charges: { id: string; key: string; asked: string }[] = []
  const answers = new Map<string, Kept>()

  const execute = (url: string, asked: string, key: string): Kept => {
    const form = new URLSearchParams(asked)
    if (url === '/v1/customers') {
      const id = `cus_${customers.size + 1}`
      customers.set(id, form.get('source') ?? '')
      return { asked, status: 200, body: { id, object: 'customer' } }
    }
    const source = customers.get(form.get('customer') ?? '')
    if (source === undefined) return { asked, ...refused(400, 'invalid_request_error') }
    if (source !== 'tok_visa') return { asked, ...refused(402, 'card_error') }
    const id = `ch_${charges.length + 1}`
    charges.push({ id, key, asked })
    return { asked, status: 200, body: { id, object: 'charge' } }
  }

  const provider = { mood: 'up' as Mood }
  const answer = async (req: IncomingMessage): Promise<Kept | 'cut'> => {
    const { url = '', method, headers } = req
    const asked = await text(req)
    const isCharge = url === '/v1/charges'
    if (method === 'GET') {
      const isKnown = customers.has(url.replace('/v1/customers/', ''))
      return isKnown
        ? { asked, status: 200, body: {} }
        : { asked, ...refused(404, 'invalid_request_error') }
    }
    if (isCharge && provider.mood === 'down') return { asked, ...refused(500, 'api_error') }
    if (isCharge && provider.mood === 'cut-before') return 'cut'
    const key = String(headers['idempotency-key'])
    const kept = answers.get(key)
    if (kept !== undefined && kept.asked !== asked)
      return { asked, ...refused(400, 'idempotency_error') }
    const answered = kept ?? execute(url, asked, key)
    answers.set(key, answered)
    return isCharge && provider.mood === 'cut-after' ? 'cut' : answered
  }

  const server = createServer((req, res) => {
    void answer(req).then((answered) => {
      if (answered === 'cut') return req.socket.destroy()
      res.writeHead(answered.status, { 'content-type': 'application/json' })
      return res.end(JSON.stringify(answered.body))
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  // A server on a port has an address of this kind.
  const { port } = server.address() as AddressInfo
  const stripe = new Stripe('sk_test_provider', { host: '127.0.0.1', port, protocol: 'http' })
  return Object.assign(provider, {
    ...{ stripe, charges },
    close: () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  })
}

function refused(status: number, type: string): { status: number; body: unknown } {
  return { status, body: { error: { type, message: 'Your card was declined.' } } }
}
