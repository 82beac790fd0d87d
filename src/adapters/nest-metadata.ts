/**
 * The decorators of NestJS that the adapter needs, as metadata: `@Inject()`, `@UseInterceptors()` and
 * `@SetMetadata()`.
 *
 * The adapter does not load `@nestjs/common`. NestJS 12 is made of ES modules and the package is CommonJS, so a
 * `require` of it would fail on Node 22.0 to 22.11 and in Jest, even in an app that imports both.
 *
 * @module
 */

/** Where Nest keeps what `@Inject()` says of the parameters of a constructor. */
const PARAMETERS = 'self:paramtypes'
/** Where Nest keeps what `@UseInterceptors()` says. */
const INTERCEPTORS = '__interceptors__'

/** What reflect-metadata adds to `Reflect`. Nest loads it. */
interface Metadata {
  readonly getMetadata?: (key: string, target: object) => unknown
  readonly defineMetadata?: (key: unknown, value: unknown, target: object) => void
  readonly getOwnMetadataKeys?: (target: object) => readonly unknown[]
  readonly getOwnMetadata?: (key: unknown, target: object) => unknown
}

/** Reads metadata of a class or method. */
export function metadataOf(key: string, target: object): unknown {
  // Nest loads reflect-metadata; its types stay out of here.
  const { getMetadata } = Reflect as Metadata
  return getMetadata?.(key, target)
}

/**
 * Sets metadata of a class or method, as `@SetMetadata()` does.
 *
 * @throws TypeError if nothing has loaded reflect-metadata
 */
export function setMetadata(key: string, value: unknown, target: object): void {
  // As above.
  const { defineMetadata } = Reflect as Metadata
  if (defineMetadata === undefined) {
    throw new TypeError('Reflect.defineMetadata is missing: import @nestjs/common before this.')
  }
  defineMetadata(key, value, target)
}

/** Gives a method all metadata of another. */
export function copyMetadata(from: object, to: object): void {
  // As above.
  const { getOwnMetadataKeys, getOwnMetadata, defineMetadata } = Reflect as Metadata
  for (const key of getOwnMetadataKeys?.(from) ?? []) {
    defineMetadata?.(key, getOwnMetadata?.(key, from), to)
  }
}

/** Has Nest give a provider to the constructor of a class, as its first argument. */
export function injectFirst(provider: symbol, target: object): void {
  setMetadata(PARAMETERS, [{ index: 0, param: provider }], target)
}

/** Puts an interceptor behind those that a class or method has. */
export function useInterceptor(interceptor: object, target: object): void {
  const present = metadataOf(INTERCEPTORS, target)
  setMetadata(INTERCEPTORS, [...(Array.isArray(present) ? present : []), interceptor], target)
}
