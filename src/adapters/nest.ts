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
import { watchedMethod } from './nest-handler.ts'
import {
  checkedInterceptor,
  IdempotencyInterceptor,
  type NestOptions,
  ROUTE,
  SETTINGS,
} from './nest-interceptor.ts'
import { injectFirst, metadataOf, setMetadata, useInterceptor } from './nest-metadata.ts'
import { type HttpOptions, refuseRunOptions } from './options.ts'
import { Guard } from './protect.ts'

export type { NestContext, NestHandler, NestOptions } from './nest-interceptor.ts'
export type { PlatformArguments } from './nest-platform.ts'
export { runOf, txOf } from './run-of.ts'
export { IdempotencyInterceptor }

/** What requests have on both platforms; name the type of your own for more. */
export interface NestRequest {
  readonly headers: IncomingHttpHeaders
  readonly body?: unknown
}

/** Settings of the module that come from other providers. */
export interface NestAsyncOptions {
  /**
   * Modules whose providers `useFactory` takes.
   *
   * @default none
   */
  readonly imports?: readonly object[]
  /**
   * Tokens of the providers that `useFactory` takes, in the order of its parameters.
   *
   * @default none
   */
  readonly inject?: readonly (string | symbol | object)[]
  /** Makes the settings. */
  readonly useFactory: (...providers: never[]) => NestOptions | Promise<NestOptions>
}

/** What goes into the `imports` of an app's module. Nest calls it a `DynamicModule`. */
export interface NestModule {
  readonly module: typeof IdempotencyModule
  readonly global: true
}

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
 * @throws RepriseError `reprise-options-invalid` for an option that belongs to the operation it serves
 */
export function Idempotent<Req = NestRequest>(
  options: Partial<HttpOptions<Req>> = {},
): ClassDecorator & MethodDecorator {
  if (options.serve !== undefined) refuseRunOptions(options)
  return (target: object, name?: string | symbol, method?: PropertyDescriptor) => {
    if (method === undefined) watchMethods(target)
    else if (typeof method.value === 'function') method.value = watchedMethod(method.value)
    // Compilers do so after all decorators; whoever applies one by hand may not.
    if (name !== undefined && method !== undefined) Object.defineProperty(target, name, method)
    const handler: unknown = method?.value
    const checked =
      typeof handler === 'function'
        ? checkedInterceptor(target.constructor, [handler])
        : checkedInterceptor(target, methodsOf(target))
    injectFirst(SETTINGS, checked)
    const decorated = typeof handler === 'function' ? handler : target
    setMetadata(ROUTE, options, decorated)
    useInterceptor(checked, decorated)
  }
}

/** Has the handlers of a class tell when they are over. */
function watchMethods(controller: object): void {
  const prototype: unknown = Reflect.get(controller, 'prototype')
  if (typeof prototype !== 'object' || prototype === null) return
  for (const [name, member] of Object.entries(Object.getOwnPropertyDescriptors(prototype))) {
    const { value } = member
    if (name === 'constructor' || typeof value !== 'function') continue
    // What Nest calls for requests has a path; other methods have none.
    if (metadataOf('path', value) === undefined) continue
    Object.defineProperty(prototype, name, { ...member, value: watchedMethod(value) })
  }
}

/** The methods of a class. */
function methodsOf(controller: object): readonly object[] {
  const prototype: unknown = Reflect.get(controller, 'prototype')
  const members = Object.values(Object.getOwnPropertyDescriptors(prototype ?? {}))
  return members.flatMap(({ value }) => (typeof value === 'function' ? [value] : []))
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
    this.common = new Guard(options.reprise, options, { isRepeatable: false, own: ['reprise'] })
  }

  /**
   * Settings that are at hand.
   *
   * @example
   * ```ts
   * imports: [IdempotencyModule.forRoot({ reprise, caller: (req: Request) => req.user.id })]
   * ```
   */
  static forRoot<Req = NestRequest>(options: NestOptions<Req>): NestModule {
    return moduleOf({ provide: SETTINGS, useValue: options })
  }

  /** Settings that other providers make. */
  static forRootAsync({ imports = [], ...factory }: NestAsyncOptions): NestModule {
    return moduleOf({ provide: SETTINGS, ...factory }, imports)
  }
}

function moduleOf(settings: object, imports: readonly object[] = []): NestModule {
  // Here, and not when this file is loaded: only now has the app loaded Nest for certain.
  injectFirst(SETTINGS, IdempotencyModule)
  injectFirst(SETTINGS, IdempotencyInterceptor)
  // For Nest alone, so the type does not name them.
  const parts = { imports, providers: [settings], exports: [SETTINGS] }
  return { module: IdempotencyModule, global: true, ...parts }
}
