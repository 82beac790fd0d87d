/**
 * Covers members of an object for a while, and lifts the cover again without disturbing what others
 * have put on top of it in the meantime.
 *
 * It is done to every response, so it has to leave the object in the shape that the engine is fast
 * with: methods are assigned, and assigned back, instead of defined and deleted.
 *
 * @module
 */

/** Where a response has its first cover. */
const COVER: unique symbol = Symbol('reprise cover')

type Call = (...args: unknown[]) => unknown

type Members = Record<string, unknown> & { [COVER]?: Cover }

/** What acts in the place of the methods that every response has covered. */
export interface StandIn {
  act(name: CoveredName, args: unknown[]): unknown
}

/** How a member is read and assigned. */
interface Slot {
  readonly name: string
  read(members: Members): unknown
  write(members: Members, value: unknown): void
}

/** One that every response has covered, by the same function. */
interface SharedSlot extends Slot {
  readonly name: CoveredName
  readonly cover: Call
}

/** The methods by which a response is written. */
export type CoveredName =
  | 'writeHead'
  | 'writeHeader'
  | 'flushHeaders'
  | 'write'
  | 'end'
  | 'destroy'
  | 'cork'
  | 'uncork'

/**
 * Each by name: assigned by a name that is known only when it runs, they would turn the response into
 * a dictionary, which is slower.
 */
const SLOTS: readonly SharedSlot[] = [
  shared(0, 'writeHead', {
    read: (of) => of.writeHead,
    write: (of, to) => void (of.writeHead = to),
  }),
  shared(1, 'writeHeader', {
    read: (of) => of.writeHeader,
    write: (of, to) => void (of.writeHeader = to),
  }),
  shared(2, 'flushHeaders', {
    read: (of) => of.flushHeaders,
    write: (of, to) => void (of.flushHeaders = to),
  }),
  shared(3, 'write', { read: (of) => of.write, write: (of, to) => void (of.write = to) }),
  shared(4, 'end', { read: (of) => of.end, write: (of, to) => void (of.end = to) }),
  shared(5, 'destroy', { read: (of) => of.destroy, write: (of, to) => void (of.destroy = to) }),
  shared(6, 'cork', { read: (of) => of.cork, write: (of, to) => void (of.cork = to) }),
  shared(7, 'uncork', { read: (of) => of.uncork, write: (of, to) => void (of.uncork = to) }),
]

function shared(at: number, name: CoveredName, how: Pick<Slot, 'read' | 'write'>): SharedSlot {
  const cover = function (this: { readonly [COVER]: Cover }, ...args: unknown[]): unknown {
    return this[COVER].called(at, args)
  }
  return { name, ...how, cover }
}

function slotOf(name: string): Slot {
  const known = SLOTS.find((slot) => slot.name === name)
  return known ?? { name, read: (of) => of[name], write: (of, to) => void (of[name] = to) }
}

/** A method that is covered, and what covers it. */
interface CoveredMethod {
  readonly slot: Slot
  readonly original: Call
  readonly cover: Call
}

/** The covered members of one object. */
export class Cover {
  readonly #target: Members
  /** What acts for the methods of {@link SLOTS}, and what those are under the cover. */
  #standIn: StandIn | undefined
  #originals: unknown[] | undefined
  #methods: CoveredMethod[] | undefined
  /** What was there before, unless it came from the prototype. */
  #properties: Map<string, PropertyDescriptor | undefined> | undefined
  #isLifted = false

  constructor(target: object) {
    // Whatever it is, its members can be asked for.
    this.#target = target as Members
  }

  /**
   * Covers the methods by which a response is written. The first cover of a response takes no function
   * of its own for that: those that all responses share find it by the response. What they are kept by
   * would find another one, so a second cover has its own.
   */
  methods(standIn: StandIn): void {
    const target = this.#target
    if (COVER in target) {
      for (const { name } of SLOTS) this.method(name, (args) => standIn.act(name, args))
      return
    }
    target[COVER] = this
    this.#standIn = standIn
    this.#originals = []
    for (const slot of SLOTS) {
      const original = slot.read(target)
      this.#originals.push(original)
      if (isCall(original)) put(target, slot, slot.cover)
    }
  }

  /** One of the methods that all responses share was called. */
  called(at: number, args: unknown[]): unknown {
    const { name } = SLOTS[at] ?? {}
    if (!this.#isLifted && this.#standIn !== undefined && name !== undefined) {
      return this.#standIn.act(name, args)
    }
    // What is not callable was not covered.
    return Reflect.apply(this.#originals?.[at] as Call, this.#target, args)
  }

  /** Covers a method, if there is one. Whoever keeps the cover and calls it later gets the method. */
  method(name: string, replace: (args: unknown[]) => unknown): void {
    const slot = slotOf(name)
    const original = slot.read(this.#target)
    if (!isCall(original)) return
    const cover: Call = (...args) =>
      this.#isLifted ? Reflect.apply(original, this.#target, args) : replace(args)
    this.#methods ??= []
    this.#methods.push({ slot, original, cover })
    put(this.#target, slot, cover)
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
  isCoveredAgain(name: CoveredName): boolean {
    const slot = slotOf(name)
    const own = this.#methods?.find((one) => one.slot === slot)?.cover
    return slot.read(this.#target) !== (own ?? SLOTS.find((one) => one === slot)?.cover)
  }

  /** Calls a method as it was under the cover. */
  call(name: string, args: readonly unknown[]): unknown {
    const method = this.#original(name)
    if (!isCall(method)) throw new TypeError(`${name} is not a method`)
    return Reflect.apply(method, this.#target, args)
  }

  #original(name: string): unknown {
    const covered = this.#methods?.find(({ slot }) => slot.name === name)
    if (covered !== undefined) return covered.original
    const at = SLOTS.findIndex((slot) => slot.name === name)
    return this.#originals?.[at] ?? Reflect.get(this.#target, name)
  }

  /** Brings the members back. */
  lift(): void {
    if (this.#isLifted) return
    this.#isLifted = true
    const target = this.#target
    for (const [name, own] of this.#properties ?? []) {
      if (own !== undefined) Object.defineProperty(target, name, own)
    }
    for (const { slot, original, cover } of this.#methods ?? []) {
      if (slot.read(target) === cover) put(target, slot, original)
    }
    if (this.#originals === undefined) return
    for (let at = 0; at < SLOTS.length; at++) {
      const slot = SLOTS[at]
      if (slot !== undefined && slot.read(target) === slot.cover) {
        put(target, slot, this.#originals[at])
      }
    }
  }
}

/** Assigns a method, which is many times as fast as to define it, where nobody has forbidden it. */
function put(target: Members, slot: Slot, value: unknown): void {
  try {
    slot.write(target, value)
  } catch {
    // It can only be defined.
  }
  if (slot.read(target) === value) return
  Object.defineProperty(target, slot.name, { value, configurable: true, writable: true })
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
