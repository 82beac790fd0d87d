/**
 * Covers members of an object for a while, and lifts the cover again without disturbing what others
 * have put on top of it in the meantime.
 *
 * @module
 */

type Call = (...args: unknown[]) => unknown

/** A member that is covered. This is done for every request, so it takes few and cheap steps. */
interface Covered {
  readonly name: string
  readonly cover: PropertyDescriptor
  /** An own member that was there before; what came from the prototype comes back by itself. */
  readonly own: PropertyDescriptor | undefined
  /** The method under the cover. */
  readonly original: Call | undefined
}

/** The covered members of one object. */
export class Cover {
  readonly #target: Record<string, unknown>
  readonly #covered = new Map<string, Covered>()
  #isLifted = false

  constructor(target: object) {
    // Members are asked for by name, and what is found is looked at before it is used.
    this.#target = target as Record<string, unknown>
  }

  /** Whether the members are as they were. */
  get isLifted(): boolean {
    return this.#isLifted
  }

  /** Covers a method, if there is one. Whoever keeps the cover and calls it later gets the method. */
  method(name: string, replace: (args: unknown[]) => unknown): void {
    const original = this.#target[name]
    if (!isCall(original)) return
    const value: Call = (...args) => (this.#isLifted ? this.call(name, args) : replace(args))
    const own = this.#ownOf(name)
    this.#put({ name, cover: { value, configurable: true, writable: true }, own, original })
  }

  /** Covers a property. What others set it to meanwhile is there when the cover is lifted. */
  property(name: string, get: () => unknown): void {
    const own = this.#ownOf(name)
    const set = (value: unknown) => {
      if (own !== undefined && 'value' in own) own.value = value
    }
    this.#put({ name, cover: { get, set, configurable: true }, own, original: undefined })
  }

  /** Calls a method as it was under the cover. */
  call(name: string, args: readonly unknown[]): unknown {
    const method: unknown = this.#covered.get(name)?.original ?? this.#target[name]
    if (!isCall(method)) throw new TypeError(`${name} is not a method`)
    return Reflect.apply(method, this.#target, args)
  }

  /** Brings the members back. */
  lift(): void {
    if (this.#isLifted) return
    this.#isLifted = true
    for (const { name, cover, own } of this.#covered.values()) {
      if (!this.#isOnTop(name, cover)) continue
      if (own === undefined) delete this.#target[name]
      else Object.defineProperty(this.#target, name, own)
    }
  }

  /** Whether nobody has put anything in the place of a cover. */
  #isOnTop(name: string, cover: PropertyDescriptor): boolean {
    if (cover.get === undefined) return this.#target[name] === cover.value
    return Reflect.getOwnPropertyDescriptor(this.#target, name)?.get === cover.get
  }

  #ownOf(name: string): PropertyDescriptor | undefined {
    // To ask whether there is one is far cheaper than to have none described.
    if (!Object.hasOwn(this.#target, name)) return undefined
    return Reflect.getOwnPropertyDescriptor(this.#target, name)
  }

  #put(covered: Covered): void {
    this.#covered.set(covered.name, covered)
    Object.defineProperty(this.#target, covered.name, covered.cover)
  }
}

function isCall(value: unknown): value is Call {
  return typeof value === 'function'
}
