/**
 * What the agents API has around its routes: a table of routes, and errors in its dialect's format.
 *
 * @module
 */

import type { Context, Middleware } from 'koa'
import type { ExampleContext } from '../server/context.ts'

/** An error that the client is told about. */
export class ApiError extends Error {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>

  constructor(status: number, message: string, headers: Readonly<Record<string, string>> = {}) {
    super(message)
    this.status = status
    this.headers = headers
  }
}

/** Answers a request for one route. */
export type Handle = (ctx: Context, params: Readonly<Record<string, string>>) => Promise<void>

/** Handlers by method and template, such as `POST /api/dwellers/:id/act`. */
export type Routes = Readonly<Record<string, Handle>>

/** Finds the route, before anything is claimed: what nobody serves takes no key. */
export function findRoute(routes: Routes): Middleware {
  const known = Object.entries(routes).map(([name, handle]) => {
    const [method = '', template = ''] = name.split(' ')
    const names = [...template.matchAll(/:(\w+)/g)].map(([, name = '']) => name)
    return { method, template, names, handle, pattern: patternOf(template) }
  })
  return async (ctx, next) => {
    const there = known.filter(({ pattern }) => pattern.test(ctx.path))
    if (there.length === 0) throw new ApiError(404, `There is no ${ctx.path}.`)
    const asked = ctx.method === 'HEAD' ? 'GET' : ctx.method
    const route = there.find(({ method }) => method === asked)
    if (route === undefined) {
      const allowed = there.map(({ method }) => method).join(', ')
      throw new ApiError(405, `Possible here: ${allowed}.`, { Allow: allowed })
    }
    const values = route.pattern.exec(ctx.path)?.slice(1) ?? []
    const params = Object.fromEntries(route.names.map((name, i) => [name, values[i] ?? '']))
    // As routers of Koa do: records of requests are named by the template.
    Object.assign(ctx, { _matchedRoute: route.template })
    ctx.state['handle'] = () => route.handle(ctx, params)
    await next()
  }
}

/** Has the route that was found answer. */
export const handleRoute: Middleware = (ctx) => ctx.state['handle']()

/** What stands for a parameter is a name, as the tables can hold it. */
function patternOf(template: string): RegExp {
  return new RegExp(`^${template.replaceAll(/:\w+/g, '([\\w.-]{1,100})')}/?$`)
}

/** Names of errors, by status. */
const CODES: ReadonlyMap<number, string> = new Map([
  [400, 'invalid'],
  [401, 'not_authenticated'],
  [404, 'not_found'],
  [405, 'method_not_allowed'],
  [413, 'body_too_large'],
])

/** Answers what is thrown. Of what is no answer itself, clients are told nothing. */
export function answerErrors({ report }: ExampleContext): Middleware {
  return async (ctx, next) => {
    try {
      await next()
    } catch (error) {
      // What parsers throw has these members, too.
      const { status = 500, message, headers = {} } = Object(error)
      const isTold = status >= 400 && status < 500
      if (!isTold) report?.(error)
      ctx.status = isTold ? status : 500
      ctx.set(headers)
      ctx.body = {
        detail: isTold ? message : 'Something went wrong on our side. Send the same request again.',
        code: isTold ? (CODES.get(status) ?? 'invalid') : 'error',
      }
    }
  }
}
