/**
 * Clients that send a request again until they have an answer: with the same key, to any process.
 *
 * @module
 */

import { INPUT_INVALID } from '../../src/core/error-table.ts'
import { isRepriseError } from '../../src/core/errors.ts'
import type { RunResult } from '../../src/engine/result.ts'
import type { Chance } from '../engine/chance.ts'
import type { Sent } from './checks.ts'
import type { Machine } from './machine.ts'
import type { Node } from './node.ts'
import type { World } from './world.ts'

/** How often a client tries while things go wrong. */
const TRIES_MAX = 4
/** After the faults stopped it goes on: as long as this many tries take. */
const TRIES_HEALED = 200

/** All clients of a world. */
export class Clients {
  readonly #world: World
  readonly #chance: Chance
  /** Requests that some client waits for. */
  waiting = 0
  /** The process that was asked last. */
  asked: Node<Machine> | undefined
  /** Whether processes are being closed, so that nobody need be answered. */
  isLate = false
  #triesMax = TRIES_MAX
  readonly #bodies = new Map<string, string>()
  /** What processes have been asked and have not answered. */
  readonly #open: { node: Node<Machine>; key: string; at: number }[] = []

  constructor(world: World, chance: Chance) {
    this.#world = world
    this.#chance = chance
  }

  /** From now on nobody gives up. */
  retryForEver(): void {
    this.#triesMax = TRIES_HEALED
  }

  /** Which of the bodies the fingerprint stands for, as far as it was seen. */
  bodyOf(id: string, fingerprint: string | undefined): string | undefined {
    return this.#bodies.get(`${id} ${fingerprint}`)
  }

  /** Sends a request, until it has a definite answer. */
  send(sent: Sent): void {
    this.waiting++
    this.#try(sent, 1)
  }

  #try(first: Sent, tries: number): void {
    const { scheduler, trace, databaseNow } = this.#world
    const sent = { ...first, sentAt: databaseNow, sentAfter: scheduler.now }
    const node = this.#world.pickNode(this.#chance.fraction())
    if (node === undefined) return this.#later(sent, tries)
    let isOver = false
    const end = (then: () => void) => {
      if (isOver) return
      isOver = true
      scheduler.drop(timeout)
      then()
    }
    const timeout = scheduler.after(this.#chance.pick(500, 3000, 15_000), () => {
      trace.add('client', `${sent.key} ${sent.body}: no answer, asks again`)
      end(() => this.#later(sent, tries))
    })
    scheduler.after(this.#chance.pick(0, 1, 10), () => {
      node.machine.step(() => {
        void this.#serve(node, sent).then((waitMs) => {
          if (
            !this.#world.network.isHealed &&
            this.#chance.happens(this.#world.options.rates.reply)
          ) {
            return
          }
          const isDefinite = waitMs === undefined
          const answered = () =>
            isDefinite ? void this.waiting-- : this.#later(sent, tries, waitMs)
          scheduler.after(1, () => end(answered))
        })
      })
    })
  }

  /** @param waitMs - for how long it was told to wait */
  #later(sent: Sent, tries: number, waitMs = 0): void {
    const { checks, scheduler } = this.#world
    if (tries >= TRIES_HEALED && !this.isLate)
      checks.violate(`${sent.key} ${sent.body} is never answered`)
    if (tries >= this.#triesMax) return void this.waiting--
    const ms = waitMs + this.#chance.pick(1, 100, 1000, 3000)
    scheduler.after(ms, () => this.#try(sent, tries + 1))
  }

  /**
   * Has a node serve it, and holds what it says against what is so. Gives `undefined` when the client
   * has its answer, else how long it is to wait, in milliseconds.
   */
  async #serve(node: Node<Machine>, sent: Sent): Promise<number | undefined> {
    const { checks, trace } = this.#world
    const { name } = node.machine
    const asked = `${sent.key} ${sent.body}`
    trace.add(name, `is asked ${asked}`)
    this.asked = node
    const flightMs = this.#flightMs(node, sent)
    const done = this.#begun(node, sent)
    try {
      const result = await node.serve(sent)
      const lagMs = node.machine.lagMs + 0.05 * (this.#world.databaseNow - sent.sentAt + 60_000)
      checks.told(sent, result, flightMs + (this.#world.options.hasCache ? lagMs : 0))
      if (result.outcome === 'over_quota') checks.overQuota(sent, result, flightMs)
      this.#note(sent)
      trace.add(name, `answers ${asked}`, textOf(result))
      return waitMsOf(result)
    } catch (error) {
      checks.failed(sent, error)
      this.#note(sent)
      trace.add(name, `fails ${asked}: ${String(error)}`)
      if (!isRepriseError(error) || error.code !== INPUT_INVALID.code) return 0
      checks.rejected(sent)
      return undefined
    } finally {
      done()
    }
  }

  /**
   * For how long the process may have been asking the database already when the request was sent:
   * duplicates within a process share what it hears.
   */
  #flightMs(node: Node<Machine>, { key, sentAt }: Sent): number {
    const open = this.#open.filter((one) => one.node === node && one.key === key)
    return sentAt - Math.min(sentAt, ...open.map(({ at }) => at))
  }

  #begun(node: Node<Machine>, { key }: Sent): () => void {
    const serving = { node, key, at: this.#world.databaseNow }
    this.#open.push(serving)
    return () => void this.#open.splice(this.#open.indexOf(serving), 1)
  }

  /** Remembers which fingerprint the body has. */
  #note({ id, body }: Sent): void {
    const record = this.#world.tables.records.get(id)
    if (record !== undefined && !this.#bodies.has(`${id} ${record.fingerprint}`)) {
      this.#bodies.set(`${id} ${record.fingerprint}`, body)
    }
  }
}

/** For how long a client with this answer is to wait; `undefined` when it has what it wants. */
function waitMsOf(result: RunResult): number | undefined {
  if (result.outcome === 'over_quota') return result.retryAfterMs
  const isDefinite =
    'response' in result || result.outcome === 'mismatch' || result.outcome === 'unknown'
  return isDefinite ? undefined : 0
}

function textOf(result: RunResult): string {
  if (!('response' in result)) return result.outcome
  const fate = 'fate' in result ? ` (${result.fate})` : ''
  return `${result.outcome}${fate} ${new TextDecoder().decode(result.response.body)}`
}
