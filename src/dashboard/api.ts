/**
 * The API of the page: one table of routes, and what has to hold before one of them answers.
 *
 * @module
 */

import { createHash } from 'node:crypto'
import type { Order } from '../admin/admin.ts'
import { forgeryIn, may } from './access.ts'
import type { MountPoint } from './mount.ts'
import type { DashboardOptions, Viewer } from './options.ts'
import { ORDERS, orderIn } from './orders.ts'
import { bad, objectOf } from './query.ts'
import type { ReadCache } from './read-cache.ts'
import { READS } from './reads.ts'
import { json, Refused, refusalOf, refuse } from './reply.ts'
import { type Asked, type Found, type OrderRoute, type Route, routesFor } from './route.ts'

/** Every route, for those who want to know. */
export const ROUTES: readonly Route[] = [...READS, ...ORDERS]

/** A request to the API. */
export interface ApiCall {
  readonly request: Request
  /** Below `api/`. */
  readonly path: string
  readonly viewer: Viewer
  readonly mount: MountPoint
}

/** What all routes share. */
export interface ApiParts {
  readonly options: DashboardOptions
  readonly cache: ReadCache
}

const BODY_BYTES_MAX = 1_048_576
const ORDER_KEY_LENGTH_MAX = 255

/** Answers a request to the API; whatever goes wrong is an answer too. */
export async function answerApi(parts: ApiParts, call: ApiCall): Promise<Response> {
  try {
    return await answer(parts, call)
  } catch (error) {
    return refuse(refusalOf(error))
  }
}

async function answer({ options, cache }: ApiParts, call: ApiCall): Promise<Response> {
  const { request, path, viewer } = call
  const fitting = routesFor(ROUTES, path)
  const method = request.method === 'HEAD' ? 'GET' : request.method
  const found = fitting.find(({ route }) => route.method === method)
  if (found === undefined) throw unknownRoute(fitting, `${request.method} api/${path}`)
  const { route, params } = found
  if (route.isForAll && viewer.scopes !== undefined) {
    const message = 'This is about all callers, and you may see only some of them.'
    throw new Refused(403, 'forbidden', message)
  }
  const query = new URL(request.url).searchParams
  const asked: Asked = { admin: options.admin, options, viewer, cache, params, query }
  if (route.method === 'GET') {
    const { status, body } = await route.answer(asked)
    return json(body, status)
  }
  return carryOut(route, asked, call)
}

/** Checks an order and carries it out. What anybody reads after it is read anew. */
async function carryOut(route: OrderRoute, asked: Asked, call: ApiCall): Promise<Response> {
  const { request, viewer, mount, path } = call
  const forgery = forgeryIn(request, asked.options)
  if (forgery !== undefined) throw new Refused(403, 'cross_site', forgery)
  const key = orderKeyOf(request)
  const sent = await bodyOf(request)
  checkMay(route, asked, sent)
  const who = { author: viewer.user, ip: mount.ip ?? null, orderKey: digest(viewer, path, key) }
  const order = (reason: string): Order => orderIn(sent, { ...who, reason })
  try {
    const { status, body } = await route.answer({ ...asked, body: sent, order })
    return json(body, status)
  } finally {
    asked.cache.clear()
  }
}

function checkMay(route: OrderRoute, asked: Asked, body: Readonly<Record<string, unknown>>): void {
  const { options, viewer, params } = asked
  if (options.readOnly === true && route.isReading !== true) {
    throw new Refused(403, 'read_only', 'This dashboard is read-only: nothing can be changed here.')
  }
  const action = typeof route.needs === 'string' ? route.needs : route.needs(params, body)
  if (may(viewer, action)) return
  throw new Refused(403, 'forbidden', `${viewer.user} may not do this: ${action} is not allowed.`)
}

/** A key of the page's own: a double click sends the same one twice. */
function orderKeyOf(request: Request): string {
  const key = request.headers.get('idempotency-key') ?? ''
  if (key !== '' && key.length <= ORDER_KEY_LENGTH_MAX) return key
  throw bad(
    `Idempotency-Key is missing or longer than ${ORDER_KEY_LENGTH_MAX} characters: send a fresh UUID for each order, the same on every retry`,
  )
}

/** The key of somebody else, or for something else, is another key. */
function digest({ user }: Viewer, path: string, key: string): string {
  return createHash('sha256')
    .update(JSON.stringify([user, path, key]))
    .digest('base64url')
}

async function bodyOf(request: Request): Promise<Readonly<Record<string, unknown>>> {
  const bytes = await request.arrayBuffer()
  if (bytes.byteLength > BODY_BYTES_MAX) {
    throw new Refused(413, 'too_large', `A body has at most ${BODY_BYTES_MAX} bytes.`)
  }
  if (bytes.byteLength === 0) return {}
  let value: unknown
  try {
    value = JSON.parse(new TextDecoder().decode(bytes))
  } catch {
    throw bad('The body is not JSON')
  }
  return objectOf('The body', value)
}

function unknownRoute(fitting: readonly Found<Route>[], asked: string): Refused {
  if (fitting.length === 0) return new Refused(404, 'not_found', `There is no ${asked}.`)
  const methods = [...new Set(fitting.map(({ route }) => route.method))].join(', ')
  return new Refused(405, 'method', `${asked} is not possible; this is: ${methods}.`)
}
