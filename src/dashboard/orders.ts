/**
 * The routes that change something. Each is carried out once however often it is sent, and says in
 * the audit who ordered it and why.
 *
 * @module
 */

import type { Batch, Order, OrderResult, RequestAction } from '../admin/admin.ts'
import { bad, filterIn, listOf, oneOf, settlementIn, textIn } from './query.ts'
import { detailOf, letterOf } from './reads.ts'
import { exactJson, Refused } from './reply.ts'
import type { Ordered, OrderRoute, Result } from './route.ts'

const REQUEST_ACTIONS: readonly RequestAction[] = ['resume', 'release', 'expire']
const WORKERS = ['enqueuer', 'completer', 'reaper'] as const
const WAYS = ['pause', 'resume', 'run_once'] as const
const REASON_LENGTH_MAX = 2000
const CONFIRM_LENGTH_MAX = 64
const IDS_MAX = 1000

/** Every route that changes something. */
export const ORDERS: readonly OrderRoute[] = [
  {
    ...{ method: 'POST', path: 'requests/:id/reveal', needs: 'payload.read', isReading: true },
    answer: reveal,
  },
  ...REQUEST_ACTIONS.map(
    (action): OrderRoute => ({
      ...{ method: 'POST', path: `requests/:id/${action}`, needs: action },
      answer: (ordered) => act(action, ordered),
    }),
  ),
  { method: 'POST', path: 'letters/:letter/settle', needs: 'settle', answer: settle },
  {
    ...{ method: 'POST', path: 'jobs/:job/retry', needs: 'retry_job', isForAll: true },
    answer: async (ordered) => {
      const { admin, params, body, order } = ordered
      return resultOf(
        await admin.retryJob(params['job'] ?? '', order(reasonIn(body, 'Retried by hand'))),
      )
    },
  },
  {
    ...{ method: 'POST', path: 'workers/:worker/:way', needs: 'steer_worker', isForAll: true },
    answer: async ({ admin, params, body, order }) => {
      const worker = oneOf('worker', params['worker'] ?? '', WORKERS)
      const way = oneOf('way', params['way'] ?? '', WAYS)
      return resultOf(
        await admin.steerWorker(worker, way, order(reasonIn(body, 'Steered by hand'))),
      )
    },
  },
  {
    ...{ method: 'POST', path: 'batches' },
    needs: (_, body) => oneOf('action', String(body['action']), REQUEST_ACTIONS),
    answer: startBatch,
  },
  {
    ...{ method: 'POST', path: 'batches/:batch/cancel', needs: 'resume', isForAll: true },
    answer: async ({ admin, params, body, order }) => {
      const reason = reasonIn(body, 'Stopped by hand')
      return batchResult(await admin.cancelBatch(params['batch'] ?? '', order(reason)))
    },
  },
]

async function reveal(ordered: Ordered): Promise<Result> {
  const { admin, options, params, body, order } = ordered
  const { id } = await detailOf(ordered, params['id'] ?? '')
  const payload = await admin.reveal(id, order(reasonIn(body, 'Looked at the payload')))
  if (payload === undefined) throw new Refused(404, 'not_found', 'There is no such request.')
  const { input, state, response } = options.redact?.(payload) ?? payload
  // As text: the page shows every digit of a number, which its own JSON.parse would not keep.
  const texts = { input: textOf(input), state: textOf(state) }
  const answer = response === null ? null : { ...response, body: textOf(response.body) }
  return { status: 200, body: { ...texts, response: answer } }
}

function textOf(value: unknown): string | null {
  return value === undefined || value === null ? null : exactJson(value, 2)
}

async function act(action: RequestAction, ordered: Ordered): Promise<Result> {
  const { admin, params, body, order } = ordered
  const { id } = await detailOf(ordered, params['id'] ?? '')
  return resultOf(await admin.act(action, id, order(reasonIn(body))))
}

async function settle(ordered: Ordered): Promise<Result> {
  const { admin, params, body, order } = ordered
  const settlement = settlementIn(body)
  const { letter } = await letterOf(ordered, params['letter'] ?? '')
  return resultOf(await admin.settle(letter, settlement, order(reasonIn(body))))
}

async function startBatch(ordered: Ordered): Promise<Result> {
  const { admin, viewer, body, order } = ordered
  const action = oneOf('action', String(body['action']), REQUEST_ACTIONS)
  const reason = reasonIn(body)
  if (body['ids'] !== undefined) {
    const ids = listOf('ids', body['ids'])
    if (ids.length === 0 || ids.length > IDS_MAX)
      throw bad(`ids must name 1 to ${IDS_MAX} requests`)
    if (viewer.scopes !== undefined) for (const id of ids) await detailOf(ordered, id)
    return batchResult(await admin.startBatch(action, { ids }, order(reason)))
  }
  const filter = filterIn(body['filter'])
  if (viewer.scopes !== undefined && !viewer.scopes.includes(filter.caller ?? '')) {
    throw new Refused(403, 'forbidden', 'Name one of your callers in the filter.')
  }
  return batchResult(await admin.startBatch(action, { filter }, order(reason)))
}

function batchResult(batch: Batch | undefined): Result {
  if (batch === undefined) throw new Refused(404, 'not_found', 'There is no such batch.')
  return { status: 200, body: batch }
}

/** The reason; where one need not be given, the default. */
function reasonIn(body: Ordered['body'], fallback?: string): string {
  const reason = textIn(body, 'reason', REASON_LENGTH_MAX) || fallback
  if (reason !== undefined) return reason
  throw bad('reason is missing: say in a few words why, for the audit')
}

/** The order as far as the body says it. */
export function orderIn(body: Ordered['body'], who: Omit<Order, 'version' | 'confirm'>): Order {
  const version = textIn(body, 'version', REASON_LENGTH_MAX)
  const confirm = textIn(body, 'confirm', CONFIRM_LENGTH_MAX)
  return {
    ...who,
    ...(version === undefined ? {} : { version }),
    ...(confirm === undefined ? {} : { confirm }),
  }
}

const STATUSES: Readonly<Record<OrderResult['outcome'], number>> = {
  ...{ done: 200, repeated: 200, not_found: 404, conflict: 409, refused: 409, unconfirmed: 422 },
}

function resultOf(result: OrderResult): Result {
  return { status: STATUSES[result.outcome], body: result }
}
