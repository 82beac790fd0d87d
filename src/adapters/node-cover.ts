/**
 * Covers members of an object for a while, and lifts the cover again without disturbing what others
 * have put on top of it in the meantime.
 *
 * @module
 */

type Call = (...args: unknown[]) => unknown

/** The covered members of one object. */
export class Cover {
  readonly #target: object
  readonly #covers = new Map<string, PropertyDescriptor>()
  /** Own members that were there before; what came from the prototype comes back by itself. */
  readonly #own = new Map<string, PropertyDescriptor>()
  readonly #originals = new Map<string, Call>()
  #isLifted = false

  constructor(target: object) {
    this.#target = target
  }

  /** Whether the members are as they were. */
  get isLifted(): boolean {
    return this.#isLifted
  }

  /** Covers a method, if there is one. Whoever keeps the cover and calls it later gets the method. */
  method(name: string, replace: (args: unknown[]) => unknown): void {
    const original: unknown = Reflect.get(this.#target, name)
    if (!isCall(original)) return
    this.#originals.set(name, original)
    const value: Call = (...args) => (this.#isLifted ? this.call(name, args) : replace(args))
    this.#put(name, { value, configurable: true, writable: true })
  }

  /** Covers a property. What others set it to meanwhile is there when the cover is lifted. */
  property(name: string, get: () => unknown): void {
    const set = (value: unknown) => {
      const own = this.#own.get(name)
      if (own !== undefined && 'value' in own) own.value = value
    }
    this.#put(name, { get, set, configurable: true })
  }

  /** Calls a method as it was under the cover. */
  call(name: string, args: readonly unknown[]): unknown {
    const method: unknown = this.#originals.get(name) ?? Reflect.get(this.#target, name)
    if (!isCall(method)) throw new TypeError(`${name} is not a method`)
    return Reflect.apply(method, this.#target, args)
  }

  /** Brings the members back. */
  lift(): void {
    if (this.#isLifted) return
    this.#isLifted = true
    for (const [name, cover] of this.#covers) {
      const current = Reflect.getOwnPropertyDescriptor(this.#target, name)
      if (current?.value !== cover.value || current?.get !== cover.get) continue
      const own = this.#own.get(name)
      if (own === undefined) Reflect.deleteProperty(this.#target, name)
      else Object.defineProperty(this.#target, name, own)
    }
  }

  #put(name: string, cover: PropertyDescriptor): void {
    const own = Reflect.getOwnPropertyDescriptor(this.#target, name)
    if (own !== undefined) this.#own.set(name, own)
    this.#covers.set(name, cover)
    Object.defineProperty(this.#target, name, cover)
  }
}

function isCall(value: unknown): value is Call {
  return typeof value === 'function'
}
