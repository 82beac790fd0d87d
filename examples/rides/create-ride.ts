/**
 * To book a ride: a row here, a charge at the provider, a receipt by mail. Whatever breaks in
 * between, it is taken up at the last recovery point, by the client or by the completer.
 *
 * @module
 */

import type { PoolClient } from 'pg'
import {
  advance,
  foreignCall,
  type Operation,
  operation,
  phase,
  respond,
  retryLater,
} from 'reprise/phases'
import { Stripe } from 'stripe'
import { z } from 'zod'
import type { ExampleContext } from '../server/context.ts'
import { RECEIPT_JOB, type Receipt } from './receipt.ts'

/** A fixed price, in cents, until there is a better idea of what a rocket costs. */
const PRICE = { amount: 2000, currency: 'usd' } as const

/** How long the provider may take, in milliseconds. */
const CHARGE_TIMEOUT_MS = 10_000

/** A number, or text that is one: forms know only text. */
function degrees(max: number) {
  const decimal = z.string().regex(/^[+-]?\d+(\.\d+)?$/, 'must be a number of degrees')
  const either = z.union([z.number(), decimal.transform(Number)], {
    error: (issue) => (issue.input === undefined ? 'is missing' : 'must be a number of degrees'),
  })
  return either
    .refine((value) => Math.abs(value) <= max, `must be from -${max} to ${max}`)
    .meta({ minimum: -max, maximum: max })
}

/** What is asked for. */
export const NewRide = z.object({
  origin_lat: degrees(90),
  origin_lon: degrees(180),
  target_lat: degrees(90),
  target_lon: degrees(180),
  raise_error: z
    .union([z.boolean(), z.stringbool()])
    .default(false)
    .meta({ description: 'For demonstrations: the first attempt fails when the ride is stored.' }),
})

/** A ride that is asked for. */
export type NewRide = z.infer<typeof NewRide>

/** The operation, on an engine and a provider. */
export function createRideOperation(
  { reprise, faults }: ExampleContext,
  stripe: Stripe,
): Operation<PoolClient, NewRide> {
  return operation(
    'create_ride',
    { reprise, input: NewRide, retryAfterMs: 1000 },
    {
      started: phase(async ({ tx, input, caller, ip }) => {
        faults.reach('after-claim')
        return advance('ride_created', await storeRide(tx, { ride: input, caller, ip }))
      }),

      ride_created: foreignCall({
        timeoutMs: 2 * CHARGE_TIMEOUT_MS,
        async call({ key, input, fence }, { rideId, customer }: StoredRide) {
          faults.reach('ride_created')
          if (input.raise_error && fence === 1)
            throw new Error('Failed, because raise_error is set')
          await faults.before()
          faults.reach('before-charge')
          const description = `Charge for ride ${rideId}`
          const { id } = await stripe.charges.create(
            { ...PRICE, customer, description },
            // What fails is taken up again from here, with the same key: no need to insist.
            { idempotencyKey: key, maxNetworkRetries: 0, timeout: CHARGE_TIMEOUT_MS },
          )
          faults.reach('after-charge')
          faults.after()
          return id
        },
        async done({ tx, result }, state) {
          const sql = 'update rides set stripe_charge_id = $2 where id = $1'
          await tx.query(sql, [state.rideId, result])
          return advance('charge_created', state)
        },
        failed(error) {
          if (error instanceof Stripe.errors.StripeCardError) {
            return respond(402, { error: `The payment was declined. ${error.message}` })
          }
          if (error instanceof Stripe.errors.StripeError) return retryLater()
          throw error
        },
      }),

      charge_created: phase(async ({ stage, caller }, { rideId }: StoredRide) => {
        faults.reach('charge_created')
        const receipt: Receipt = { ...PRICE, ride_id: rideId, user_id: caller }
        await stage(RECEIPT_JOB, receipt)
        faults.reach('before-commit')
        const message = 'Payment accepted. Your pilot is on their way!'
        const headers = { Location: `/rides/${rideId}` }
        return respond(201, { message }, { headers, resource: { type: 'ride', id: rideId } })
      }),
    },
  )
}

/** What the phases after the first are told. */
interface StoredRide {
  readonly rideId: string
  readonly customer: string
}

interface Booking {
  readonly ride: NewRide
  readonly caller: string
  readonly ip: string | null
}

/** The ride, and who booked it from where: both or none. */
async function storeRide(tx: PoolClient, { ride, caller, ip }: Booking): Promise<StoredRide> {
  const { raise_error: _, ...places } = ride
  const { origin_lat, origin_lon, target_lat, target_lon } = places
  const insert = `
    insert into rides (user_id, origin_lat, origin_lon, target_lat, target_lon)
    select id, $2, $3, $4, $5 from users where id = $1
    returning id::text as "rideId",
      (select stripe_customer_id from users where id = user_id) as customer`
  const values = [caller, origin_lat, origin_lon, target_lat, target_lon]
  const { rows } = await tx.query<StoredRide>(insert, values)
  const [stored] = rows
  if (stored === undefined) throw new Error(`There is no user ${caller}`)
  const audit = `
    insert into audit_records (action, data, origin_ip, resource_id, resource_type, user_id)
    values ('created', $1, $2, $3, 'ride', $4)`
  await tx.query(audit, [places, addressOf(ip), stored.rideId, caller])
  return stored
}

/** An address as PostgreSQL writes it: without the name of the interface, and `0.0.0.0/0` for any. */
function addressOf(ip: string | null): string {
  return ip?.replace(/%.*$/, '') ?? '0.0.0.0/0'
}
