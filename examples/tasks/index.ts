/**
 * Tasks, on Express: the key, the task and the answer commit together.
 *
 * @module
 */

import type { RequestListener } from 'node:http'
import express, { type Request, type RequestHandler } from 'express'
import { hashSecret } from 'reprise'
import { tasks } from 'reprise/dialects'
import { idempotent } from 'reprise/express'
import { z } from 'zod'
import { queriesOf } from '../common/queries.ts'
import { faultOf, text } from '../common/text.ts'
import type { ExampleContext } from '../server/context.ts'
import { errorPagesUrl } from '../server/error-pages.ts'
import { ApiError, answerErrors, methodNotAllowed, notFound } from './errors.ts'

export { tasksSchema } from './schema.ts'

/** A task that is asked for. */
export const NewTask = z.object({ task_name: text(255) })
/** What is to be changed of a task. */
export const ChangedTask = z
  .object({ task_name: text(255).optional(), is_done: z.boolean().optional() })
  .refine(({ task_name, is_done }) => task_name !== undefined || is_done !== undefined, {
    error: 'task_name or is_done is needed',
  })

/** How tasks are protected. */
export const tasksPolicy = {
  dialect: tasks,
  caller: accountOf,
  transaction: true,
  required: false,
} as const

/** A task as clients see it, with times in Unix seconds. */
const TASK = `
  id, 'task' as object, task_name, is_done,
  floor(extract(epoch from completed_at))::float8 as completed_at,
  floor(extract(epoch from created_at))::float8 as created_at,
  floor(extract(epoch from updated_at))::float8 as updated_at`

/** Serves `/tasks`. */
export async function createTasks(context: ExampleContext): Promise<RequestListener> {
  const { pool, reprise, faults } = context
  const docsUrl = errorPagesUrl(context.url, 'tasks')
  const once = idempotent(reprise, { ...tasksPolicy, docsUrl })
  const app = express().disable('x-powered-by')

  app.use('/tasks', authenticate)
  app
    .route('/tasks')
    .get(async (req, res) => {
      const sql = `select ${TASK} from tasks where account = $1 order by tasks.created_at, id`
      const { rows } = await pool.query(sql, [accountOf(req)])
      res.json({ object: 'list', data: rows })
    })
    .post(once, express.json(), async (req, res) => {
      faults.reach('after-claim')
      const { task_name } = parsed(NewTask, req.body)
      await faults.before()
      const sql = `insert into tasks (account, task_name) values ($1, $2) returning ${TASK}`
      const { rows } = await queriesOf(req, pool).query(sql, [accountOf(req), task_name])
      faults.after()
      faults.reach('before-commit')
      res.status(201).json(rows[0])
    })
    .all(methodNotAllowed('GET, POST'))
  app
    .route('/tasks/:id')
    .get(async (req, res) => {
      const sql = `select ${TASK} from tasks where account = $1 and id = $2`
      const { rows } = await pool.query(sql, [accountOf(req), idOf(req)])
      res.json(found(req, rows))
    })
    .patch(once, express.json(), async (req, res) => {
      faults.reach('after-claim')
      const { task_name, is_done } = parsed(ChangedTask, req.body)
      await faults.before()
      const sql = `
        update tasks set
          task_name = coalesce($3, task_name),
          is_done = coalesce($4, is_done),
          completed_at = case when coalesce($4, is_done) then coalesce(completed_at, now()) end,
          updated_at = now()
        where account = $1 and id = $2
        returning ${TASK}`
      const values = [accountOf(req), idOf(req), task_name, is_done]
      const { rows } = await queriesOf(req, pool).query(sql, values)
      faults.after()
      faults.reach('before-commit')
      res.json(found(req, rows))
    })
    .delete(once, async (req, res) => {
      faults.reach('after-claim')
      await faults.before()
      const sql = 'delete from tasks where account = $1 and id = $2'
      await queriesOf(req, pool).query(sql, [accountOf(req), idOf(req)])
      faults.after()
      faults.reach('before-commit')
      // Gone is gone, however often it is asked for.
      res.json({ id: req.params.id, object: 'task', deleted: true })
    })
    .all(methodNotAllowed('GET, PATCH, DELETE'))

  app.use(notFound)
  app.use(answerErrors(context))
  return app
}

/** The account that an API key stands for. The key itself is stored nowhere. */
function accountOf(req: Request): string {
  const key = /^[Bb]earer (sk_(?:test|live)_[!-~]+)$/.exec(req.get('Authorization') ?? '')?.[1]
  if (key !== undefined) return hashSecret(key)
  throw new ApiError(401, 'unauthorized', {
    message: 'Send your API key: `Authorization: Bearer sk_test_…` or `sk_live_…`.',
  })
}

const authenticate: RequestHandler = (req, _res, next) => {
  accountOf(req)
  next()
}

/** The id in the path; what can be no id is none that is stored. */
function idOf({ params: { id } }: Request): string {
  return typeof id === 'string' && /^\w+$/.test(id) ? id : ''
}

function found<Task>(req: Request, [task]: readonly Task[]): Task {
  if (task !== undefined) return task
  throw new ApiError(404, 'task_not_found', { message: `There is no task at ${req.path}.` })
}

function parsed<Value>(schema: z.ZodType<Value>, body: unknown): Value {
  const result = schema.safeParse(body)
  if (result.success) return result.data
  throw new ApiError(400, 'parameter_invalid', faultOf(result.error))
}
