/**
 * A guard for any object: whatever is called on it, or on what it gives, asks the app's access first.
 *
 * @module
 */

import type { AppAccess } from './app-access.ts'

type Callee = (...values: unknown[]) => unknown

/** Members by which libraries open nested transactions around a callback. */
const NESTING: ReadonlySet<PropertyKey> = new Set(['transaction', '$transaction', 'savepoint'])

type Wait = (promise: Promise<unknown>, values: never[]) => unknown

/** How a promise is waited for. What is lazy sends its statement by that. */
const AWAITING: ReadonlyMap<PropertyKey, Wait> = new Map<PropertyKey, Wait>([
  ['then', (promise, values) => promise.then(...values)],
  ['catch', (promise, values) => promise.catch(...values)],
  ['finally', (promise, values) => promise.finally(...values)],
])

/**
 * The object as the app's code gets it. Calls are let through while access lasts. From then on they send
 * nothing, and whatever is awaited of them rejects. A promise counts as under way until it settles. What
 * is no promise, such as a query builder, is guarded in turn, and so are the members of the object. What
 * a promise resolves to is data, and is given as it is.
 */
export function guardCalls<T extends object>(target: T, access: AppAccess): T {
  return new CallGuard(access).guard(target)
}

class CallGuard {
  readonly #access: AppAccess
  readonly #guarded = new WeakMap<object, object>()
  readonly #targets = new WeakMap<object, object>()

  constructor(access: AppAccess) {
    this.#access = access
  }

  guard<T extends object>(target: T): T {
    const known = this.#guarded.get(target)
    // Under an object only its own guard is kept.
    if (known !== undefined) return known as T
    const made = new Proxy(target, {
      get: (object, name) => this.#member(object, name),
      // Only functions are applied.
      apply: (callee, self: unknown, values: unknown[]) =>
        this.#call(callee as unknown as Callee, this.#targetOf(self), values),
    })
    this.#guarded.set(target, made)
    this.#targets.set(made, target)
    return made
  }

  #member(object: object, name: PropertyKey): unknown {
    const value: unknown = Reflect.get(object, name)
    if (name === 'constructor' || !isGuardable(value) || isFixed(object, name)) return value
    if (typeof value !== 'function') return this.guard(value)
    // Every function takes values.
    const callee = value as Callee
    const wait = AWAITING.get(name)
    if (wait !== undefined && isThenable(object)) {
      return (...values: never[]) =>
        wait(
          this.#access.send(() => object),
          values,
        )
    }
    if (!NESTING.has(name)) return this.guard(value)
    return (...values: unknown[]) =>
      this.#nest((given) => Reflect.apply(callee, object, given), values)
  }

  #call(callee: Callee, self: unknown, values: readonly unknown[]): unknown {
    if (this.#access.isEnded) return refused(this.#access)
    const result: unknown = Reflect.apply(
      callee,
      self,
      values.map((value) => this.#targetOf(value)),
    )
    if (!(result instanceof Promise) || Object.getPrototypeOf(result) !== Promise.prototype) {
      return isGuardable(result) ? this.guard(result) : result
    }
    const answered = this.#access.begin()
    result.then(answered, answered)
    return result
  }

  #nest(open: (values: readonly unknown[]) => unknown, values: readonly unknown[]): unknown {
    const work = values.find((value) => typeof value === 'function')
    if (typeof work !== 'function') return this.#call(() => open(values), undefined, [])
    return this.#access.nest<unknown, unknown>(
      async (within) => open(values.map((value) => (value === work ? within : value))),
      (inner) => work(isGuardable(inner) ? this.guard(inner) : inner),
    )
  }

  /** What the app's code passes to the library is given to it without its guard. */
  #targetOf(value: unknown): unknown {
    if (Array.isArray(value) && value.some((one) => isGuardable(one) && this.#targets.has(one))) {
      return value.map((one: unknown) => this.#targetOf(one))
    }
    return isGuardable(value) ? (this.#targets.get(value) ?? value) : value
  }
}

/** What is given in the place of a result: awaited, it rejects; whatever is called on it gives it again. */
function refused(access: AppAccess): unknown {
  const given: unknown = new Proxy(() => {}, {
    get(_, name) {
      if (typeof name === 'symbol') return undefined
      const wait = AWAITING.get(name)
      if (wait === undefined) return given
      return (...values: never[]) =>
        wait(
          access.send(async () => undefined),
          values,
        )
    },
    apply: () => given,
  })
  return given
}

/** Whether a value can do anything. Lists, dates and bytes cannot. */
function isGuardable(value: unknown): value is object {
  if (typeof value === 'function') return true
  if (typeof value !== 'object' || value === null) return false
  return !(Array.isArray(value) || value instanceof Date || ArrayBuffer.isView(value))
}

function isThenable(value: object): value is PromiseLike<unknown> {
  return typeof Reflect.get(value, 'then') === 'function'
}

/** Whether the language demands that a proxy gives the member as it is. */
function isFixed(object: object, name: PropertyKey): boolean {
  const found = Reflect.getOwnPropertyDescriptor(object, name)
  return found !== undefined && found.configurable === false && found.writable === false
}
