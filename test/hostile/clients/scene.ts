/**
 * What apps call back: where a request can be held, what their handlers do, and what is known of it
 * afterwards.
 *
 * @module
 */

import { createHash } from 'node:crypto'
import type { Store } from '../../../src/engine/store.ts'
import { Gate } from '../../../src/testing/adapter/world.ts'
import type { Look, Looks } from './looks.ts'
import type { AnswerShape, Moment, Plan } from './plan.ts'

/** What a handler sends. */
export interface Reply {
  readonly shape: AnswerShape
  /** All of it, a JSON text. */
  readonly text: string
  /** The same in parts; the client may leave after the first. */
  parts(): AsyncGenerator<string>
}

/** What a handler was given. */
export interface Given {
  /** The header `X-Visit`. */
  readonly visit: unknown
  /** The note of the body; `undefined` where the body has not the form it was sent in. */
  readonly note: string | undefined
  readonly look: Look
}

/** One run of the handler. */
export interface Effect {
  readonly visit: unknown
  readonly note: string | undefined
  /** At its beginning, and when it was let go on. */
  readonly looks: Looks[]
  readonly text: string
}

/** One plan being played. */
export class Scene {
  readonly effects: Effect[] = []
  /** Resolves when the first request has come to the moment at which its client leaves. */
  readonly reached = new Gate()
  /** Lets it go on. */
  readonly goOn = new Gate()
  /** Resolves when an answer has been stored. */
  readonly stored = new Gate()
  readonly #plan: Plan
  #isHeld = false

  constructor(plan: Plan) {
    this.#plan = plan
  }

  /** Holds the first request that comes to the plan's moment. */
  async pass(moment: Moment): Promise<void> {
    if (moment !== this.#plan.moment || this.#isHeld) return
    this.#isHeld = true
    this.reached.open()
    await this.goOn.opened
  }

  /** What a handler does. */
  async work({ visit, note, look }: Given): Promise<Reply> {
    const { answer: shape } = this.#plan
    const run = this.effects.length + 1
    const saw = createHash('sha1')
      .update(note ?? '')
      .digest('hex')
    const filler = 'y'.repeat(shape === 'large' ? 300_000 : 10)
    const text = JSON.stringify({ run, saw, filler })
    const effect: Effect = { visit, note, text, looks: [look()] }
    this.effects.push(effect)
    await this.pass('handler')
    effect.looks.push(look())
    const pass = () => this.pass('part')
    return {
      ...{ shape, text },
      async *parts() {
        const third = Math.ceil(text.length / 3)
        yield text.slice(0, third)
        await pass()
        effect.looks.push(look())
        yield text.slice(third, 2 * third)
        yield text.slice(2 * third)
      },
    }
  }
}

/** Where an app finds the plan that is being played; it plays one at a time. */
export class Stage {
  scene: Scene | undefined

  /** Holds requests of the current scene. */
  async pass(moment: Moment): Promise<void> {
    await this.scene?.pass(moment)
  }

  /** Has the current scene's handler work. */
  work(given: Given): Promise<Reply> {
    if (this.scene === undefined) throw new TypeError('No plan is being played.')
    return this.scene.work(given)
  }

  /** The store, with places at which requests can be held. */
  holding<Tx>(store: Store<Tx>): Store<Tx> {
    return new Proxy(store, {
      get: (_, name) => {
        const member: unknown = Reflect.get(store, name)
        if (typeof member !== 'function') return member
        const call = member.bind(store)
        if (name === 'claim') return this.#claim(call)
        return name === 'finish' ? this.#finish(call) : call
      },
    })
  }

  #claim(call: (...args: unknown[]) => Promise<unknown>) {
    return async (...args: unknown[]) => {
      await this.pass('claim')
      const answer = await call(...args)
      await this.pass('claimed')
      return answer
    }
  }

  #finish(call: (...args: unknown[]) => Promise<unknown>) {
    return async (...args: unknown[]) => {
      await this.pass('finish')
      const answer = await call(...args)
      this.scene?.stored.open()
      return answer
    }
  }
}
