/**
 * Stand-ins for objects of a client library that lead to a connection. The app's code sees the object's
 * members, and may call them for as long as it has access.
 *
 * @module
 */

import type { TransactionAccess } from '../../../engine/transaction-access.ts'

type Method = (...values: readonly unknown[]) => unknown

/** Methods that send nothing: they may be called after the end. */
const HARMLESS: ReadonlySet<PropertyKey> = new Set([
  'escapeIdentifier',
  'escapeLiteral',
  'getTypeParser',
  'getTransactionStatus',
  'removeListener',
  'off',
  'listeners',
  'rawListeners',
  'listenerCount',
  'eventNames',
  'getMaxListeners',
  ...Object.getOwnPropertyNames(Object.prototype),
])

/** Members that lead on to the connection. */
const LEADING: ReadonlySet<PropertyKey> = new Set(['stream', 'native', '_handle'])

/**
 * A stand-in for `target`. What is assigned to it stays on it: the next one who has the connection gets
 * nothing of it.
 */
export class StandIn<T extends object> implements ProxyHandler<T> {
  /** What the app's code is given. */
  readonly proxy: T
  /** The object itself. */
  protected readonly target: T
  readonly #access: TransactionAccess
  #assigned: Map<PropertyKey, unknown> | undefined

  constructor(target: T, access: TransactionAccess) {
    this.target = target
    this.#access = access
    this.proxy = new Proxy(target, this)
  }

  get(_: T, name: PropertyKey): unknown {
    return this.#assigned?.has(name) === true ? this.#assigned.get(name) : this.member(name)
  }

  set(_: T, name: PropertyKey, value: unknown): boolean {
    this.#assigned ??= new Map()
    this.#assigned.set(name, value)
    return true
  }

  has(target: T, name: PropertyKey): boolean {
    return this.#assigned?.has(name) === true || Reflect.has(target, name)
  }

  deleteProperty(_: T, name: PropertyKey): boolean {
    this.#assigned?.delete(name)
    return true
  }

  defineProperty(target: T, name: PropertyKey, { value }: PropertyDescriptor): boolean {
    return this.set(target, name, value)
  }

  getOwnPropertyDescriptor(target: T, name: PropertyKey): PropertyDescriptor | undefined {
    const found = Reflect.getOwnPropertyDescriptor(target, name)
    if (found?.configurable === false) return found
    if (found === undefined && this.#assigned?.has(name) !== true) return undefined
    const enumerable = found?.enumerable ?? true
    return { value: this.get(target, name), enumerable, configurable: true, writable: true }
  }

  setPrototypeOf(): boolean {
    return false
  }

  preventExtensions(): boolean {
    return false
  }

  /** A member as the app's code is given it. */
  protected member(name: PropertyKey): unknown {
    const value: unknown = Reflect.get(this.target, name)
    // Whatever it takes, it is only handed on.
    if (typeof value === 'function') return this.#method(name, value as Method)
    const isLeading = LEADING.has(name) && typeof value === 'object' && value !== null
    return isLeading ? new StandIn(value, this.#access).proxy : value
  }

  /** Called before a method is; throws where the app's code may not call it. */
  protected mayCall(name: PropertyKey): void {
    if (!HARMLESS.has(name)) this.#access.check()
  }

  /**
   * Methods of the library are called on the object itself. Those of a class that the app derived from
   * the library's are called on the stand-in, because they may send statements. What is the object's own
   * was put there by the app, or is a class.
   */
  #method(name: PropertyKey, method: Method): Method {
    const isOwn = name === 'constructor' || Object.hasOwn(this.target, name)
    if (isOwn || isDerived(this.target, name)) return method
    return (...values) => {
      this.mayCall(name)
      const answer = Reflect.apply(method, this.target, values)
      return answer === this.target ? this.proxy : answer
    }
  }
}

/** Whether the method `name` comes from a class that was derived from the library's. */
function isDerived(target: object, name: PropertyKey): boolean {
  let isFound = false
  for (let at = Reflect.getPrototypeOf(target); at !== null; at = Reflect.getPrototypeOf(at)) {
    // The library's is the one that brings `query`.
    if (isFound && Object.hasOwn(at, 'query')) return true
    isFound ||= Object.hasOwn(at, name)
  }
  return false
}
