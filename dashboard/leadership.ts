/**
 * One tab of a browser listens to the server and tells the others: a browser opens only six
 * connections to a server over HTTP/1.1.
 *
 * @module
 */

import type { Pulse } from '../src/dashboard/reads.ts'
import { newKey } from './api.ts'
import { BASE } from './router.tsx'

/** What was heard. */
export type Told =
  | { readonly pulse: Pulse; readonly isPolled: boolean }
  | { readonly problem: string }

type Message =
  | { readonly kind: 'claim' | 'lead' | 'bye'; readonly from: string }
  | { readonly kind: 'told'; readonly from: string; readonly told: Told }

interface Parts {
  lead(): void
  follow(): void
  told(told: Told): void
}

const ANSWER_MS = 300
const LEAD_MS = 2000
const SILENT_MS = 6000

/** Leads, or follows whoever leads. */
export class Leadership {
  readonly #id = newKey()
  readonly #parts: Parts
  readonly #channel: BroadcastChannel | undefined
  readonly #timer: ReturnType<typeof setInterval>
  #isLeading = false
  #heardAt = Date.now() - SILENT_MS + ANSWER_MS

  constructor(parts: Parts) {
    this.#parts = parts
    this.#channel = 'BroadcastChannel' in globalThis ? new BroadcastChannel(BASE) : undefined
    this.#channel?.addEventListener('message', ({ data }) => this.#hear(data))
    this.#say({ kind: 'claim', from: this.#id })
    this.#timer = setInterval(() => this.#look(), LEAD_MS)
    setTimeout(() => this.#look(), this.#channel === undefined ? 0 : ANSWER_MS + 10)
  }

  tell(told: Told): void {
    if (!this.#isLeading) return
    this.#last = told
    this.#say({ kind: 'told', from: this.#id, told })
  }

  end(): void {
    clearInterval(this.#timer)
    if (this.#isLeading) this.#say({ kind: 'bye', from: this.#id })
    this.#isLeading = false
    this.#channel?.close()
    this.#hasEnded = true
  }

  #hasEnded = false
  #last: Told | undefined

  #say(message: Message): void {
    this.#channel?.postMessage(message)
  }

  #look(): void {
    if (this.#hasEnded) return
    if (this.#isLeading) {
      this.#say({ kind: 'lead', from: this.#id })
      return
    }
    if (Date.now() - this.#heardAt < SILENT_MS) return
    this.#isLeading = true
    this.#say({ kind: 'lead', from: this.#id })
    this.#parts.lead()
  }

  #hear(message: Message): void {
    if (this.#hasEnded || message.from === this.#id) return
    if (message.kind === 'claim') {
      if (!this.#isLeading) return
      this.#say({ kind: 'lead', from: this.#id })
      // Whoever comes later learns what was heard last.
      if (this.#last !== undefined) this.tell(this.#last)
      return
    }
    if (message.kind === 'bye') {
      this.#heardAt = Date.now() - SILENT_MS
      this.#look()
      return
    }
    this.#heardAt = Date.now()
    // Two began at once: the one with the smaller id stays.
    if (this.#isLeading && message.from < this.#id) {
      this.#isLeading = false
      this.#parts.follow()
    }
    if (message.kind === 'told' && !this.#isLeading) this.#parts.told(message.told)
  }
}
