/**
 * What `@Idempotent()` puts in front of a handler of NestJS.
 *
 * @module
 */

import { invalid } from '../core/options.ts'
import type { AnyReprise } from '../engine/reprise.ts'
import { keptValues } from './nest-handler.ts'
import { metadataOf } from './nest-metadata.ts'
import { type PlatformArguments, type PlatformRequest, protectPlatform } from './nest-platform.ts'
import type { HttpOptions } from './options.ts'
import { Guard } from './protect.ts'

/** Settings of the module: those of every route, and the engine. */
export interface NestOptions<Req = never> extends HttpOptions<Req> {
  /** What `createReprise` made. */
  readonly reprise: AnyReprise<unknown>
}

/** What a decorated class or method says. */
export type RouteOptions = Partial<HttpOptions<PlatformRequest>>

/** What an interceptor needs to know of a call: Nest's `ExecutionContext`. */
export interface NestContext {
  getType(): string
  getClass(): object
  getHandler(): object
  switchToHttp(): PlatformArguments
}

/** The handler behind an interceptor: Nest's `CallHandler`, which answers an `Observable` of rxjs. */
export interface NestHandler<Values> {
  handle(): Values
}

/** Token of the module's settings. */
export const SETTINGS: symbol = Symbol('reprise settings')
/** Metadata of a decorated class or method. */
export const ROUTE = 'reprise:route'

/** Requests that have come by, since a class and its method may both be decorated. */
const seen = new WeakSet<object>()

/** Protects the routes that it is put in front of. */
export class IdempotencyInterceptor {
  readonly #options: NestOptions<PlatformRequest>
  /** Of each controller, of each of its handlers. */
  readonly #guards = new WeakMap<object, WeakMap<object, Guard<PlatformRequest, unknown>>>()

  constructor(options: NestOptions) {
    // Nest hands on what the module was given, whose functions take the platform's requests.
    this.#options = options as NestOptions<PlatformRequest>
  }

  async intercept<Values>(context: NestContext, next: NestHandler<Values>): Promise<Values> {
    if (context.getType() !== 'http') throw invalid('@Idempotent() is for HTTP only: use once()')
    const http = context.switchToHttp()
    const request = http.getRequest<PlatformRequest>()
    if (seen.has(request)) return next.handle()
    seen.add(request)
    const guard = this.guardOf(context.getClass(), context.getHandler())
    const protection = protectPlatform(guard, http)
    if (protection === undefined) return next.handle()
    // Whatever Nest is told now it sends: of an answer that is sent already it is told nothing.
    if ((await protection.start()) === 'answered') return new Promise(() => {})
    return keptValues(
      protection,
      protection.handle(() => next.handle()),
    )
  }

  /**
   * What protects a handler: by what it says over what its class says over the module.
   *
   * @throws RepriseError `reprise-options-invalid`
   */
  protected guardOf(controller: object, handler: object): Guard<PlatformRequest, unknown> {
    const guards = this.#guards.get(controller) ?? new WeakMap()
    this.#guards.set(controller, guards)
    const known = guards.get(handler)
    if (known !== undefined) return known
    const { reprise, ...common } = this.#options
    const own = { ...common, ...routeOptions(controller), ...routeOptions(handler) }
    const guard = new Guard(reprise, own)
    guards.set(handler, guard)
    return guard
  }
}

/**
 * The same for one decorated class or method. Nest makes it at start, and it looks at once whether
 * its routes can be protected as they say.
 *
 * @param handlers - those that were decorated, or are in the class that was
 */
export function checkedInterceptor(
  controller: object,
  handlers: readonly object[],
): typeof IdempotencyInterceptor {
  const checked = class extends IdempotencyInterceptor {
    constructor(options: NestOptions) {
      super(options)
      for (const handler of handlers) this.guardOf(controller, handler)
    }
  }
  // Nest names it when it can not be made.
  Object.defineProperty(checked, 'name', { value: IdempotencyInterceptor.name })
  return checked
}

function routeOptions(target: object): RouteOptions | undefined {
  // Only the decorator sets this key.
  return metadataOf(ROUTE, target) as RouteOptions | undefined
}
