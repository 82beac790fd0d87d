/**
 * A process under the model checker: whatever it sends lies there until the checker has it arrive, and
 * whatever comes back lies there until the checker hands it over.
 *
 * @module
 */

import type { Clock } from '../../../src/engine/clock.ts'
import { Blocked } from '../database/session.ts'
import type { Exchange, Wire } from '../wire.ts'

/** A message on its way. */
interface Message {
  readonly number: number
  readonly label: string
  /** Has it carried out; `false` when it waits for a lock. */
  readonly arrive: () => boolean
  /** Hands the answer over; there once it was carried out. */
  reply: (() => void) | undefined
  /** What was answered, for the history of the process. */
  answer: string
}

/** One thing that can happen next. */
export interface ModelAct {
  readonly name: string
  readonly run: () => void
}

interface Timer {
  readonly number: number
  readonly dueAt: number
  readonly fire: () => void
}

/** One process. */
export class ModelProcess {
  readonly name: string
  readonly clock: Clock
  readonly wire: Wire
  isAlive = true
  /** Everything that it was told so far: what it knows and does follows from this. */
  history = ''
  readonly #now: () => number
  #messages: Message[] = []
  #timers: Timer[] = []
  #numbers = 0

  constructor(name: string, now: () => number) {
    this.name = name
    this.#now = now
    this.clock = {
      ...{ now, unix: now },
      after: (ms, fire) => {
        const timer = { number: ++this.#numbers, dueAt: now() + Math.max(0, ms), fire }
        this.#timers.push(timer)
        return () => void (this.#timers = this.#timers.filter((one) => one !== timer))
      },
    }
    this.wire = {
      ask: (exchange) => this.#ask(exchange),
      notify: (label, wake) => {
        const arrive = () => true
        this.#add({ label, arrive, reply: wake, answer: '' })
      },
    }
  }

  /** What can happen next in it: each is one act of the checker. */
  acts(): readonly ModelAct[] {
    if (!this.isAlive) return this.#onTheWay()
    const fire = { name: `${this.name} timers`, run: () => this.#fire() }
    return [...this.#onTheWay(), ...this.replies(), ...(this.hasDue ? [fire] : [])]
  }

  /** Answers that it could be handed now. */
  replies(): readonly ModelAct[] {
    return this.#messages.flatMap((message) => {
      const { reply, label, number, answer } = message
      if (reply === undefined) return []
      const name = `${this.name} hears ${label} ${number}: ${answer}`
      return { name, run: () => this.#hear(message) }
    })
  }

  /** Whether a timer of it could fire now. */
  get hasDue(): boolean {
    return this.#timers.some(({ dueAt }) => dueAt <= this.#now())
  }

  /** It is no more; what it has sent may still arrive. */
  crash(): void {
    this.isAlive = false
    this.#timers = []
    this.#messages = this.#messages.filter(({ reply }) => reply === undefined)
    this.history = 'dead'
  }

  /** Notes something that it was told. */
  note(what: string): void {
    this.history = `${this.history}|${what}@${this.#now()}`
  }

  /** All that its future depends on. */
  state(): string {
    const messages = this.#messages.map(({ label, reply, answer }) => {
      return `${label}${reply === undefined ? '' : `=${answer}`}`
    })
    return `${this.name}:${this.history}:${messages.sort().join(',')}`
  }

  #onTheWay() {
    return this.#messages.flatMap((message) => {
      const { reply, label, number } = message
      if (reply !== undefined) return []
      return { name: `${this.name} ${label} ${number}`, run: () => void message.arrive() }
    })
  }

  #ask<T>({ label, apply }: Exchange<T>): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      const arrive = (): boolean => {
        try {
          const value = apply()
          message.reply = () => resolve(value)
          message.answer = describe(value)
        } catch (error) {
          if (error instanceof Blocked) return false
          message.reply = () => reject(error instanceof Error ? error : new Error(String(error)))
          message.answer = String(error)
        }
        if (!this.isAlive) this.#messages = this.#messages.filter((one) => one !== message)
        return true
      }
      const message = this.#add({ label, arrive, reply: undefined, answer: '' })
    })
  }

  #add(message: Omit<Message, 'number'>): Message {
    const numbered = { ...message, number: ++this.#numbers }
    if (this.isAlive) this.#messages.push(numbered)
    return numbered
  }

  #hear(message: Message): void {
    this.#messages = this.#messages.filter((one) => one !== message)
    this.note(`${message.label}=${message.answer}`)
    message.reply?.()
  }

  #fire(): void {
    this.note('timers')
    const due = this.#timers.filter(({ dueAt }) => dueAt <= this.#now())
    for (const timer of due.sort((one, other) => one.dueAt - other.dueAt)) {
      if (!this.#timers.includes(timer)) continue
      this.#timers = this.#timers.filter((one) => one !== timer)
      timer.fire()
    }
  }
}

/** An answer in the words that a process can tell it by. */
function describe(value: unknown): string {
  if (typeof value !== 'object' || value === null) return String(value)
  const { outcome, claim, recoveryPoint, letter, status, ride } = value as Record<string, unknown>
  const { owner, fence } = (claim ?? {}) as Record<string, unknown>
  const parts = [outcome, owner, fence, recoveryPoint, letter, status, ride]
  const told = parts.filter((part) => typeof part === 'string' || typeof part === 'number')
  return told.join(' ')
}
