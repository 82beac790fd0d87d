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

type Members = Record<string, unknown>

/** How a member is read and assigned. */
interface Slot {
  read(members: Members): unknown
  write(members: Members, value: unknown): void
}

/**
 * The members that every response has covered, each by name: assigned by a name that is known only
 * when it runs, they would turn the response into a dictionary, which is slower.
 */
const SLOTS: ReadonlyMap<string, Slot> = new Map([
  ['writeHead', { read: (of) => of.writeHead, write: (of, to) => void (of.writeHead = to) }],
  ['writeHeader', { read: (of) => of.writeHeader, write: (of, to) => void (of.writeHeader = to) }],
  [
    'flushHeaders',
    { read: (of) => of.flushHeaders, write: (of, to) => void (of.flushHeaders = to) },
  ],
  ['write', { read: (of) => of.write, write: (of, to) => void (of.write = to) }],
  ['end', { read: (of) => of.end, write: (of, to) => void (of.end = to) }],
  ['destroy', { read: (of) => of.destroy, write: (of, to) => void (of.destroy = to) }],
  ['cork', { read: (of) => of.cork, write: (of, to) => void (of.cork = to) }],
  ['uncork', { read: (of) => of.uncork, write: (of, to) => void (of.uncork = to) }],
])

function slotOf(name: string): Slot {
  const read = (of: Members): unknown => of[name]
  return SLOTS.get(name) ?? { read, write: (of, to) => void (of[name] = to) }
}

/** A method that is covered, and what covers it. */
interface CoveredMethod {
  readonly name: string
  readonly slot: Slot
  readonly original: Call
  readonly cover: Call
}

/** The covered members of one object. */
export class Cover {
  readonly #target: Members
  readonly #methods: CoveredMethod[] = []
  /** What was there before, unless it came from the prototype. */
  #properties: Map<string, PropertyDescriptor | undefined> | undefined
  #isLifted = false

  constructor(target: object) {
    // Whatever it is, its members can be asked for.
    this.#target = target as Members
  }

  /** Covers a method, if there is one. Whoever keeps the cover and calls it later gets the method. */
  method(name: string, replace: (args: unknown[]) => unknown): void {
    const slot = slotOf(name)
    const original = slot.read(this.#target)
    if (!isCall(original)) return
    const cover: Call = (...args) =>
      this.#isLifted ? Reflect.apply(original, this.#target, args) : replace(args)
    const method = { name, slot, original, cover }
    this.#methods.push(method)
    put(this.#target, method, cover)
  }

  /**
   * Covers a property, once. What others set it to meanwhile is there when the cover is lifted. One
   * that comes from the prototype is left covered then and shows what the prototype says: to take it
   * off would cost more.
   */
  property(name: string, cover: () => unknown): void {
    this.#properties ??= new Map()
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
    for (const [name, own] of this.#properties ?? []) {
      if (own !== undefined) Object.defineProperty(this.#target, name, own)
    }
    for (const method of this.#methods) {
      const { slot, original, cover } = method
      if (slot.read(this.#target) === cover) put(this.#target, method, original)
    }
  }
}

/** Assigns a method, which is many times as fast as to define it, where nobody has forbidden it. */
function put(target: Members, { name, slot }: CoveredMethod, value: Call): void {
  try {
    slot.write(target, value)
  } catch {
    // It can only be defined.
  }
  if (slot.read(target) === value) return
  Object.defineProperty(target, name, { value, configurable: true, writable: true })
}

function isCall(value: unknown): value is Call {
  return typeof value === 'function'
}

/**
 * Makes a response whose prototype was exchanged, as Express does to each, quick to cover. V8 gives
 * such an object a hidden class of its own, and another with each member that is added, and nothing
 * that it learns about one request serves for the next. Made a dictionary once, it is no slower than
 * any other response of Express.
 *
 * @param member - one that it has of its own, which comes to stand behind the others
 */
export function soften(target: object, member: string): void {
  const own = Object.getOwnPropertyDescriptor(target, member)
  if (own === undefined || !Reflect.deleteProperty(target, member)) return
  Object.defineProperty(target, member, own)
}
