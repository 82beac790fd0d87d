import type { CapturedResponse } from '../../src/core/response.ts'
import type { RepriseOptions } from '../../src/engine/reprise.ts'
import type { Run } from '../../src/engine/run.ts'
import type { Claim, ClaimRequest, Finish } from '../../src/engine/store.ts'
import { memoryStore } from '../../src/stores/memory/store.ts'
import { FakeClock } from '../../src/testing/fake-clock.ts'
import { Chance } from './chance.ts'
import { bodyOf, type Grant, Ledger, type Sent, type SimulatedRun } from './simulation-ledger.ts'
import { SimulatedProcess } from './simulation-process.ts'
import type { Trouble } from './unreliable-store.ts'
import { nearby, REQUEST, response } from './world.ts'

const LEASE_MS = 3000
const PROCESSES = 3
const STEPS = 60
const NEVER = Number.POSITIVE_INFINITY

/** Processes, clients and a network, all by chance. */
export class Simulation {
  readonly ledger: Ledger
  readonly #chance: Chance
  readonly #clock = new FakeClock()
  readonly #store = nearby(memoryStore({ clock: this.#clock }))
  readonly #options: Partial<RepriseOptions>
  readonly #processes: SimulatedProcess[] = []
  readonly #pending = new Map<Sent, SimulatedProcess>()
  readonly #grants = new Map<string, Grant>()
  readonly #records = new Map<string, { readonly key: string; readonly madeAt: number }>()
  #troubles: number
  #owners = 0
  #isOver = false

  constructor(seed: number) {
    const chance = new Chance(seed)
    this.#chance = chance
    this.#troubles = chance.pick(0, 0.1, 0.3, 0.6)
    const afterCrash = chance.pick('refuse' as const, 'refuse' as const, 'rerun' as const, 'look')
    const retentionMs = chance.pick(86_400_000, 10_000)
    const isPrompt = this.#troubles === 0
    this.ledger = new Ledger({ isAtMostOnce: afterCrash === 'refuse', retentionMs, isPrompt })
    this.#options = {
      ...{ leaseMs: LEASE_MS, retentionMs, storeTimeoutMs: chance.pick(300, 1000, 4000) },
      ...{ marksEffect: chance.happens(0.5), waitMs: chance.pick(0, 500, 20_000) },
      replayCache: chance.happens(0.5) ? {} : false,
      afterCrash: afterCrash === 'look' ? ({ key }) => this.#look(key) : afterCrash,
      random: {
        token: () => `owner-${++this.#owners}`,
        bytes: (length) => new Uint8Array(length),
        fraction: () => chance.fraction(),
      },
    }
    while (this.#processes.length < PROCESSES) this.#processes.push(this.#boot())
  }

  /** Plays a history, lets everything come to rest, and asks each process once more. */
  async play(): Promise<void> {
    for (let step = 0; step < STEPS; step++) {
      this.#act()
      await this.#rest()
    }
    this.#troubles = 0
    this.#isOver = true
    for (const process of this.#processes) process.thaw()
    await this.#settle()
    for (const process of this.#processes) {
      this.#send(process)
      await this.#rest()
      if (this.#pending.size > 0) throw new Error('No answer, and nothing is in the way.')
    }
    await this.#settle()
    const left = this.#processes.map(({ timers, watches }) => [timers, watches]).flat()
    if (left.some((count) => count > 0))
      throw new Error(`Timers and watches are left: ${left.join()}`)
  }

  #act(): void {
    const chance = this.#chance
    const index = Math.floor(chance.fraction() * PROCESSES)
    const process = this.#processes[index] ?? this.#boot()
    const act = chance.fraction()
    if (act < 0.5) for (let copies = chance.pick(1, 1, 3); copies > 0; copies--) this.#send(process)
    else if (act < 0.85) this.#clock.advance(chance.pick(1, 20, 150, 600))
    else if (act < 0.9) this.#clock.advance(chance.pick(LEASE_MS, 2 * LEASE_MS, 5 * LEASE_MS))
    else if (act < 0.93) process.freeze()
    else if (act < 0.98) process.thaw()
    else this.#processes[index] = this.#replace(process)
  }

  #replace(process: SimulatedProcess): SimulatedProcess {
    process.kill()
    for (const [sent, server] of this.#pending) if (server === process) this.#pending.delete(sent)
    return this.#boot()
  }

  #boot(): SimulatedProcess {
    return new SimulatedProcess({
      ...{ clock: this.#clock, store: this.#store, options: this.#options },
      trouble: () => this.#trouble(),
      onAnswer: (verb, args, answer) => this.#note(verb, { args, answer }),
    })
  }

  #trouble(): Trouble | undefined {
    const chance = this.#chance
    if (!chance.happens(this.#troubles)) return undefined
    return chance.pick<Trouble>(
      ...[{ fails: 'before' as const }, { fails: 'after' as const }],
      ...[{ toMs: chance.pick(5, 100, 700, 5000) }, { backMs: chance.pick(5, 100, 700, 5000) }],
      ...[{ toMs: NEVER }, { backMs: NEVER }],
      { toMs: chance.pick(5, 100), fails: 'after' },
    )
  }

  #send(process: SimulatedProcess): void {
    if (process.state !== 'alive') return
    const isLast = this.#isOver
    const key = this.#chance.pick('key-1', 'key-2')
    const fingerprints = [this.#chance.happens(0.85) ? 'f1' : 'f2']
    const sent: Sent = { request: { ...REQUEST, key, fingerprints }, sentAt: this.#clock.now() }
    const owner = `owner-${this.#owners + 1}`
    const handler = (run: Run) => {
      const grant = this.#grants.get(owner)
      if (grant === undefined) throw new Error('Nothing was granted.')
      const own = this.ledger.start(sent, grant)
      return isLast ? this.#answer(own, run) : this.#handle(own, { process, run })
    }
    this.#pending.set(sent, process)
    process.reprise
      .run(sent.request, handler)
      .then(
        (result) => {
          this.ledger.told(sent, result)
          if (isLast && result.outcome === 'in_progress') throw new Error('Still in progress.')
        },
        (error: unknown) => this.ledger.failed(sent, error),
      )
      .catch((error: unknown) => void this.ledger.contradictions.push(String(error)))
      .finally(() => this.#pending.delete(sent))
  }

  /** Does what handlers do: takes its time, refuses, fails before its effect or after it. */
  async #handle(
    own: SimulatedRun,
    { process, run }: { process: SimulatedProcess; run: Run },
  ): Promise<CapturedResponse> {
    const chance = this.#chance
    const ending = chance.pick('answers', 'answers', 'refuses', 'throws', 'fails')
    const isEarly = chance.happens(0.3)
    await this.#work(process)
    if (ending === 'refuses') return response(400, bodyOf(own))
    if (ending === 'throws' && isEarly) throw new Error(`run ${own.number}`)
    if (ending === 'fails' && isEarly) return response(500, bodyOf(own))
    const answer = await this.#answer(own, run)
    await this.#work(process)
    if (ending === 'throws') throw new Error(`run ${own.number}`)
    return ending === 'fails' ? { ...answer, status: 500 } : answer
  }

  async #answer(own: SimulatedRun, run: Run): Promise<CapturedResponse> {
    if (this.#options.marksEffect === true || this.#chance.happens(0.3)) await run.markEffect()
    this.ledger.effect(own)
    return response(201, bodyOf(own))
  }

  /** Takes no time, a little, or longer than the lease. */
  async #work({ clock }: SimulatedProcess): Promise<void> {
    const ms = this.#chance.pick(0, 0, 30, 400, 2 * LEASE_MS)
    if (ms > 0) await new Promise<void>((resolve) => void clock.after(ms, resolve))
  }

  /** A route's recover(): sees the effect, or that there is none yet. */
  async #look(key: string): Promise<CapturedResponse | 'rerun' | 'refuse'> {
    const { records } = await this.#store.list({ limit: 10 })
    const found = records.find(({ record }) => record.key === key)
    if (found === undefined || this.#chance.happens(0.1)) return 'refuse'
    const run = this.ledger.effectSince(found.record)
    return run === undefined ? 'rerun' : response(201, bodyOf(run))
  }

  /** Notes grants and stored answers as the store gives them. */
  #note(verb: string, { args, answer }: { args: readonly unknown[]; answer: unknown }): void {
    const at = this.#clock.now()
    if (verb === 'claim' && answer instanceof Object && 'claim' in answer) {
      // The port says what a claim is asked with.
      const { id, key, owner, fingerprint } = args[0] as ClaimRequest
      const isFresh = 'outcome' in answer && answer.outcome === 'execute'
      const record = (!isFresh && this.#records.get(id)) || { key, madeAt: at }
      if (!this.#grants.has(owner)) {
        this.#records.set(id, record)
        this.#grants.set(owner, { grantedAt: at, madeAt: record.madeAt })
      }
      this.ledger.granted(key, fingerprint)
    }
    if (verb === 'finish' && answer === true) {
      // The port says what a finish is asked with.
      const [{ id }, { response: stored, retentionMs }] = args as [Claim, Finish]
      const sealed = new TextDecoder().decode(stored.sealed)
      const body = sealed.slice(sealed.lastIndexOf('["key-'))
      const { key = '' } = this.#records.get(id) ?? {}
      this.ledger.stored(key, { body, at, expiresAt: at + retentionMs })
    }
  }

  /** Lets every promise go on that can. */
  async #rest(): Promise<void> {
    await new Promise((resolve) => setImmediate(resolve))
    const [contradiction] = this.ledger.contradictions
    if (contradiction !== undefined) throw new Error(contradiction)
  }

  /** Lets time pass until nobody waits any more, and then until every lease has lapsed. */
  async #settle(): Promise<void> {
    for (let i = 0; i < 400; i++) {
      await this.#rest()
      if (this.#pending.size === 0 && this.#clock.timerCount === 0) break
      this.#clock.advance(250)
    }
    const [lost] = this.#pending.keys()
    if (lost !== undefined) throw new Error(`Sent at ${lost.sentAt} and never answered.`)
    this.#clock.advance(LEASE_MS)
    await this.#rest()
  }
}
