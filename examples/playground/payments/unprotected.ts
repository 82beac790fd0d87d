/**
 * A payment as it is without idempotency: whatever comes is charged, as often as it comes.
 *
 * @module
 */

import type { RequestListener } from 'node:http'
import { json } from 'node:stream/consumers'
import type { Stripe } from 'stripe'
import type { ExampleContext } from '../../server/context.ts'
import { IGNORED_KEY } from '../story.ts'

/** Serves a payment that ignores its key. */
export function serveUnprotected({ faults }: ExampleContext, stripe: Stripe): RequestListener {
  const pay = async (key: string) => {
    await faults.before()
    faults.reach('before-charge')
    const charge = await stripe.charges.create(
      {
        ...{ amount: 2000, currency: 'usd', source: 'tok_visa' },
        ...{ description: 'Without idempotency', metadata: { [IGNORED_KEY]: key } },
      },
      { maxNetworkRetries: 0 },
    )
    faults.reach('after-charge')
    faults.after()
    return charge
  }
  return (request, response) => {
    const key = String(request.headers['idempotency-key'] ?? '')
    const answer = (status: number, body: unknown) => {
      response.writeHead(status, { 'Content-Type': 'application/json' }).end(JSON.stringify(body))
    }
    json(request)
      .then(() => pay(key))
      .then(
        () => answer(201, { message: 'Payment accepted. Your pilot is on their way!' }),
        () => answer(503, { error: 'The payment failed, or it did not: who knows.' }),
      )
  }
}
