/**
 * A platform for agents, on Koa: whatever an agent posts, it may post again.
 *
 * @module
 */

import { randomBytes } from 'node:crypto'
import type { RequestListener } from 'node:http'
import { bodyParser } from '@koa/bodyparser'
import Koa, { type Context, type Middleware } from 'koa'
import type { Pool } from 'pg'
import { hashSecret } from 'reprise'
import { agents } from 'reprise/dialects'
import { idempotent } from 'reprise/koa'
import { z } from 'zod'
import { queriesOf } from '../common/queries.ts'
import { faultOf, text } from '../common/text.ts'
import type { ExampleContext } from '../server/context.ts'
import { errorPagesUrl } from '../server/error-pages.ts'
import { ApiError, answerErrors, findRoute, handleRoute, type Routes } from './http.ts'

export { agentsSchema } from './schema.ts'

const REGISTRATION = '/api/auth/agent'

const Anything = z.record(z.string(), z.unknown())
/** An agent that registers. */
export const NewAgent = z.object({ name: text(100) })
/** What an agent does. */
export const NewAct = z.looseObject({ action: text(100) })
/** A story, or a proposal. */
export const NewText = z.object({ title: text(255), content: text(100_000) })
/** What an agent thinks of something. */
export const NewFeedback = z.object({ verdict: text(100), text: text(100_000) })

/** How everything that agents post is protected. */
export const agentsPolicy = {
  ...{ dialect: agents, caller: callerOf },
  ...{ transaction: true, required: false },
} as const

/** Serves `/api/auth`, `/api/dwellers`, `/api/stories`, `/api/proposals` and `/api/review`. */
export async function createAgents(context: ExampleContext): Promise<RequestListener> {
  const { pool, reprise } = context
  const app = new Koa()
  app.use(answerErrors(context))
  app.use(findRoute(routesOf(context)))
  app.use(authenticate(pool))
  const docsUrl = errorPagesUrl(context.url, 'agents')
  app.use(idempotent(reprise, { ...agentsPolicy, docsUrl }))
  app.use(bodyParser({ enableTypes: ['json'], jsonLimit: '1mb' }))
  app.use(handleRoute)
  const listener = app.callback()
  return (req, res) => void listener(req, res)
}

function routesOf({ pool, faults }: ExampleContext): Routes {
  /** Stores one row, which is all that any of the routes does. */
  const store = async (ctx: Context, table: string, row: Row) => {
    await faults.before()
    const columns = Object.keys(row)
    const places = columns.map((_, index) => `$${index + 1}`)
    const sql = `
      insert into ${table} (${columns.join(', ')}) values (${places.join(', ')})
      returning *`
    const { rows } = await queriesOf(ctx, pool).query(sql, Object.values(row))
    faults.after()
    faults.reach('before-commit')
    return rows[0]
  }
  const said = <Value>(ctx: Context, schema: z.ZodType<Value>): Value => {
    faults.reach('after-claim')
    return parsed(ctx, schema)
  }
  const write = (table: 'stories' | 'proposals') => async (ctx: Context) => {
    const { title, content } = said(ctx, NewText)
    ctx.body = await store(ctx, table, { agent_id: agentOf(ctx), title, content })
    ctx.status = 201
  }
  const list = (table: 'stories' | 'proposals') => async (ctx: Context) => {
    const sql = `select * from ${table} where agent_id = $1 order by created_at, id`
    ctx.body = { data: (await pool.query(sql, [agentOf(ctx)])).rows }
  }

  return {
    [`POST ${REGISTRATION}`]: async (ctx) => {
      const { name } = said(ctx, NewAgent)
      const token = `agent_${randomBytes(32).toString('base64url')}`
      const { id } = await store(ctx, 'agents', { name, token_hash: hashSecret(token) })
      ctx.status = 201
      ctx.body = { id, name, token }
    },
    'POST /api/dwellers/:id/act': async (ctx, { id: dweller_id }) => {
      const { action, ...details } = said(ctx, NewAct)
      const act = { agent_id: agentOf(ctx), dweller_id, action, details: JSON.stringify(details) }
      ctx.body = await store(ctx, 'acts', act)
      ctx.status = 201
    },
    'POST /api/dwellers/:id/heartbeat': async (ctx, { id: dweller_id }) => {
      const details = JSON.stringify(said(ctx, Anything))
      ctx.body = await store(ctx, 'heartbeats', { agent_id: agentOf(ctx), dweller_id, details })
    },
    'POST /api/stories': write('stories'),
    'GET /api/stories': list('stories'),
    'POST /api/proposals': write('proposals'),
    'GET /api/proposals': list('proposals'),
    'POST /api/review/:type/:id/feedback': async (ctx, { type: subject_type, id: subject_id }) => {
      const subject = { agent_id: agentOf(ctx), subject_type, subject_id }
      ctx.body = await store(ctx, 'feedback', { ...subject, ...said(ctx, NewFeedback) })
      ctx.status = 201
    },
  }
}

/** Columns come from the code, values from outside. */
type Row = Readonly<Record<string, string | undefined>>

/**
 * On whose behalf: the agent. Who registers is none yet and has nothing to show but an address, so
 * keys of registrations count per address: a stranger elsewhere who guesses key and name gets an agent
 * of its own, and not this one's token. The answer is kept with the token in it, since a client that
 * lost it must get it again; where others can read the database, give the engine `encryption`.
 */
function callerOf(ctx: Context): string {
  return ctx.path.startsWith(REGISTRATION) ? `registration from ${ctx.ip}` : agentOf(ctx)
}

function agentOf(ctx: Context): string {
  return String(ctx.state['agent'])
}

/** Finds the agent that a token belongs to. */
function authenticate(pool: Pool): Middleware {
  return async (ctx, next) => {
    if (!ctx.path.startsWith(REGISTRATION)) {
      const token = /^[Bb]earer ([!-~]+)$/.exec(ctx.get('Authorization'))?.[1] ?? 'none'
      const sql = 'select id from agents where token_hash = $1'
      const { rows } = await pool.query<{ id: string }>(sql, [hashSecret(token)])
      if (rows[0] === undefined) {
        throw new ApiError(401, `Send the token that POST ${REGISTRATION} gave.`)
      }
      ctx.state['agent'] = rows[0].id
    }
    await next()
  }
}

/** What the body says; none is an empty one. */
function parsed<Value>(ctx: Context, schema: z.ZodType<Value>): Value {
  const result = schema.safeParse(ctx.request.body ?? {})
  if (result.success) return result.data
  throw new ApiError(400, faultOf(result.error).message)
}
