/**
 * Two sides of one context of Hono: that of the handler, and that of the middleware in front.
 *
 * Hono has one `c.res` for all. When a middleware in front answers while the handler works, as
 * `hono/timeout` does, Hono drops what the handler answers later. So for as long as the handler works,
 * what is assigned in front goes to the client and is kept from the handler.
 *
 * @module
 */

import type { Context } from 'hono'
import type { HandlerContext } from './handler-context.ts'

/** The members of a context that are covered. */
type Covered = Pick<Context, 'res' | 'finalized' | 'header'>

/** What a middleware in front sees, and assigns, while the handler works. */
export class HonoSides {
  readonly #c: Context
  readonly #handler: HandlerContext
  /** What becomes of a response that is assigned in front. */
  readonly #onEarly: (response: Response) => Response
  #finalized: boolean
  #early: Response | undefined

  constructor(c: Context, handler: HandlerContext, onEarly: (response: Response) => Response) {
    this.#c = c
    this.#handler = handler
    this.#onEarly = onEarly
    this.#finalized = c.finalized
    this.#cover()
  }

  /** Whether a middleware in front has answered. */
  get isAnswered(): boolean {
    return this.#early !== undefined
  }

  /** Has the handler begin without the answer that a middleware in front has given before. */
  startLate(): void {
    const c = this.#c
    const prototype: object = Object.getPrototypeOf(c)
    const early: Response = Reflect.get(prototype, 'res', c)
    Reflect.set(prototype, 'res', undefined, c)
    this.#finalized = false
    this.#coverHeader()
    this.#early = early
  }

  /** Joins the sides again when the handler is over; not after an answer from in front, which stays. */
  join(): void {
    if (this.isAnswered) return
    const c = this.#c
    Reflect.deleteProperty(c, 'res')
    Object.defineProperty(c, 'finalized', {
      ...{ value: this.#finalized, writable: true, configurable: true, enumerable: true },
    })
  }

  #cover(): void {
    const c = this.#c
    const isFront = (): boolean => !this.#handler.isCurrent
    // Hono's own accessor, which is the prototype's.
    const prototype: object = Object.getPrototypeOf(c)
    Object.defineProperty(c, 'res', {
      configurable: true,
      get: (): unknown => (isFront() ? this.#early : undefined) ?? Reflect.get(prototype, 'res', c),
      set: (response: Response | undefined) => {
        if (!isFront()) Reflect.set(prototype, 'res', response, c)
        else this.#assign(response)
      },
    })
    const finalizedBefore = this.#finalized
    Object.defineProperty(c, 'finalized', {
      configurable: true,
      enumerable: true,
      get: () => (isFront() ? finalizedBefore || this.isAnswered : this.#finalized),
      set: (value: boolean) => {
        if (!isFront()) this.#finalized = value
      },
    })
  }

  #assign(response: Response | undefined): void {
    // Whoever replaces a response takes the old one away first.
    if (response === undefined) return
    if (!this.isAnswered) this.#coverHeader()
    this.#early = this.#onEarly(response)
  }

  /** Headers that are set in front from now on belong to the answer from there. */
  #coverHeader(): void {
    const c: Covered = this.#c
    const { header } = c
    const covered: Covered['header'] = (...args: Parameters<Covered['header']>) => {
      if (this.#handler.isCurrent || this.#early === undefined) return header(...args)
      const [name, value, options] = args
      const copy = new Response(this.#early.body, this.#early)
      if (value === undefined) copy.headers.delete(name)
      else if (options?.append === true) copy.headers.append(name, value)
      else copy.headers.set(name, value)
      this.#early = copy
    }
    c.header = covered
  }
}
