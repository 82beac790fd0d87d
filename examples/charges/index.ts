/**
 * Charges, on Hono: no charge without a key, and no second one with it.
 *
 * @module
 */

import type { RequestListener } from 'node:http'
import { getRequestListener } from '@hono/node-server'
import { type Context, Hono } from 'hono'
import { HTTPException } from 'hono/http-exception'
import type { PoolClient } from 'pg'
import { charges } from 'reprise/dialects'
import { idempotent, txOf } from 'reprise/hono'
import { z } from 'zod'
import { text } from '../common/text.ts'
import type { ExampleContext } from '../server/context.ts'
import { errorPagesUrl } from '../server/error-pages.ts'
import { answerErrors, answerNotFound, methodNotAllowed, notFound, parsed } from './errors.ts'
import { createOrders, type Env } from './orders.ts'

export { chargesSchema } from './schema.ts'

/** Members that are not named here are no part of the charge; the fingerprint has them all. */
export const NewCharge = z.object({
  // Held to the integers that a double can count.
  amount: z.int().positive(),
  currency: z
    .string()
    .regex(/^[A-Za-z]{3}$/, 'must have three letters')
    .toLowerCase(),
  customer_id: text(255).optional(),
})

/** How charges are protected. */
export const chargesPolicy = {
  dialect: charges,
  caller: (c: Context<Env>) => c.get('user'),
  transaction: true,
} as const

/** A charge as clients see it, without what it does not have. */
const CHARGE = `json_strip_nulls(json_build_object(
  'id', id, 'amount', amount, 'currency', currency, 'status', status, 'customer_id', customer_id
)) as charge`

/** Serves `/v1/charges` and `/orders`. */
export async function createCharges(context: ExampleContext): Promise<RequestListener> {
  const { pool, reprise, faults } = context
  const docsUrl = errorPagesUrl(context.url, 'charges')
  const once = idempotent(reprise, { ...chargesPolicy, docsUrl })
  const app = new Hono<Env>()

  app.use(async (c, next) => {
    await next()
    const key = c.req.header('Idempotency-Key')
    // Answers of the protected route have it; every other one gets it here.
    if (key && !c.res.headers.has('Idempotency-Key')) c.header('Idempotency-Key', key)
  })
  app.use(async (c, next) => {
    c.set('user', userOf(c))
    await next()
  })

  app.post('/v1/charges', once, async (c) => {
    faults.reach('after-claim')
    const { amount, currency, customer_id } = parsed(NewCharge, await c.req.text())
    await faults.before()
    const sql = `
      insert into charges (user_id, amount, currency, customer_id)
      values ($1, $2, $3, $4) returning ${CHARGE}`
    const values = [c.get('user'), amount, currency, customer_id]
    const { rows } = await txOf<PoolClient>(c).query(sql, values)
    faults.after()
    faults.reach('before-commit')
    return c.json(rows[0]?.charge, 201)
  })
  app.get('/v1/charges/:id', async (c) => {
    const id = /^\w+$/.exec(c.req.param('id'))?.[0]
    const sql = `select ${CHARGE} from charges where user_id = $1 and id = $2`
    const { rows } = await pool.query(sql, [c.get('user'), id])
    if (rows[0] === undefined) throw notFound(c)
    return c.json(rows[0].charge)
  })
  app.all('/v1/charges', methodNotAllowed('POST'))
  app.all('/v1/charges/:id', methodNotAllowed('GET'))
  app.route('/orders', createOrders(context))

  app.notFound(answerNotFound)
  app.onError(answerErrors(context))
  const listener = getRequestListener(app.fetch)
  return (req, res) => void listener(req, res)
}

/** The user that a token names. */
function userOf(c: Context): string {
  const user = /^[Bb]earer (user_[!-~]+)$/.exec(c.req.header('Authorization') ?? '')?.[1]
  if (user !== undefined) return user
  throw new HTTPException(401, { message: 'Say who you are: `Authorization: Bearer user_…`.' })
}
