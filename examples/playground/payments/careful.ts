/**
 * A payment for a provider that does not honour keys: a call of which nobody knows whether it took
 * effect is not made again. A person decides instead.
 *
 * @module
 */

import type { RequestListener } from 'node:http'
import type { PoolClient } from 'pg'
import { rides } from 'reprise/dialects'
import { serve } from 'reprise/node'
import {
  advance,
  foreignCall,
  type Operation,
  operation,
  phase,
  respond,
  retryLater,
} from 'reprise/phases'
import type { Stripe } from 'stripe'
import { z } from 'zod'
import type { ExampleContext } from '../../server/context.ts'
import { errorPagesUrl } from '../../server/error-pages.ts'

const Place = z.record(z.string(), z.unknown())

type Place = z.infer<typeof Place>

/** What is served, and what the completer drives on. */
export interface CarefulPayment {
  readonly listener: RequestListener
  readonly operation: Operation<PoolClient, Place>
}

/** Serves the payment. */
export function serveCareful(context: ExampleContext, stripe: Stripe): CarefulPayment {
  const pay = payOperation(context, stripe)
  const caller = () => 'playground'
  // The errors are those of rides.
  const docsUrl = errorPagesUrl(context.url, 'rides')
  return { operation: pay, listener: serve(pay, { dialect: rides, caller, docsUrl }) }
}

function payOperation(
  { reprise, faults }: ExampleContext,
  stripe: Stripe,
): Operation<PoolClient, Place> {
  return operation(
    'demo_payment',
    { reprise, input: Place, retryAfterMs: 1000 },
    {
      started: phase(async () => {
        faults.reach('after-claim')
        return advance('ride_created')
      }),
      ride_created: foreignCall({
        repeat: 'never',
        async call({ key }) {
          faults.reach('ride_created')
          await faults.before()
          faults.reach('before-charge')
          const { id } = await stripe.charges.create(
            { amount: 2000, currency: 'usd', source: 'tok_visa', description: 'Careful payment' },
            { idempotencyKey: key, maxNetworkRetries: 0 },
          )
          faults.reach('after-charge')
          faults.after()
          return id
        },
        done: () => advance('charge_created'),
        failed: () => retryLater(),
      }),
      charge_created: phase(async () => {
        faults.reach('charge_created')
        faults.reach('before-commit')
        return respond(201, { message: 'Payment accepted. Your pilot is on their way!' })
      }),
    },
  )
}
