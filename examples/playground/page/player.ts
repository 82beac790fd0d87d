/**
 * The client of the page: makes payments as its controls say, and keeps what it sent and heard.
 *
 * @module
 */

import type { RecordRow } from '../queries.ts'
import type { Story } from '../story.ts'
import { CLEAN, isMet, type Network, planOf, type Step } from './plan.ts'
import { type Heard, isFinal, pauseBefore, type Sent, send, TARGETS } from './request.ts'

/** How a payment goes. */
export interface Settings {
  readonly network: Network
  /** Where the server is killed; empty for nowhere. */
  readonly crash: string
  /** Whether the client sends it again until it has an answer. */
  readonly retries: boolean
  readonly isUnprotected: boolean
  readonly ignoresKeys: boolean
}

/** An attempt of the client. */
export interface Attempt {
  readonly number: number
  readonly sent: Sent
  /** The row before it was sent, and when it was over. */
  readonly before: RecordRow | null
  readonly after: RecordRow | null
  /** `null` while nothing was heard. */
  readonly heard: Heard | null
}

/** A payment under one key. */
export interface Payment {
  readonly key: string
  readonly path: string
  readonly attempts: Attempt[]
  /** Faults that were asked for and can not be met any more, because it is finished. */
  unmet: readonly Step[]
  story: Story | null
}

/** Attempts at most: a client that never gives up is a client that nobody can stop. */
const ATTEMPTS_MAX = 200

/** How often a server that is being started is asked at most. */
const ASKS_MAX = 240

/** How long a server that is being started is left alone, in milliseconds. */
const RESTART_MS = 250

/** Sends at once by "pay ×5". */
const TOGETHER = 5

/** The client. */
export class Player {
  readonly #onChange: () => void
  /** Faults that are still to come for the payment at hand. */
  #steps: Step[] = []
  /** How many faults had been carried out when the first of them was next. */
  #faultsBefore = 0
  /** Questions about what happened: how many were asked, and the last that was answered. */
  #asked = 0
  #answered = 0
  payment: Payment | null = null
  /** The last payment on each route. */
  readonly last = new Map<string, Payment>()

  constructor(onChange: () => void) {
    this.#onChange = onChange
  }

  /** A payment with a key of its own. */
  async pay(settings: Settings): Promise<void> {
    await this.#begin(settings)
    await this.#drive(settings)
  }

  /** The same payment several times at the same moment. */
  async payTogether(settings: Settings): Promise<void> {
    const payment = await this.#begin(settings)
    const step = this.#steps[0] ?? CLEAN
    const sends = Array.from({ length: TOGETHER }, () => this.#attempt(payment, step))
    const heard = await Promise.all(sends)
    this.#settle(payment)
    // Without a key the five are five payments, and nobody has a reason to send a sixth.
    const isOver = heard.every(isFinal) || (settings.isUnprotected && heard.some(isFinal))
    if (!isOver && settings.retries) await this.#drive(settings)
  }

  /** The payment at hand once more. */
  async retry(settings: Settings): Promise<void> {
    if (this.payment === null) return
    if (this.#steps.length === 0) this.#plan(settings, this.payment)
    await this.#drive(settings)
  }

  /** The key of the payment at hand, with another request. */
  async mismatch(): Promise<void> {
    if (this.payment !== null) await this.#attempt(this.payment, CLEAN, TARGETS.other)
  }

  /** Reads what really happened. */
  async refresh(): Promise<void> {
    const { payment } = this
    if (payment === null) return
    await this.#read(payment)
    this.#onChange()
  }

  async #begin(settings: Settings): Promise<Payment> {
    await setProvider({ mode: 'fine', honours_keys: !settings.ignoresKeys })
    const payment = {
      key: freshKey(),
      path: pathOf(settings),
      attempts: [],
      unmet: [],
      story: null,
    }
    this.payment = payment
    this.last.set(payment.path, payment)
    this.#plan(settings, payment)
    this.#onChange()
    return payment
  }

  #plan({ network, crash }: Settings, { story }: Payment): void {
    this.#steps = [...planOf(network, crash)]
    this.#faultsBefore = story?.faults.length ?? 0
  }

  /** A fault is over when the server has carried it out: one that met a dead server is still to come. */
  #settle({ story }: Payment): void {
    const [step = CLEAN] = this.#steps
    const faults = story?.faults ?? []
    if (!isMet(step, faults.slice(this.#faultsBefore))) return
    this.#steps.shift()
    this.#faultsBefore = faults.length
  }

  async #drive({ retries }: Settings): Promise<void> {
    const { payment } = this
    if (payment === null) return
    for (let attempts = 1; attempts <= ATTEMPTS_MAX; attempts++) {
      const heard = await this.#attempt(payment, this.#steps[0] ?? CLEAN)
      this.#settle(payment)
      const isOver = isFinal(heard) || payment.story?.letter != null
      if (isOver) this.#giveUp(payment)
      if (isOver || !retries || this.payment !== payment) return
      await pause(pauseBefore(attempts, heard))
    }
  }

  /** What is finished meets no more faults. */
  #giveUp(payment: Payment): void {
    payment.unmet = this.#steps.splice(0)
    this.#onChange()
  }

  async #attempt(payment: Payment, fault: Step, target: number = TARGETS.usual): Promise<Heard> {
    const { path, key, attempts } = payment
    const sent = { path, key, fault, target }
    const number = attempts.length + 1
    const before = payment.story?.record ?? null
    const attempt = { number, sent, before, after: null, heard: null }
    attempts.push(attempt)
    this.#onChange()
    const heard = await send(sent)
    attempts[number - 1] = { ...attempt, heard }
    this.#onChange()
    // A server that is being started is waited for. Whether it carried a fault out is known then, or
    // the fault would come twice or never.
    await this.#readSurely(payment)
    attempts[number - 1] = { ...attempt, heard, after: payment.story?.record ?? null }
    this.#onChange()
    return heard
  }

  /** Reads what happened; again and again while the server is being started. */
  async #readSurely(payment: Payment): Promise<void> {
    for (let asks = 0; asks < ASKS_MAX; asks++) {
      if (await this.#read(payment)) return
      await pause(RESTART_MS)
    }
  }

  /** Answers whether the server did. An answer that is overtaken by a later one is not news. */
  async #read(payment: Payment): Promise<boolean> {
    const number = ++this.#asked
    try {
      const response = await fetch(`/demo/story?key=${payment.key}`)
      if (!response.ok) return false
      // Answered by the server of this page, in this shape.
      const story = (await response.json()) as Story
      if (number > this.#answered) {
        this.#answered = number
        payment.story = story
      }
      return true
    } catch {
      return false
    }
  }
}

/** The route that the settings stand for. */
function pathOf({ isUnprotected, ignoresKeys }: Settings): string {
  if (isUnprotected) return '/demo/payments/unprotected'
  return ignoresKeys ? '/demo/payments/careful' : '/rides'
}

async function setProvider(switches: Readonly<Record<string, unknown>>): Promise<void> {
  for (let asks = 0; asks < ASKS_MAX; asks++) {
    try {
      await fetch('/demo/provider', { method: 'PUT', body: JSON.stringify(switches) })
      return
    } catch {
      await pause(RESTART_MS)
    }
  }
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms))
}

function freshKey(): string {
  // Not `randomUUID`, which browsers have on HTTPS and on this machine only.
  const bytes = crypto.getRandomValues(new Uint8Array(16))
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('')
}
