/** Clients that insist: each sends its key to one node after the other until it has an answer. */

import { setTimeout as delay } from 'node:timers/promises'
import type { Slot } from './fleet.ts'
import type { NodeMessage } from './node.ts'

/** How the clients are. */
export interface Clients {
  /** How many there are at a time. */
  readonly lanes: number
  /** Whether they are content to hear that nobody knows. */
  readonly takesUnknown: boolean
  /** Whether they ask again after an answer that says that nothing happened. */
  readonly wantsStored: boolean
}

/** How long clients insist after the last fault, in milliseconds, before a key counts as stuck. */
const INSIST_MS = 120_000

/** What the clients saw. */
export class Load {
  readonly #slots: readonly Slot[]
  /** Whether nobody knows is an answer: under a lease, after a crash. */
  readonly #clients: Clients
  readonly answers = new Map<string, NodeMessage>()
  readonly keys: string[] = []
  #lanes: readonly Promise<void>[] = []
  #until = Number.POSITIVE_INFINITY

  constructor(slots: readonly Slot[], clients: Clients) {
    this.#slots = slots
    this.#clients = clients
  }

  begin(): void {
    this.#lanes = Array.from({ length: this.#clients.lanes }, () => this.#lane())
  }

  /** Waits for so many answers more. */
  async progress(answers: number): Promise<void> {
    const enough = this.answers.size + answers
    while (this.answers.size < enough) await delay(5)
  }

  /** No new keys; those that were sent are brought to their end. */
  async end(): Promise<void> {
    this.#until = performance.now() + INSIST_MS
    await Promise.all(this.#lanes)
  }

  /**
   * Asks once more for each key; how many get another answer than the first, and how many of the
   * first answers were marked as not kept, which may end as unknown.
   */
  async countChanged(): Promise<{ readonly changed: number; readonly marked: number }> {
    let [changed, marked] = [0, 0]
    for (const [key, first] of this.answers) {
      this.#until = performance.now() + INSIST_MS
      const answer = await this.#ask(key)
      const isSame = answer?.status === first.status && answer?.body === first.body
      const isMarked = first.fate !== undefined && first.fate !== 'stored'
      if (isMarked) marked++
      // What nobody knew may have been finished by the one who was thought dead.
      const mayDiffer = first.outcome === 'unknown' || (isMarked && answer?.outcome === 'unknown')
      if (!isSame && !mayDiffer) changed++
      if (!isSame) console.error(`${key}: ${textOf(first)}, later ${textOf(answer)}`)
    }
    return { changed, marked }
  }

  async #lane(): Promise<void> {
    while (this.#until === Number.POSITIVE_INFINITY) {
      const key = `key-${this.keys.length + 1}`
      this.keys.push(key)
      const answer = await this.#ask(key)
      if (answer !== undefined) this.answers.set(key, answer)
    }
  }

  async #ask(key: string): Promise<NodeMessage | undefined> {
    while (performance.now() < this.#until) {
      const slot = this.#slots[Math.floor(Math.random() * this.#slots.length)]
      const answer = await slot?.ask(key)
      const isForgotten = this.#clients.wantsStored && answer?.fate === 'forgotten'
      if (answer?.status != null && !isForgotten) return answer
      if (this.#clients.takesUnknown && answer?.outcome === 'unknown') return answer
      await delay(20 + 80 * Math.random())
    }
    return undefined
  }
}

function textOf(answer: NodeMessage | undefined): string {
  const { outcome = 'no answer', status = null, fate = 'stored' } = answer ?? {}
  return status === null ? outcome : `${outcome} ${status} ${fate}`
}
