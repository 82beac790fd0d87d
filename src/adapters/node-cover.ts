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

/** The covered members of one object. */
export class Cover {
  readonly #target: object
  readonly #methods: CoveredMethod[] = []
  /** What was there before, unless it came from the prototype. */
  readonly #properties = new Map<string, PropertyDescriptor | undefined>()
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

  /**
   * Covers a property, once. What others set it to meanwhile is there when the cover is lifted. One
   * that comes from the prototype is left covered then and shows what the prototype says: to take it
   * off would cost more.
   */
  property(name: string, cover: () => unknown): void {
    if (this.#properties.has(name)) return
    const target = this.#target
    const own = Reflect.getOwnPropertyDescriptor(target, name)
    this.#properties.set(name, own)
    const under = (): object => Object.getPrototypeOf(target)
    Object.defineProperty(target, name, {
      configurable: true,
      get: () => (this.#isLifted ? Reflect.get(under(), name, target) : cover()),
      set: (value: unknown) => {
        if (own !== undefined && 'value' in own) own.value = value
        else if (this.#isLifted) Reflect.set(under(), name, value, target)
      },
    })
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
    for (const [name, own] of this.#properties) {
      if (own !== undefined) Object.defineProperty(this.#target, name, own)
    }
    for (const { name, original, cover } of this.#methods) {
      if (Reflect.get(this.#target, name) === cover) put(this.#target, name, original)
    }
  }
}

/** Assigns a method, which is many times as fast as to define it, where nobody has forbidden it. */
function put(target: object, name: string, value: Call): void {
  // Whatever it is, its members can be asked for.
  const members = target as Record<string, unknown>
  try {
    members[name] = value
  } catch {
    // It can only be defined.
  }
  if (members[name] === value) return
  Object.defineProperty(target, name, { value, configurable: true, writable: true })
}

function isCall(value: unknown): value is Call {
  return typeof value === 'function'
}
