/** As much of a tasks API as the tests of the server need, where the real one is not there. */

import type { IncomingMessage, RequestListener } from 'node:http'
import { json } from 'node:stream/consumers'
import type { PoolClient } from 'pg'
import { tasks } from 'reprise/dialects'
import { idempotent, runOf } from 'reprise/node'
import type { ExampleContext } from '../../../../examples/server/context.ts'

/** Makes what is missing. */
export const tasksSchema = 'create table if not exists tasks (id serial, task_name text not null)'

/** Serves `POST /tasks`. */
export async function createTasks({ reprise, faults }: ExampleContext): Promise<RequestListener> {
  const caller = (request: IncomingMessage) => request.headers.authorization ?? ''
  return idempotent(
    reprise,
    { dialect: tasks, caller, transaction: true },
    async (request, response) => {
      faults.reach('after-claim')
      const { task_name } = Object(await json(request))
      await faults.before()
      const run = runOf<PoolClient>(request)
      if (run === undefined || !('tx' in run)) throw new Error('The tests send a key.')
      const sql = 'insert into tasks (task_name) values ($1) returning id, task_name'
      const { rows } = await run.tx.query(sql, [task_name])
      faults.after()
      faults.reach('before-commit')
      response.writeHead(201, { 'Content-Type': 'application/json' })
      response.end(JSON.stringify(rows[0]))
    },
  )
}
