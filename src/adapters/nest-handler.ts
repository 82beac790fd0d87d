/**
 * The handler behind an interceptor of NestJS: when it is over, and what it came to.
 *
 * An interceptor such as the `TimeoutInterceptor` of Nest's documentation lets go of a handler that
 * takes too long. The handler goes on all the same, and what it returns is its answer.
 *
 * @module
 */

import { currentHandler } from './handler-context.ts'
import { copyMetadata } from './nest-metadata.ts'
import type { PlatformProtection } from './nest-platform.ts'

/** A method of a controller. */
type Method = (...args: never[]) => unknown

const watched = new WeakSet<object>()

/** A method that does the same and tells the protection of its request when it is over. */
export function watchedMethod(method: Method): Method {
  if (watched.has(method)) return method
  const calling = function (this: unknown, ...args: never[]): unknown {
    const returned = Reflect.apply(method, this, args)
    currentHandler()?.watch(returned)
    return returned
  }
  for (const name of ['name', 'length']) {
    Object.defineProperty(calling, name, { value: Reflect.get(method, name), configurable: true })
  }
  Object.assign(calling, method)
  copyMetadata(method, calling)
  watched.add(calling)
  return calling
}

/** What is told of the values of an `Observable`. */
interface Observer {
  next(value: unknown): void
  error(error: unknown): void
  complete(): void
}

/** An `Observable` of rxjs, as far as it is used. */
interface Observable {
  readonly constructor: new (subscribe: (observer: Observer) => () => void) => Observable
  subscribe(observer: Observer): { unsubscribe(): void }
}

/**
 * The values of the handler, for the interceptors in front. When those let go of a handler that still
 * runs, its value becomes its answer.
 */
export function keptValues<Values>(protection: PlatformProtection, values: Values): Values {
  if (!isObservable(values)) return values
  const kept = new values.constructor((observer) => {
    const keeper = new Keeper(protection, observer)
    const subscription = values.subscribe(keeper)
    return () => {
      if (!keeper.leave()) subscription.unsubscribe()
    }
  })
  // It is an Observable of the same values.
  return kept as Values
}

function isObservable(values: unknown): values is Observable {
  return (
    typeof values === 'object' &&
    values !== null &&
    'subscribe' in values &&
    typeof values.subscribe === 'function'
  )
}

/** Hands values on until nobody in front wants them, and then keeps the last. */
class Keeper implements Observer {
  readonly #protection: PlatformProtection
  readonly #observer: Observer
  #isLeft = false
  #isOver = false
  #last: unknown

  constructor(protection: PlatformProtection, observer: Observer) {
    this.#protection = protection
    this.#observer = observer
    protection.whenLate(() => {
      if (this.#isOver)
        protection.abandon(new Error('An interceptor has answered for the handler.'))
    })
  }

  /** Nobody in front wants values any more. Says whether they are kept instead. */
  leave(): boolean {
    this.#isLeft = !this.#isOver && this.#protection.isHandling
    return this.#isLeft
  }

  next(value: unknown): void {
    if (this.#isLeft) this.#last = value
    else this.#observer.next(value)
  }

  error(error: unknown): void {
    this.#isOver = true
    if (this.#isLeft) this.#protection.abandon(error)
    else this.#observer.error(error)
  }

  complete(): void {
    this.#isOver = true
    if (this.#isLeft) this.#protection.reply(this.#last)
    else this.#observer.complete()
  }
}
