/**
 * A process under the model checker: whatever it sends lies there until the checker has it arrive, and
 * whatever comes back lies there until the checker hands it over.
 *
 * @module
 */

import type { Clock } from '../../../src/engine/clock.ts'
import { Blocked, Session } from '../database/session.ts'
import type { Exchange, Wire } from '../wire.ts'

/** A message on its way. */
interface Message {
  readonly number: number
  readonly label: string
  readonly given: unknown
  readonly sentAt: number
  /** Has it carried out; it stays on its way when it waits for a lock. */
  readonly arrive: () => void
  /** Hands the answer over; there once it was carried out. */
  reply: (() => void) | undefined
  /** What was answered, for the history of the process. */
  answer: unknown
}

/** One thing that can happen next. */
export interface ModelAct {
  /** Asked for only where somebody reads it: most acts are done again and again. */
  readonly name: () => string
  readonly run: () => void
}

/** Something that a process was told. */
interface Told {
  readonly what: string
  readonly given?: unknown
  readonly answer?: unknown
  /** When, where the process goes by it later. */
  readonly at?: number | undefined
}

interface Timer {
  readonly ms: number
  readonly dueAt: number
  readonly fire: () => void
}

/** What a process is made with. */
export interface ModelProcessOptions {
  readonly now: () => number
  /** Whether a timer of so many milliseconds is one that keeps a lease or a connection alive. */
  readonly isKeeping: (ms: number) => boolean
  /** Whether a message changes nothing, and is always answered with nothing. */
  readonly isInert: (label: string) => boolean
  /** Whether it remembers what makes no difference. */
  readonly isThorough: boolean
}

/** What keeps a lease or a connection alive: nothing but timers goes by the answer. */
const KEEPING: ReadonlySet<string> = new Set(['renew', 'keep alive'])
/** What workers ask, who ask one thing after the other and look at no clock but to tell how long. */
const TIMELESS: ReadonlySet<string> = new Set([
  ...['sweep', 'sweep history', 'beat', 'take untold', 'told'],
  ...['take abandoned', 'take unfinished', 'bury', 'bury unknown'],
])
/** What a run begins with. */
const BEGINNINGS: ReadonlySet<string> = new Set(['claim', 'take unfinished'])

/** One process. */
export class ModelProcess {
  readonly name: string
  readonly clock: Clock
  readonly wire: Wire
  isAlive = true
  readonly #now: () => number
  readonly #options: ModelProcessOptions
  #history: Told[] = []
  #messages: Message[] = []
  #timers: Timer[] = []
  #numbers = 0

  constructor(name: string, options: ModelProcessOptions) {
    const { now } = options
    this.name = name
    this.#now = now
    this.#options = options
    this.clock = {
      ...{ now, unix: now },
      after: (ms, fire) => {
        const timer = { ms, dueAt: now() + Math.max(0, ms), fire }
        if (this.isAlive) this.#timers.push(timer)
        return () => void (this.#timers = this.#timers.filter((one) => one !== timer))
      },
    }
    this.wire = {
      ask: (exchange) => this.#ask(exchange),
      notify: (label, wake) => {
        this.#add({ label, given: '', arrive: () => {}, reply: wake, answer: '' })
      },
    }
  }

  /** What can happen next in it: each is one act of the checker. */
  acts(): readonly ModelAct[] {
    if (!this.isAlive) return this.#onTheWay()
    const fire = { name: () => `${this.name} timers`, run: () => this.#fire() }
    return [...this.#onTheWay(), ...this.replies(), ...(this.hasDue ? [fire] : [])]
  }

  /** Answers that it could be handed now. */
  replies(): readonly ModelAct[] {
    return this.#messages.flatMap((message) => {
      const { reply, label, number, answer } = message
      if (reply === undefined) return []
      const name = () => `${this.name} hears ${label} ${number}: ${inWords(answer)}`
      return { name, run: () => this.#hear(message) }
    })
  }

  /** Whether a timer of it could fire now. */
  get hasDue(): boolean {
    return this.#timers.some(({ dueAt }) => dueAt <= this.#now())
  }

  /** Whether nothing is under way in it, and nothing of it is. */
  get isAtRest(): boolean {
    return this.#messages.length === 0 && this.#timers.length === 0
  }

  /**
   * Whether nothing can happen in it but that it hears the one answer that lies there, and when makes
   * no difference: no time passes any more, or it goes by none.
   */
  hasOnlyToHear(isTimeOver: boolean): boolean {
    const [message] = this.#messages
    if (this.#messages.length !== 1 || message?.reply === undefined || this.hasDue) return false
    // Who watches can be woken at any time.
    const isWatching =
      message.label === 'watch' || this.#history.some(({ what }) => what === 'watch')
    if (isWatching) return false
    return isTimeOver || (this.#timers.length === 0 && isTimeless(message))
  }

  /** Whether there is nothing to it but a message that changes nothing and tells it nothing. */
  get hasOnlyInert(): boolean {
    const [message, ...more] = this.#messages
    if (message === undefined || more.length > 0 || this.#timers.length > 0) return false
    return this.#options.isInert(message.label)
  }

  /** It is no more; what it has sent may still arrive. */
  crash(): void {
    this.isAlive = false
    this.#timers = []
    this.#messages = this.#messages.filter(({ reply }) => reply === undefined)
  }

  /** Notes something that it was told, and when. */
  note(what: string): void {
    this.#history.push({ what, at: this.#now() })
  }

  /** Whether it was told anything that it has not forgotten. */
  get hasHistory(): boolean {
    return this.#history.length > 0
  }

  /** Forgets all that it was told. */
  forget(): void {
    this.#history = []
  }

  /**
   * All that its future depends on: what it was told, and in which order; what is on its way, and when
   * its timers fire. Of instants, a process goes by those at which a request came, something failed, or
   * it asked what it has not heard yet; the others are in its timers. Who is dead goes by none. Where no
   * time passes any more, timers that are not due never are.
   */
  state(isTimeOver: boolean): string {
    const now = this.#now()
    const ago = (at: number | undefined) =>
      at === undefined || !this.isAlive ? '' : `@${now - at}`
    const told = this.#history.map(({ what, given, answer, at }) => {
      return `${what}${inWords(given)}=${inWords(answer)}${ago(at)}`
    })
    const messages = this.#messages.map(({ label, given, sentAt, reply, answer }) => {
      const said = `${label}${inWords(given)}${TIMELESS.has(label) ? '' : ago(sentAt)}`
      return reply === undefined ? said : `${said}=${inWords(answer)}`
    })
    const left = this.#timers.map(({ dueAt }) => Math.max(0, dueAt - now))
    const timers = left.filter((ms) => ms === 0 || !isTimeOver).map(String)
    return [this.isAlive, told.join('|'), messages.sort().join(), timers.sort().join()].join(':')
  }

  #onTheWay() {
    return this.#messages.flatMap((message) => {
      const { reply, label, number } = message
      if (reply !== undefined) return []
      return { name: () => `${this.name} ${label} ${number}`, run: message.arrive }
    })
  }

  #ask<T>({ label, given = '', apply }: Exchange<T>): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      const arrive = () => {
        try {
          const value = apply()
          message.reply = () => resolve(value)
          message.answer = value
        } catch (error) {
          if (error instanceof Blocked) return
          const failure = error instanceof Error ? error : new Error(String(error))
          message.reply = () => reject(failure)
          message.answer = failure
        }
        if (!this.isAlive) this.#messages = this.#messages.filter((one) => one !== message)
      }
      const message = this.#add({ label, given, arrive, reply: undefined, answer: undefined })
    })
  }

  #add(message: Omit<Message, 'number' | 'sentAt'>): Message {
    const numbered = { ...message, number: ++this.#numbers, sentAt: this.#now() }
    if (this.isAlive) this.#messages.push(numbered)
    return numbered
  }

  #hear(message: Message): void {
    const { label: what, given, answer, reply } = message
    this.#messages = this.#messages.filter((one) => one !== message)
    const { isThorough } = this.#options
    const isFailure = answer instanceof Error
    if (what.startsWith('advance to ') && !isFailure && !isThorough) this.#arriveAtPoint()
    const at = isFailure || isThorough ? this.#now() : undefined
    if (isThorough || !KEEPING.has(what)) this.#history.push({ what, given, answer, at })
    reply?.()
  }

  /**
   * A recovery point is reached: besides its claim, a run goes on from the point and the state that it
   * has handed on, as it would have taken them up in another process (`phases/drive.ts`).
   */
  #arriveAtPoint(): void {
    const last = this.#history.findLastIndex(({ what }) => BEGINNINGS.has(what))
    this.#history = this.#history.slice(0, last + 1)
  }

  #fire(): void {
    const due = this.#timers.filter(({ dueAt }) => dueAt <= this.#now())
    const told = due.filter(({ ms }) => !this.#options.isKeeping(ms)).map(({ ms }) => `timer ${ms}`)
    this.#history.push(...told.map((what) => ({ what })))
    for (const timer of due.sort((one, other) => one.dueAt - other.dueAt)) {
      if (!this.#timers.includes(timer)) continue
      this.#timers = this.#timers.filter((one) => one !== timer)
      timer.fire()
    }
  }
}

/** With an unfinished record a run begins, and that keeps a lease. */
function isTimeless({ label, answer }: Message): boolean {
  return TIMELESS.has(label) && (label !== 'take unfinished' || answer === undefined)
}

/** An answer in the words that a process can tell it by; a transaction by what it has come to. */
function inWords(answer: unknown): string {
  if (answer === undefined || answer === '') return ''
  if (answer instanceof Error) return String(answer)
  return typeof answer === 'function' ? 'a way back' : JSON.stringify(answer, worded)
}

function worded(this: unknown, name: string, value: unknown): unknown {
  if (value instanceof Session) return value.inWords()
  // As it is there, and not as a `Buffer` says itself.
  const given: unknown = typeof value === 'object' ? Reflect.get(Object(this), name) : value
  return given instanceof Uint8Array ? Buffer.from(given).toString('latin1') : value
}
