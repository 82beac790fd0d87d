/**
 * Covers members of an object for a while, and lifts the cover again without disturbing what others
 * have put on top of it in the meantime.
 *
 * It is done to every response, so it has to leave the object in the shape that the engine is fast
 * with: methods are assigned, and assigned back, instead of defined and deleted.
 *
 * @module
 */

type Call = (...args: unknown[]) => unknown

/** A method that is covered, and what covers it. */
interface CoveredMethod {
  readonly name: string
  readonly original: Call
  readonly cover: Call
}

/** A property that is covered, and what was there. */
interface CoveredProperty {
  readonly name: string
  readonly get: () => unknown
  readonly own: PropertyDescriptor
}

/** The covered members of one object. */
export class Cover {
  readonly #target: object
  readonly #methods: CoveredMethod[] = []
  readonly #properties: CoveredProperty[] = []
  #isLifted = false

  constructor(target: object) {
    this.#target = target
  }

  /** Covers a method, if there is one. Whoever keeps the cover and calls it later gets the method. */
  method(name: string, replace: (args: unknown[]) => unknown): void {
    const original: unknown = Reflect.get(this.#target, name)
    if (!isCall(original)) return
    const cover: Call = (...args) =>
      this.#isLifted ? Reflect.apply(original, this.#target, args) : replace(args)
    this.#methods.push({ name, original, cover })
    put(this.#target, name, cover)
  }

  /** Covers a property. What others set it to meanwhile is there when the cover is lifted. */
  property(name: string, get: () => unknown): void {
    const own = Reflect.getOwnPropertyDescriptor(this.#target, name)
    if (own === undefined) return this.#inherited(name, get)
    const set = (value: unknown) => {
      if ('value' in own) own.value = value
    }
    this.#properties.push({ name, get, own })
    Object.defineProperty(this.#target, name, { get, set, configurable: true })
  }

  /** Lifted, it shows what the prototype says: to take it off would cost more than to leave it. */
  #inherited(name: string, cover: () => unknown): void {
    const target = this.#target
    const get = (): unknown => {
      return this.#isLifted ? Reflect.get(Object.getPrototypeOf(target), name, target) : cover()
    }
    const set = (value: unknown): void => {
      if (this.#isLifted) Reflect.set(Object.getPrototypeOf(target), name, value, target)
    }
    Object.defineProperty(target, name, { get, set, configurable: true })
  }

  /** Whether somebody has put something over the cover of a method. */
  isCoveredAgain(name: string): boolean {
    const { cover } = this.#methods.find((one) => one.name === name) ?? {}
    return Reflect.get(this.#target, name) !== cover
  }

  /** Calls a method as it was under the cover. */
  call(name: string, args: readonly unknown[]): unknown {
    const covered = this.#methods.find((one) => one.name === name)
    const method: unknown = covered?.original ?? Reflect.get(this.#target, name)
    if (!isCall(method)) throw new TypeError(`${name} is not a method`)
    return Reflect.apply(method, this.#target, args)
  }

  /** Brings the members back. */
  lift(): void {
    if (this.#isLifted) return
    this.#isLifted = true
    for (const { name, get, own } of this.#properties) {
      const isOurs = Reflect.getOwnPropertyDescriptor(this.#target, name)?.get === get
      if (isOurs) Object.defineProperty(this.#target, name, own)
    }
    for (const { name, original, cover } of this.#methods) {
      if (Reflect.get(this.#target, name) === cover) put(this.#target, name, original)
    }
  }
}

/** Assigns a method, or defines it where somebody has forbidden to assign it. */
function put(target: object, name: string, value: Call): void {
  if (Reflect.set(target, name, value) && Reflect.get(target, name) === value) return
  Object.defineProperty(target, name, { value, configurable: true, writable: true })
}

function isCall(value: unknown): value is Call {
  return typeof value === 'function'
}
