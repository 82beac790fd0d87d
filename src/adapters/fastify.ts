/**
 * Fastify 3, 4 and 5: a plugin for all routes of a scope, or a hook for one.
 *
 * Both run last before the handler: after every hook that authenticates, after the body is parsed
 * and after the schema is checked. What is compared is what the handler sees, `request.body`; where
 * `request.rawBody` holds the bytes, those; a body that no parser touched is read and put back.
 *
 * @module
 */

import type { FastifyInstance, FastifyReply, FastifyRequest, RouteOptions } from 'fastify'
import { isLater } from '../core/later.ts'
import { FASTIFY, unsupported } from '../core/versions.ts'
import { started } from '../engine/bounded.ts'
import type { AnyReprise, Reprise } from '../engine/reprise.ts'
import type { Servable } from '../engine/servable.ts'
import { protectReply, watchHandler } from './fastify-reply.ts'
import { noop } from './node-calls.ts'
import { type HttpOptions, refuseRunOptions, type ServeOptions, serving } from './options.ts'
import { Guard } from './protect.ts'

export { runOf, txOf } from './run-of.ts'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** What the route says over the plugin's settings; `false` leaves it unprotected. */
    idempotency?: false | Partial<HttpOptions<FastifyRequest>>
  }
}

/** A `preHandler` hook, whatever the server speaks: Fastify has types of its own for HTTP/2. */
export type FastifyHook = (request: object, reply: object) => Promise<void>

/** Settings of the plugin: those of every route, and the engine. */
export interface FastifyOptions<Tx = unknown> extends HttpOptions<FastifyRequest, Tx> {
  /** What `createReprise` made. */
  readonly reprise: AnyReprise<Tx>
}

/**
 * Makes one route safe to send again. Put it last, after the hooks that authenticate.
 *
 * @example
 * ```ts
 * const once = idempotent(reprise, { caller: (request) => request.user.id })
 * app.post('/charges', { preHandler: [authenticate, once] }, createCharge)
 * ```
 * @throws RepriseError `reprise-options-invalid`
 */
export function idempotent<Tx = never>(
  reprise: Reprise<Tx>,
  options: HttpOptions<FastifyRequest, Tx>,
): FastifyHook {
  return hookOf(new Guard<FastifyRequest, Tx>(reprise, options))
}

/**
 * Has an operation in phases answer requests: its input is what the body says.
 *
 * @example
 * ```ts
 * app.post('/rides', serve(createRide, { caller: (request) => request.user.id }))
 * ```
 * @throws RepriseError `reprise-options-invalid`
 */
export function serve(
  operation: Servable,
  options: ServeOptions<FastifyRequest>,
): (request: object, reply: object) => Promise<object> {
  const settings = serving(operation, options)
  const guard = new Guard<FastifyRequest, unknown>(operation.reprise, settings)
  return async function operate(request, reply) {
    // Fastify calls it with these, as it calls a hook.
    const [asked, answer] = [request as FastifyRequest, reply as FastifyReply]
    const start = await protectReply(guard, asked, answer)
    // A request with another method is none for the operation.
    if (start === 'proceed') answer.code(405).send()
    return reply
  }
}

/** Options of Fastify's `register`, which are none of the plugin. */
const REGISTER: ReadonlySet<string> = new Set([
  ...['prefix', 'logLevel', 'logSerializers', 'encapsulate'],
])

/**
 * Makes all routes safe to send again that are declared after it, here and in the plugins below. A
 * route says otherwise by `config: { idempotency: … }`.
 *
 * @example
 * ```ts
 * await app.register(idempotency, { reprise, caller: (request) => request.user.id })
 * app.post('/charges', createCharge)
 * ```
 * @throws RepriseError `reprise-options-invalid`, `reprise-version-unsupported`
 */
export async function idempotency(app: FastifyInstance, options: FastifyOptions): Promise<void> {
  // Version 2 and older do not say which they are, and have no way to give a reply out of hand.
  if (!('version' in app)) throw unsupported(FASTIFY, 'of version 2 or older')
  // Fastify hands on what `register` itself takes.
  const own = Object.entries(options).filter(([name]) => !REGISTER.has(name))
  // What is left out is no option of the plugin.
  const { reprise, ...common } = Object.fromEntries(own) as unknown as FastifyOptions
  const guard = new Guard(reprise, common)
  app.addHook('onRoute', (route) => {
    const { idempotency: own = {} } = route.config ?? {}
    if (own === false) return
    const isPlain = Object.keys(own).length === 0
    if (own.serve !== undefined) refuseRunOptions(own)
    const routeGuard = isPlain ? guard : new Guard(reprise, { ...common, ...own })
    if (![route.method].flat().some((method) => routeGuard.guards(method))) return
    // Last in line, so that a hook of the route that authenticates comes before the claim.
    route.preHandler = [...hooksOf(route), hookOf(routeGuard)]
  })
}

/** What Fastify asks of a plugin that is meant for the scope it is registered in, not for its own. */
Object.assign(idempotency, {
  [Symbol.for('skip-override')]: true,
  [Symbol.for('fastify.display-name')]: 'reprise',
  [Symbol.for('plugin-meta')]: { name: 'reprise' },
})

function hooksOf({ preHandler = [] }: RouteOptions): Extract<typeof preHandler, unknown[]> {
  return Array.isArray(preHandler) ? preHandler : [preHandler]
}

function hookOf<Tx>(guard: Guard<FastifyRequest, Tx>): FastifyHook {
  return function idempotency(request, reply) {
    try {
      watchHandler(request)
      // Fastify calls it with these; over HTTP/2 their raw sides have the same members, as far as used.
      const start = protectReply(guard, request as FastifyRequest, reply as FastifyReply)
      return isLater(start) ? start.then(noop) : DONE
    } catch (error) {
      return started(() => {
        throw error
      })
    }
  }
}

const DONE = Promise.resolve()
