/**
 * Rides, on Fastify: an operation in phases answers, with a charge at a payment provider in it.
 *
 * @module
 */

import type { RequestListener } from 'node:http'
import fastify, { type FastifyError, type FastifyInstance } from 'fastify'
import type { PoolClient } from 'pg'
import { rides } from 'reprise/dialects'
import { serve } from 'reprise/fastify'
import type { StagedJob, WorkersOptions } from 'reprise/workers'
import { Stripe } from 'stripe'
import type { ExampleContext } from '../server/context.ts'
import { errorPagesUrl } from '../server/error-pages.ts'
import { createRideOperation } from './create-ride.ts'
import { type Mailer, RECEIPT_JOB, sendRideReceipt } from './receipt.ts'
import { type User, Users } from './users.ts'

export { NewRide } from './create-ride.ts'
export { ridesSchema } from './schema.ts'

declare module 'fastify' {
  interface FastifyRequest {
    user: User
  }
}

/** How rides are protected. */
export const ridesPolicy = {
  dialect: rides,
  caller: ({ user }: { user: User }) => user.id,
  fingerprint: { exclude: ['raise_error'] },
}

/** What the API needs besides a database. */
export interface RidesTools {
  readonly stripe: Stripe
  readonly mailer: Mailer
}

/** The API, and the work that goes on behind it. */
export interface Rides {
  readonly listener: RequestListener
  /** For the completer. */
  readonly operations: NonNullable<WorkersOptions<PoolClient>['operations']>
  /** For the sink of the enqueuer, by name. */
  readonly jobs: Readonly<Record<string, (job: StagedJob) => Promise<void>>>
}

/** Serves `/rides`. */
export async function createRides(
  context: ExampleContext,
  { stripe, mailer }: RidesTools,
): Promise<Rides> {
  const { pool } = context
  const users = new Users(pool, stripe)
  await users.seed()
  const createRide = createRideOperation(context, stripe)
  const app = fastify()

  // The operation reads the body by itself, whether it is a form or JSON.
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('*', (_request, payload, done) => done(null, payload))
  app.addHook('onRequest', async (request) => {
    const user = await users.find(request.headers.authorization ?? '')
    if (user === undefined)
      throw new ApiError(401, 'Say who you are: `Authorization: user@example.com`.')
    request.user = user
  })

  const docsUrl = errorPagesUrl(context.url, 'rides')
  app.post('/rides', serve(createRide, { ...ridesPolicy, docsUrl }))
  app.get<{ Params: { id: string } }>('/rides/:id', async ({ user, params: { id } }) => {
    const sql = `
      select id::float8, origin_lat::float8, origin_lon::float8, target_lat::float8,
        target_lon::float8, stripe_charge_id, created_at
      from rides where user_id = $1 and id = $2`
    const known = /^\d{1,15}$/.test(id) ? await pool.query(sql, [user.id, id]) : { rows: [] }
    if (known.rows[0] === undefined) throw new ApiError(404, `There is no ride ${id}.`)
    return known.rows[0]
  })
  answerTheRest(app, context)

  await app.ready()
  return {
    listener: (req, res) => app.routing(req, res),
    operations: [createRide],
    jobs: { [RECEIPT_JOB]: (job) => sendRideReceipt(job, { pool, mailer }) },
  }
}

/** An error that the client is told about. */
class ApiError extends Error {
  readonly statusCode: number

  constructor(statusCode: number, message: string) {
    super(message)
    this.statusCode = statusCode
  }
}

/** Unknown places, unknown methods and errors, in the format of the dialect. */
function answerTheRest(app: FastifyInstance, { report }: ExampleContext): void {
  const others = { '/rides': 'POST', '/rides/:id': 'GET' }
  for (const [url, allowed] of Object.entries(others)) {
    const method = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'].filter((name) => name !== allowed)
    app.route({
      ...{ url, method },
      handler: async (_request, reply) => {
        reply.header('Allow', allowed)
        throw new ApiError(405, `Possible here: ${allowed}.`)
      },
    })
  }
  app.setNotFoundHandler(({ method, url }) => {
    throw new ApiError(404, `There is no ${method} ${url}.`)
  })
  app.setErrorHandler((error: FastifyError | ApiError | Stripe.errors.StripeError, _, reply) => {
    if (error instanceof Stripe.errors.StripeError) {
      const message = 'The payment provider can not be reached. Send the same request again.'
      return reply.code(503).header('Retry-After', '1').send({ error: message })
    }
    const { statusCode = 500, message } = error
    if (statusCode < 500) return reply.code(statusCode).send({ error: message })
    report?.(error)
    const internal = 'Something went wrong on our side. Send the same request again.'
    return reply.code(500).send({ error: internal })
  })
}
