/**
 * Two sides of one Node response: that of the handler, and that of the middleware in front.
 *
 * When a middleware in front answers while the handler works, its answer goes to the client. The
 * handler has the same response in hand and goes on. From then on its calls go to a response that leads
 * nowhere, so that its own answer can be stored; and it sees none of what was sent.
 *
 * @module
 */

import { ServerResponse } from 'node:http'
import type { Header } from '../core/response.ts'
import type { HandlerContext } from './handler-context.ts'
import { type HeldCall, invoke, noop } from './node-calls.ts'
import { Cover } from './node-cover.ts'
import { headersOf, setHeaders } from './node-head.ts'
import { nowhere } from './node-stage.ts'

/** The calls by which the headers of a response are changed. */
const HEADER_METHODS = ['setHeader', 'setHeaders', 'appendHeader', 'removeHeader']

/**
 * A property that two sides share until one of them differs: what the handler assigns both see, what is
 * assigned in front is kept from the handler.
 */
export class TwoSidedProperty {
  readonly #target: object
  readonly #name: string
  /** What the handler sees. */
  own: unknown
  /** Whether the handler has assigned anything. */
  isOwn = false
  #shared: unknown

  constructor(target: object, name: string, handler: HandlerContext) {
    this.#target = target
    this.#name = name
    this.own = Reflect.get(target, name)
    this.#shared = this.own
    const prototype: object = Object.getPrototypeOf(target)
    // A response of HTTP/2 checks what is assigned.
    const isChecked = hasSetter(prototype, name)
    Object.defineProperty(target, name, {
      configurable: true,
      enumerable: true,
      get: () => (handler.isCurrent ? this.own : this.#shared),
      set: (value: unknown) => {
        if (isChecked) Reflect.set(prototype, name, value, target)
        if (!handler.isForeign) {
          this.isOwn = true
          this.own = value
        }
        this.#shared = value
      },
    })
  }

  /** Has the handler see what was assigned last, by whomever. */
  join(): void {
    this.own = this.#shared
  }

  /** Makes it a plain property again, with what was assigned last. */
  lift(): void {
    Reflect.deleteProperty(this.#target, this.#name)
    Reflect.set(this.#target, this.#name, this.#shared)
  }
}

/** The head of a response at some moment. */
export interface Head {
  readonly status: number
  readonly headers: readonly Header[]
}

/** The head that a response has now. */
export function headNow(response: ServerResponse): Head {
  return { status: response.statusCode, headers: headersOf(response) }
}

/** What of the head of a response the handler itself has set. */
export class HandlerHead {
  readonly #response: ServerResponse
  readonly #cover: Cover
  readonly #status: TwoSidedProperty
  readonly #before: Head
  readonly #calls: HeldCall[] = []
  #isLifted = false

  /** @param before - the head with which the handler begins */
  constructor(response: ServerResponse, handler: HandlerContext, before: Head) {
    this.#response = response
    this.#before = before
    this.#status = new TwoSidedProperty(response, 'statusCode', handler)
    this.#status.own = before.status
    this.#cover = new Cover(response)
    for (const name of HEADER_METHODS) {
      this.#cover.method(name, (args) => {
        if (!handler.isForeign) this.#calls.push([name, args])
        return this.#cover.call(name, args)
      })
    }
  }

  /** Has the handler see the status that was set last, by whomever. */
  join(): void {
    this.#status.join()
  }

  /** Leaves the response as it is. */
  lift(): void {
    if (this.#isLifted) return
    this.#isLifted = true
    this.#cover.lift()
    this.#status.lift()
  }

  /** A response that leads nowhere, with the head as the handler knows it. */
  shadow(): ServerResponse {
    const response = this.#response
    const shadow = new ServerResponse(response.req)
    shadow.assignSocket(nowhere())
    if (response instanceof ServerResponse) {
      // Frameworks have methods of their own there.
      Object.setPrototypeOf(shadow, Object.getPrototypeOf(response))
    }
    for (const name of Object.keys(response)) {
      if (!(name in shadow)) Reflect.set(shadow, name, Reflect.get(response, name))
    }
    // A handler may write after its end, and nobody listens to this response.
    shadow.on('error', noop)
    for (const listener of response.rawListeners('error')) {
      shadow.on('error', (...args) => Reflect.apply(listener, shadow, args))
    }
    setHeaders(shadow, this.#before.headers)
    // A number: nothing else can be assigned to it.
    shadow.statusCode = this.#status.own as number
    for (const [name, args] of this.#calls) invoke(shadow, name, args)
    return shadow
  }
}

/** Has the handler's calls go to `shadow`; everybody else has the response itself. */
export function separateSides(response: object, shadow: object, handler: HandlerContext): void {
  for (const key of keysOf(response)) {
    const own = Object.getOwnPropertyDescriptor(response, key)
    if (own?.configurable === false) continue
    const prototype: object = Object.getPrototypeOf(response)
    let value: unknown = own?.value
    let isOwn = own !== undefined && 'value' in own
    Object.defineProperty(response, key, {
      configurable: true,
      enumerable: own?.enumerable ?? false,
      get: () => {
        if (handler.isCurrent) return boundTo(shadow, Reflect.get(shadow, key))
        if (isOwn) return value
        return own?.get === undefined
          ? Reflect.get(prototype, key, response)
          : Reflect.apply(own.get, response, [])
      },
      set: (to: unknown) => {
        if (handler.isCurrent) {
          Reflect.set(shadow, key, to)
        } else if (own?.set !== undefined) {
          Reflect.apply(own.set, response, [to])
        } else if (isOwn || !hasSetter(prototype, key)) {
          isOwn = true
          value = to
        } else {
          Reflect.set(prototype, key, to, response)
        }
      },
    })
  }
}

/** A method of the shadow, which is called on the response. */
function boundTo(shadow: object, value: unknown): unknown {
  if (typeof value !== 'function') return value
  return (...args: unknown[]) => Reflect.apply(value, shadow, args)
}

function hasSetter(prototype: object | null, key: PropertyKey): boolean {
  for (let one = prototype; one !== null; one = Object.getPrototypeOf(one)) {
    const found = Object.getOwnPropertyDescriptor(one, key)
    if (found !== undefined) return found.set !== undefined
  }
  return false
}

/** Every member of an object but those that all objects have. */
function keysOf(target: object): ReadonlySet<string | symbol> {
  const keys = new Set<string | symbol>()
  for (
    let one: object | null = target;
    one !== null && one !== Object.prototype;
    one = Object.getPrototypeOf(one)
  ) {
    for (const key of Reflect.ownKeys(one)) keys.add(key)
  }
  keys.delete('constructor')
  return keys
}
