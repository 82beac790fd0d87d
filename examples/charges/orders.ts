/**
 * Orders: PUT and DELETE are idempotent by themselves and need no key.
 *
 * @module
 */

import { type Context, Hono } from 'hono'
import { z } from 'zod'
import type { ExampleContext } from '../server/context.ts'
import { methodNotAllowed, notFound, parsed } from './errors.ts'

const Order = z.record(z.string(), z.unknown())

/** Who asks, as authentication found it. */
export type Env = { Variables: { user: string } }

/** Serves one order: `PUT`, `GET` and `DELETE /:id`. */
export function createOrders({ pool, faults }: ExampleContext): Hono<Env> {
  const app = new Hono<Env>()
  app.put('/:id', async (c) => {
    const content = parsed(Order, await c.req.text())
    await faults.before()
    const sql = `
      insert into orders (user_id, id, content) values ($1, $2, $3)
      on conflict (user_id, id) do update set content = excluded.content, updated_at = now()
      returning xmax = 0 as is_new`
    const { rows } = await pool.query(sql, [c.get('user'), idOf(c), JSON.stringify(content)])
    faults.after()
    return c.json({ ...content, id: idOf(c) }, rows[0]?.is_new === true ? 201 : 200)
  })
  app.get('/:id', async (c) => {
    const sql = 'select content from orders where user_id = $1 and id = $2'
    const { rows } = await pool.query(sql, [c.get('user'), idOf(c)])
    if (rows[0] === undefined) throw notFound(c)
    return c.json({ ...rows[0].content, id: idOf(c) })
  })
  app.delete('/:id', async (c) => {
    await faults.before()
    const sql = 'delete from orders where user_id = $1 and id = $2'
    await pool.query(sql, [c.get('user'), idOf(c)])
    faults.after()
    return c.body(null, 204)
  })
  app.all('/:id', methodNotAllowed('PUT, GET, DELETE'))
  return app
}

/** The id in the path; clients choose it. */
function idOf(c: Context): string {
  const id = c.req.param('id') ?? ''
  if (/^[\w.-]{1,100}$/.test(id)) return id
  throw notFound(c)
}
