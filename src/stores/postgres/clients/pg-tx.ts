/**
 * A connection of `pg` as the app's code is given it: a stand-in that works like the connection until
 * the handler has ended, and refuses everything from then on. The connection itself serves another
 * request by then.
 *
 * Statements are refused in the form in which `pg` would answer them: by a promise, a callback, or the
 * error of a query object. What leads further, such as the protocol below the connection and the one
 * that a cursor keeps, has a stand-in as well.
 *
 * @module
 */

import { TRANSACTION_OVER } from '../../../core/error-table.ts'
import { RepriseError } from '../../../core/errors.ts'
import type { TransactionAccess } from '../../../engine/transaction-access.ts'
import { isSubmittable, PgSubmitted, type Submittable } from './pg-submitted.ts'
import { StandIn } from './stand-in.ts'

/** What the stand-in is made of. */
export interface PgTxParts {
  /** The app's access, which the stand-in asks before everything. */
  readonly access: TransactionAccess
  /** Executes what `query()` was given, which counts as under way until it is answered. */
  query(args: readonly unknown[]): unknown
  /** What statements are refused with, if not because the transaction is over. */
  fault?(): unknown
  /** The app's code has released the connection, which stays in use; `isBroken` as it was told. */
  released(isBroken: boolean): void
}

/** Makes the stand-in for `connection`. */
export function pgTx<Tx extends object>(connection: Tx, parts: PgTxParts): Tx {
  return new PgTx(connection, parts).proxy
}

type Callback = (...values: readonly unknown[]) => unknown

/** Members that add a listener, and whether at the front and for one time only. */
const LISTENING: ReadonlyMap<PropertyKey, { method: string; isOnce: boolean }> = new Map([
  ['on', { method: 'on', isOnce: false }],
  ['addListener', { method: 'on', isOnce: false }],
  ['once', { method: 'on', isOnce: true }],
  ['prependListener', { method: 'prependListener', isOnce: false }],
  ['prependOnceListener', { method: 'prependListener', isOnce: true }],
])

class PgTx<Tx extends object> extends StandIn<Tx> {
  readonly #parts: PgTxParts
  /** Made once: `tx.query` is the same function each time. */
  readonly #query = (...args: readonly unknown[]): unknown => this.#send(args)
  #protocol: object | undefined
  /** Listeners of the app's, which leave the connection with it. */
  #listeners: [event: unknown, listener: Callback][] | undefined

  constructor(connection: Tx, parts: PgTxParts) {
    super(connection, parts.access)
    this.#parts = parts
  }

  protected override member(name: PropertyKey): unknown {
    switch (name) {
      case 'query':
        return this.#query
      case 'release':
        return (error?: unknown) => this.#parts.released(Boolean(error))
      case 'connection':
        return this.#connection()
      case 'removeAllListeners':
        return (...events: readonly unknown[]) => this.#forget(events)
    }
    const listening = LISTENING.get(name)
    if (listening === undefined) return super.member(name)
    return (event: unknown, listener: Callback) => this.#listen(event, listener, listening)
  }

  #connection(): unknown {
    const protocol: unknown = Reflect.get(this.target, 'connection')
    if (typeof protocol !== 'object' || protocol === null) return protocol
    return (this.#protocol ??= new StandIn(protocol, this.#parts.access).proxy)
  }

  #send(args: readonly unknown[]): unknown {
    const { access } = this.#parts
    if (access.isEnded) return refuse(args, this.#fault(), this.#connection())
    const [config] = args
    if (isSubmittable(config)) return this.#submit(config, args)
    const answered = access.begin()
    try {
      const callback = callbackOf(args)
      if (callback !== undefined) return this.#parts.query(calling(args, callback, answered))
      const answer = this.#parts.query(args)
      if (isThenable(answer)) answer.then(answered, answered)
      else answered()
      return answer
    } catch (error) {
      answered()
      throw error
    }
  }

  /** Sends a query object of the app's, such as a cursor, which may go on using the connection. */
  #submit(query: Submittable, [, ...rest]: readonly unknown[]): Submittable {
    const { access } = this.#parts
    const submitted = new PgSubmitted(query, access, () => this.#fault())
    this.#parts.query([submitted.proxy, ...rest])
    return query
  }

  #fault(): unknown {
    return this.#parts.fault?.() ?? new RepriseError(TRANSACTION_OVER)
  }

  /** The listener is called on the stand-in, never on the connection. */
  #listen(
    event: unknown,
    listener: Callback,
    { method, isOnce }: { method: string; isOnce: boolean },
  ): Tx {
    this.#parts.access.check()
    const remove = () => call(this.target, 'removeListener', [event, heard])
    const heard = (...values: readonly unknown[]) => {
      if (isOnce) remove()
      return Reflect.apply(listener, this.proxy, values)
    }
    // By this member `removeListener` knows it again.
    heard.listener = listener
    call(this.target, method, [event, typeof listener === 'function' ? heard : listener])
    if (this.#listeners === undefined) {
      this.#listeners = []
      this.#parts.access.onEnd(() => this.#forget([]))
    }
    this.#listeners.push([event, heard])
    return this.proxy
  }

  /** Removes the app's own listeners: others on the connection are not its to remove. */
  #forget(events: readonly unknown[]): Tx {
    const listeners = this.#listeners ?? []
    const isMeant = ([event]: (typeof listeners)[number]) =>
      events.length === 0 || events.includes(event)
    for (const [event, listener] of listeners.filter(isMeant)) {
      call(this.target, 'removeListener', [event, listener])
    }
    if (this.#listeners !== undefined) {
      this.#listeners = listeners.filter((listening) => !isMeant(listening))
    }
    return this.proxy
  }
}

function call(target: object, name: string, values: readonly unknown[]): void {
  // Only members of an event emitter are called so, which every connection of `pg` is.
  const method = Reflect.get(target, name) as Callback
  Reflect.apply(method, target, values)
}

/** Answers a statement that is not sent, in the form in which `pg` would answer it. */
export function refuse(args: readonly unknown[], fault: unknown, protocol: unknown): unknown {
  const [first] = args
  const callback = callbackOf(args)
  if (callback !== undefined) process.nextTick(callback, fault)
  else if (isSubmittable(first)) process.nextTick(() => first.handleError?.(fault, protocol))
  else return reject(fault)
  return isSubmittable(first) ? first : undefined
}

async function reject(fault: unknown): Promise<never> {
  throw fault
}

/** The callback in the arguments of `query()`, if there is one. */
export function callbackOf([config, ...rest]: readonly unknown[]): Callback | undefined {
  const own: unknown =
    typeof config === 'object' && config !== null ? Reflect.get(config, 'callback') : undefined
  return [...rest, own].find((one): one is Callback => typeof one === 'function')
}

/** The same arguments, by which `answered` is called before the callback is. */
function calling(
  args: readonly unknown[],
  callback: Callback,
  answered: () => void,
): readonly unknown[] {
  const heard = (...values: readonly unknown[]) => {
    answered()
    return callback(...values)
  }
  if (args.includes(callback)) return args.map((one) => (one === callback ? heard : one))
  const [config, ...rest] = args
  // It is in the config, which belongs to the app: a copy, made as `pg` makes its own.
  const own = Object.getOwnPropertyDescriptors(config)
  const copy: object = Object.create(Reflect.getPrototypeOf(Object(config)), own)
  Object.defineProperty(copy, 'callback', { value: heard, configurable: true, writable: true })
  return [copy, ...rest]
}

function isThenable(value: unknown): value is PromiseLike<unknown> {
  return typeof value === 'object' && value !== null && 'then' in value
}
