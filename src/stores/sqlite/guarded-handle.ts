/**
 * The `tx` of a handler: a stand-in for the user's handle that works while the transaction is the
 * handler's, and refuses every call afterwards.
 *
 * The handle itself serves every request, so a handler that kept it could write on after its end: on
 * its own, or inside the transaction of another request. Therefore the handler is given a `Proxy`, and
 * so is whatever it reaches through that: statements, iterators, functions of `transaction()`, the
 * client's own inner objects. Each call asks first, then runs on the real object, because methods of
 * the clients need that one as `this`. Rows and other data are handed on as the client made them.
 *
 * What the app prepared on the handle itself is the app's own, and is not guarded.
 *
 * @module
 */

/** A handle as a handler is given it. */
export interface GuardedHandle<T> {
  /** The stand-in. */
  readonly tx: T
  /**
   * Ends the iterators over rows that were begun on the stand-in. An open one keeps better-sqlite3
   * from running any other statement, such as `commit`.
   */
  endIterators(): void
}

/**
 * Makes a stand-in for `handle`.
 *
 * @param check - called before each call; throws once the handler may no longer use the handle
 */
export function guardHandle<T extends object>(handle: T, check: () => void): GuardedHandle<T> {
  const guard = new Guard(check)
  return { tx: guard.standIn(handle), endIterators: () => guard.endIterators() }
}

/** The handle that `tx` stands in for, or `tx` itself if it is one. */
export function realHandle<T extends object>(tx: T): T {
  // A stand-in is made with the type of what it stands in for.
  return (origins.get(tx)?.real ?? tx) as T
}

/**
 * Checks that `tx` may be used: a handle always may, a stand-in while its handler runs.
 *
 * @throws RepriseError `reprise-transaction-over`
 */
export function checkUsable(tx: object): void {
  origins.get(tx)?.guard.check()
}

/** What each stand-in of any handle stands in for. */
const origins = new WeakMap<object, { readonly real: object; readonly guard: Guard }>()

/** Methods of a statement whose results are rows, whatever class the app chose for these. */
const ROW_METHODS: ReadonlySet<PropertyKey> = new Set(['get', 'all', 'values', 'run'])

/**
 * What a function does: `call` may give an object of the client's, `rows` gives rows, and `app` runs a
 * function of the app's, as those do that `transaction()` makes.
 */
type Kind = 'call' | 'rows' | 'app'

type AnyFunction = (...values: unknown[]) => unknown

/** All the stand-ins of one transaction. */
class Guard {
  readonly check: () => void
  readonly #standIns = new WeakMap<object, object>()
  readonly #iterators = new Set<object>()

  constructor(check: () => void) {
    this.check = check
  }

  /** The stand-in for an object or function, always the same one. */
  standIn<T extends object>(real: T, kind: Kind = 'call'): T {
    // Under each object its own stand-in is kept, and a stand-in has what the object has.
    const known = this.#standIns.get(real) as T | undefined
    if (known !== undefined) return known
    // A proxy must show some properties of its target as they are. This one has none of its own.
    const target = typeof real === 'function' ? () => {} : {}
    // It behaves as the real object does, and so is of its type.
    const standIn = new Proxy(target, new StandIn(this, { real, kind })) as T
    this.#standIns.set(real, standIn)
    origins.set(standIn, { real, guard: this })
    return standIn
  }

  /** What a property holds, as the app may see it. */
  ofProperty(value: unknown, kind: Kind): unknown {
    return isObject(value) && !isContainer(value) && !origins.has(value)
      ? this.standIn(value, kind)
      : value
  }

  /** What a call gave, as the app may see it. */
  ofResult(value: unknown): unknown {
    if (!isObject(value) || isData(value) || origins.has(value)) return value
    if ('next' in value) this.#iterators.add(value)
    return this.standIn(value, 'app')
  }

  /** Notes that an iterator has come to its end, if it has. */
  noteEnd(iterator: unknown, result: unknown): void {
    if (this.#iterators.size === 0 || !isObject(iterator) || !isObject(result)) return
    if ('done' in result && result.done === true) this.#iterators.delete(iterator)
  }

  endIterators(): void {
    for (const iterator of this.#iterators) {
      try {
        if ('return' in iterator && typeof iterator.return === 'function') iterator.return()
      } catch {
        // It is at its end for some other reason.
      }
    }
    this.#iterators.clear()
  }
}

/** How one stand-in behaves: as the real object, but for calls and changes, which ask first. */
class StandIn implements ProxyHandler<object> {
  readonly #guard: Guard
  readonly #real: object
  readonly #kind: Kind

  constructor(guard: Guard, { real, kind }: { readonly real: object; readonly kind: Kind }) {
    this.#guard = guard
    this.#real = real
    this.#kind = kind
  }

  apply(_: object, self: unknown, values: readonly unknown[]): unknown {
    const guard = this.#guard
    guard.check()
    // Only the stand-in of a function can be called.
    const real = this.#real as AnyFunction
    // The app's own function is given what the app gave, and never a real object.
    if (this.#kind === 'app') return Reflect.apply(real, self, values)
    const realSelf = realOf(self)
    const result: unknown = Reflect.apply(real, realSelf, values.map(realOf))
    guard.noteEnd(realSelf, result)
    return this.#kind === 'rows' ? result : guard.ofResult(result)
  }

  get(_: object, key: PropertyKey): unknown {
    const value: unknown = Reflect.get(this.#real, key, this.#real)
    return this.#shown(key, value)
  }

  set(_: object, key: PropertyKey, value: unknown): boolean {
    this.#guard.check()
    // The handle outlives this transaction, so it is given no stand-in.
    return Reflect.set(this.#real, key, realOf(value), this.#real)
  }

  has(_: object, key: PropertyKey): boolean {
    return Reflect.has(this.#real, key)
  }

  ownKeys(): (string | symbol)[] {
    return Reflect.ownKeys(this.#real)
  }

  getOwnPropertyDescriptor(_: object, key: PropertyKey): PropertyDescriptor | undefined {
    const found = Reflect.getOwnPropertyDescriptor(this.#real, key)
    if (found === undefined) return undefined
    const { enumerable = false } = found
    const value: unknown = Reflect.get(this.#real, key, this.#real)
    // The proxy's target lacks the property, so it has to be shown as one that may be removed.
    return { value: this.#shown(key, value), enumerable, writable: true, configurable: true }
  }

  defineProperty(_: object, key: PropertyKey, descriptor: PropertyDescriptor): boolean {
    this.#guard.check()
    return Reflect.defineProperty(this.#real, key, descriptor)
  }

  deleteProperty(_: object, key: PropertyKey): boolean {
    this.#guard.check()
    return Reflect.deleteProperty(this.#real, key)
  }

  getPrototypeOf(): object | null {
    return Reflect.getPrototypeOf(this.#real)
  }

  setPrototypeOf(): boolean {
    return false
  }

  preventExtensions(): boolean {
    return false
  }

  #shown(key: PropertyKey, value: unknown): unknown {
    // A class makes connections of its own and reaches none that is open.
    if (key === 'constructor') return value
    if (typeof this.#real === 'function') return this.#guard.ofProperty(value, 'app')
    return this.#guard.ofProperty(value, ROW_METHODS.has(key) ? 'rows' : 'call')
  }
}

function realOf(value: unknown): unknown {
  return isObject(value) ? (origins.get(value)?.real ?? value) : value
}

function isObject(value: unknown): value is object {
  return typeof value === 'function' || (typeof value === 'object' && value !== null)
}

/** Whether a value holds data only: rows, bytes, a date, or the promise of such. */
function isData(value: object): boolean {
  if (isContainer(value) || 'then' in value) return true
  if (typeof value === 'function') return false
  const prototype: unknown = Object.getPrototypeOf(value)
  const isPlain = prototype === null || Object.getPrototypeOf(prototype) === null
  return isPlain && Object.values(value).every((member) => typeof member !== 'function')
}

function isContainer(value: object): boolean {
  return (
    Array.isArray(value) ||
    ArrayBuffer.isView(value) ||
    value instanceof ArrayBuffer ||
    value instanceof Date
  )
}
