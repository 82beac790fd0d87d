/** As much of a rides API as the tests of the server need, where the real one is not there. */

import type { IncomingMessage } from 'node:http'
import { rides } from 'reprise/dialects'
import { serve } from 'reprise/node'
import { advance, foreignCall, operation, phase, respond } from 'reprise/phases'
import { z } from 'zod'
import type { ApiTools } from '../../../../examples/server/apis.ts'
import type { ExampleContext } from '../../../../examples/server/context.ts'

/** Makes what is missing. */
export const ridesSchema = `
  create table if not exists rides (id serial);
  create table if not exists audit_records (id serial);
`

/** Serves `POST /rides`. */
export async function createRides(
  { reprise, faults }: ExampleContext,
  { stripe, mailer }: ApiTools,
) {
  const createRide = operation(
    'create_ride',
    { reprise, input: z.object({}) },
    {
      started: phase(async ({ tx }) => {
        await tx.query('insert into rides default values')
        await tx.query('insert into audit_records default values')
        return advance('ride_created', {})
      }),
      ride_created: foreignCall({
        async call({ key }, _state: object) {
          const charge = { amount: 2000, currency: 'usd', source: 'tok_visa' }
          const { id } = await stripe.charges.create(charge, { idempotencyKey: key })
          faults.reach('after-charge')
          return id
        },
        done: async (_, state) => advance('charge_created', state),
      }),
      charge_created: phase(async ({ stage }, _state: object) => {
        await stage('send_ride_receipt', {})
        return respond(201, { message: 'Paid.' })
      }),
    },
  )
  const caller = ({ headers }: IncomingMessage) => headers.authorization ?? ''
  return {
    listener: serve(createRide, { dialect: rides, caller }),
    operations: [createRide],
    jobs: {
      send_ride_receipt: ({ id }: { id: string }) =>
        mailer.send({ id, to: 'user@example.com', subject: 'Your receipt', text: 'Thank you.' }),
    },
  }
}
