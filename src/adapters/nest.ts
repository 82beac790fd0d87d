/**
 * NestJS, on Express and on Fastify: `@Idempotent()` and the module that it needs.
 *
 * Guards run before the claim, pipes after it: a body that a pipe refuses with 400 frees its key.
 * What is stored is what Nest sends in the end, whatever interceptors and exception filters made of
 * it. A replay is sent at once and the request ends there: interceptors that stand before this one
 * see no value, because none was made.
 *
 * @module
 */

import type { IncomingHttpHeaders } from 'node:http'
import {
  applyDecorators,
  type CallHandler,
  type DynamicModule,
  type ExecutionContext,
  type FactoryProvider,
  Inject,
  type ModuleMetadata,
  type NestInterceptor,
  SetMetadata,
  UseInterceptors,
} from '@nestjs/common'
import { invalid } from '../core/options.ts'
import type { AnyReprise } from '../engine/reprise.ts'
import { type PlatformRequest, protectPlatform } from './nest-platform.ts'
import type { HttpOptions } from './options.ts'
import { Guard } from './protect.ts'

export { runOf, txOf } from './run-of.ts'

/** What requests have on both platforms; name the type of your own for more. */
export interface NestRequest {
  readonly headers: IncomingHttpHeaders
  readonly body?: unknown
}

/** Settings of the module: those of every route, and the engine. */
export interface NestOptions<Req = never> extends HttpOptions<Req> {
  /** What {@link createReprise} made. */
  readonly reprise: AnyReprise<unknown>
}

/** Settings of the module that come from other providers. */
export interface NestAsyncOptions
  extends Pick<ModuleMetadata, 'imports'>,
    Pick<FactoryProvider<NestOptions>, 'inject' | 'useFactory'> {}

/** Token of the module's settings. */
const SETTINGS = Symbol('reprise settings')
/** Metadata of a decorated class or method. */
const ROUTE = 'reprise:route'

/**
 * Makes a route, or every route of a controller, safe to send again. What a method says goes over
 * what its class says, and that over the module.
 *
 * @example
 * ```ts
 * class Orders {
 *   @Post() @Idempotent({ required: true }) create(@Body() order: NewOrder) { … }
 * }
 * ```
 */
export function Idempotent<Req = NestRequest>(
  options: Partial<HttpOptions<Req>> = {},
): ClassDecorator & MethodDecorator {
  return applyDecorators(SetMetadata(ROUTE, options), UseInterceptors(IdempotencyInterceptor))
}

/** Gives `@Idempotent()` its engine and its defaults, in the whole app. */
export class IdempotencyModule {
  /** What protects a route that says nothing itself. */
  readonly common: Guard<never, unknown>

  /**
   * Made by Nest at start, so that settings which can not work are refused then.
   *
   * @throws RepriseError `reprise-options-invalid`
   */
  constructor(options: NestOptions) {
    this.common = new Guard(options.reprise, options)
  }

  /**
   * Settings that are at hand.
   *
   * @example
   * ```ts
   * imports: [IdempotencyModule.forRoot({ reprise, caller: (req: Request) => req.user.id })]
   * ```
   */
  static forRoot<Req = NestRequest>(options: NestOptions<Req>): DynamicModule {
    return moduleOf({ provide: SETTINGS, useValue: options })
  }

  /** Settings that other providers make. */
  static forRootAsync({ imports = [], ...factory }: NestAsyncOptions): DynamicModule {
    return { ...moduleOf({ provide: SETTINGS, ...factory }), imports }
  }
}

function moduleOf(settings: NonNullable<ModuleMetadata['providers']>[number]): DynamicModule {
  return { module: IdempotencyModule, global: true, providers: [settings], exports: [SETTINGS] }
}

/** Requests that have come by, since a class and its method may both be decorated. */
const seen = new WeakSet<object>()

/** What `@Idempotent()` puts in front of a handler. */
export class IdempotencyInterceptor implements NestInterceptor {
  readonly #options: NestOptions<PlatformRequest>
  /** Of each controller, of each of its handlers. */
  readonly #guards = new WeakMap<object, WeakMap<object, Guard<PlatformRequest, unknown>>>()

  constructor(options: NestOptions) {
    // Nest hands on what the module was given, whose functions take the platform's requests.
    this.#options = options as NestOptions<PlatformRequest>
  }

  async intercept(
    context: ExecutionContext,
    next: CallHandler,
  ): Promise<ReturnType<CallHandler['handle']>> {
    if (context.getType() !== 'http') throw invalid('@Idempotent() is for HTTP only: use once()')
    const http = context.switchToHttp()
    const request = http.getRequest<PlatformRequest>()
    const guard = this.#guardOf(context)
    if (seen.has(request) || !guard.guards(request.method ?? 'GET')) return next.handle()
    seen.add(request)
    const start = await protectPlatform(guard, http)
    // Whatever Nest is told now it sends: of an answer that is sent already it is told nothing.
    return start === 'proceed' ? next.handle() : new Promise(() => {})
  }

  #guardOf(context: ExecutionContext): Guard<PlatformRequest, unknown> {
    const [controller, handler] = [context.getClass(), context.getHandler()]
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

Inject(SETTINGS)(IdempotencyModule, undefined, 0)
Inject(SETTINGS)(IdempotencyInterceptor, undefined, 0)

function routeOptions(target: object): Partial<HttpOptions<PlatformRequest>> | undefined {
  // Nest loads reflect-metadata, whose types stay out of here; the key is only set above.
  const { getMetadata } = Reflect as unknown as {
    getMetadata(key: string, target: object): Partial<HttpOptions<PlatformRequest>> | undefined
  }
  return getMetadata(ROUTE, target)
}
