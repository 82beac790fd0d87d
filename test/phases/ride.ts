import type { PoolClient } from 'pg'
import { Stripe } from 'stripe'
import { z } from 'zod'
import type { Reprise } from '../../src/index.ts'
import type { CompleterOptions } from '../../src/phases/index.ts'
import {
  advance,
  foreignCall,
  operation,
  phase,
  respond,
  retryLater,
} from '../../src/phases/index.ts'

const place = z.object({ lat: z.number().min(-90).max(90), lon: z.number().min(-180).max(180) })
const Trip = z.object({ origin: place, target: place })
type Ride = { id: string; user: string; customer: string }
type App = { reprise: Reprise<PoolClient>; stripe: Stripe; completer?: CompleterOptions }

const FIND_USER = `select id, stripe_customer_id as customer from users where email = $1`
const INSERT_RIDE = `
  insert into rides (user_id, request_key, origin_lat, origin_lon, target_lat, target_lon)
  values ($1, $2, $3, $4, $5, $6) returning id`
const INSERT_AUDIT = `
  insert into audit_records (action, data, origin_ip, resource_type, resource_id, user_id)
  values ('ride.created', $1, $2, 'ride', $3, $4)`
const SET_CHARGE = `update rides set stripe_charge_id = $1 where id = $2`

/** A ride in a rocket: recorded, charged, and confirmed with a receipt. */
export const createRide = ({ reprise, stripe, completer = {} }: App) =>
  operation(
    'create_ride',
    { reprise, input: Trip, completer },
    {
      started: phase(async ({ tx, input, caller, key, ip }) => {
        const { origin, target } = input
        const { id: user, customer } = (await tx.query(FIND_USER, [caller])).rows[0]
        const trip = [user, key, origin.lat, origin.lon, target.lat, target.lon]
        const { id } = (await tx.query(INSERT_RIDE, trip)).rows[0]
        await tx.query(INSERT_AUDIT, [JSON.stringify(input), ip, id, user])
        return advance('ride_created', { id, user, customer })
      }),
      ride_created: foreignCall({
        call: ({ key }, { id, customer }: Ride) => {
          const charge = { amount: 2000, currency: 'usd', customer, description: `Ride ${id}` }
          return stripe.charges.create(charge, { idempotencyKey: key })
        },
        done: async ({ tx, result }, ride: Ride) => {
          await tx.query(SET_CHARGE, [result.id, ride.id])
          return advance('charge_created', ride)
        },
        failed: (error) => {
          const isDeclined = error instanceof Stripe.errors.StripeCardError
          return isDeclined ? respond(402, { error: error.message }) : retryLater()
        },
      }),
      charge_created: phase(async ({ stage }, { id, user }: Ride) => {
        await stage('send_ride_receipt', { amount: 2000, currency: 'usd', user })
        return respond(201, { message: 'Your pilot is on their way!', ride: id })
      }),
    },
  )
