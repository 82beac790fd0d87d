/**
 * Query objects of the app's own, such as cursors and streams, on a connection of `pg`.
 *
 * Such an object is given the protocol below the connection when its turn comes, and keeps it: a cursor
 * asks for its next rows on it. And it has the connection for itself until it is told that it is done: a
 * cursor that is neither read to its end nor closed holds up every statement behind it. So it gets a
 * stand-in for the protocol, and where it is still open when the app's access ends, it is ended here.
 *
 * @module
 */

import type { TransactionAccess } from '../../../engine/transaction-access.ts'
import { isProtocol } from './pg-protocol.ts'
import { StandIn } from './stand-in.ts'

/** A query that the app has made: a cursor, a stream. */
export interface Submittable {
  submit(protocol: object): unknown
  handleError?(error: unknown, protocol: unknown): void
}

/** Whether `query()` was given one. */
export function isSubmittable(config: unknown): config is Submittable {
  if (typeof config !== 'object' || config === null) return false
  return typeof Reflect.get(config, 'submit') === 'function'
}

type Method = (...values: readonly unknown[]) => unknown

/** Messages after which the server says that it is ready, so that the next statement has its turn. */
const ENDING: ReadonlySet<PropertyKey> = new Set(['sync', 'query'])

/** The protocol as a query object has it. */
class SubmittedProtocol extends StandIn<object> {
  /** Whether `pg` is calling the query: what it sends then is its answer to the server. */
  isCalled = false
  /** Whether it has asked the server to be ready for the next statement. */
  isEnding = false

  protected override mayCall(name: PropertyKey): void {
    if (!this.isCalled) super.mayCall(name)
    if (ENDING.has(name)) this.isEnding = true
  }
}

/** A query object on its way; {@link PgSubmitted.proxy} is what `pg` is handed in its place. */
export class PgSubmitted implements ProxyHandler<Submittable> {
  readonly proxy: Submittable
  readonly #query: Submittable
  readonly #access: TransactionAccess
  readonly #answered: () => void
  readonly #fault: () => unknown
  /** The protocol, once it was given it. */
  #protocol: SubmittedProtocol | undefined
  /** Whether its turn has come. */
  #isSubmitted = false
  /** Whether it was told that the transaction is over. */
  #isEnded = false
  #isDone = false

  constructor(query: Submittable, access: TransactionAccess, fault: () => unknown) {
    this.#query = query
    this.#access = access
    this.#fault = fault
    this.#answered = access.begin()
    this.proxy = new Proxy(query, this)
    access.onEnd(() => this.#end())
  }

  get(query: Submittable, name: PropertyKey): unknown {
    const value: unknown = Reflect.get(query, name)
    if (typeof value !== 'function') return value
    if (name === 'submit') return (protocol: object) => this.#submit(protocol)
    if (typeof name !== 'string' || !name.startsWith('handle')) return value
    // Whatever it takes, it is only handed on.
    return (...values: readonly unknown[]) => this.#handle(name, value as Method, values)
  }

  set(query: Submittable, name: PropertyKey, value: unknown): boolean {
    return Reflect.set(query, name, value)
  }

  #submit(own: object): unknown {
    // An error that is returned is what `pg` then tells the query.
    if (this.#access.isEnded) return this.#fault()
    this.#isSubmitted = true
    const { proxy } = this.#protocolOf(own)
    return this.#calling(() => this.#query.submit(proxy))
  }

  /** Passes on what the server said. */
  #handle(name: string, method: Method, values: readonly unknown[]): unknown {
    const isLast = name === 'handleReadyForQuery' || name === 'handleError'
    try {
      if (this.#isEnded) return undefined
      const given = values.map((value) => {
        const isOwn = typeof value === 'object' && value !== null && isProtocol(value)
        return isOwn ? this.#protocolOf(value).proxy : value
      })
      return this.#calling(() => Reflect.apply(method, this.#query, given))
    } finally {
      if (isLast) this.#done()
    }
  }

  #protocolOf(own: object): SubmittedProtocol {
    return (this.#protocol ??= new SubmittedProtocol(own, this.#access))
  }

  #calling<T>(run: () => T): T {
    const protocol = this.#protocol
    if (protocol === undefined) return run()
    const wasCalled = protocol.isCalled
    protocol.isCalled = true
    try {
      return run()
    } finally {
      protocol.isCalled = wasCalled
    }
  }

  /** The app's access has ended. What is about to end by itself is waited for. */
  #end(): void {
    const protocol = this.#protocol
    if (this.#isDone || !this.#isSubmitted || !protocol || protocol.isEnding) return
    this.#isEnded = true
    try {
      // A cursor takes this for an answer of the server, and asks it to be ready.
      this.#calling(() => this.#query.handleError?.(this.#fault(), protocol.proxy))
    } catch {
      // Nobody listens for its errors.
    }
    if (!protocol.isEnding) this.#calling(() => sync(protocol.proxy))
  }

  #done(): void {
    this.#isDone = true
    this.#answered()
  }
}

function sync(protocol: object): void {
  const method: unknown = Reflect.get(protocol, 'sync')
  if (typeof method === 'function') method()
}
