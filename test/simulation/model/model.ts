/**
 * The model: the real core, engine and phases in a few processes on one database, where everything
 * that can happen next is an act that the checker chooses.
 *
 * @module
 */

import type { RunResult } from '../../../src/engine/result.ts'
import { idOf } from '../app.ts'
import { Checks, type Sent, Violation } from '../checks.ts'
import { Tables } from '../database/tables.ts'
import type { Flaw } from '../flaws.ts'
import { Node } from '../node.ts'
import { type Mode, optionsOf, type WorldOptions } from '../options.ts'
import { Outside } from '../provider.ts'
import { drained } from '../scheduler.ts'
import { type Asker, workActs } from './asker.ts'
import {
  type Budget,
  faults,
  LAPSE_MS,
  LEASE_MS,
  orders,
  RETENTION_MS,
  type Scene,
  settlements,
  settles,
  works,
} from './happenings.ts'
import { NoChance } from './no-chance.ts'
import { type ModelAct, ModelProcess } from './process.ts'
import { renamed, renamingsOf } from './renaming.ts'
import { stateOf } from './state.ts'

/** What a configuration consists of. */
export interface ModelConfig {
  readonly name: string
  readonly mode: Mode
  /** What each process is asked: a key and a body. */
  readonly asked: readonly (readonly { readonly key: string; readonly body: string }[])[]
  readonly options?: Partial<WorldOptions>
  /** How often each of these may happen. */
  readonly budget: Partial<Budget>
}

/** One run of the model. */
export class Model {
  readonly checks: Checks
  readonly #config: ModelConfig
  readonly #tables: Tables
  readonly #outside: Outside
  readonly #options: WorldOptions
  readonly #askers: Asker[] = []
  readonly #budget: Budget
  readonly #scene: Scene
  readonly #renamings: readonly ReadonlyMap<string, string>[]
  #now = 1_000_000
  #booted = 0
  #told = ''

  constructor(config: ModelConfig, flaws: ReadonlySet<Flaw> = new Set()) {
    this.#config = config
    this.#options = {
      ...optionsOf(1),
      ...{ leaseMs: LEASE_MS, retentionMs: RETENTION_MS, storeTimeoutMs: 60_000, waitMs: 0 },
      ...{ hasCache: false, afterCrash: 'refuse', marksEffect: false, graceMs: 0 },
      ...{ isolation: 'serializable', reconciles: false, honoursKeys: false, migrates: false },
      ...{ lanes: 1, mixesModes: false },
      ...config.options,
    }
    const none = { crash: 0, lapse: 0, expire: 0, retry: 0, complete: 0, reap: 0, settle: 0 }
    this.#budget = { ...none, release: 0, ...config.budget }
    this.#tables = new Tables({
      now: () => this.#now,
      onChange: (change) => this.checks.changed(change),
      flaws,
    })
    const rates = Object.fromEntries(Object.keys(this.#options.rates).map((name) => [name, 0]))
    const calm = { ...this.#options, rates: { ...this.#options.rates, ...rates } }
    this.#outside = new Outside(new NoChance(1), calm)
    const isAtMostOnce = this.#options.afterCrash === 'refuse'
    this.checks = new Checks({ tables: this.#tables, outside: this.#outside, isAtMostOnce })
    this.#scene = {
      ...{ askers: this.#askers, tables: this.#tables, outside: this.#outside },
      ...{ budget: this.#budget, pass: (ms) => this.#pass(ms), boot: () => void this.#boot([]) },
    }
    for (const asked of config.asked) this.#boot(asked)
    this.#renamings = renamingsOf(config.asked.map((asked) => JSON.stringify(asked)))
    // To be asked later comes to the same as being asked now, with the message on its way for longer.
    for (const act of this.#asks()) if (!act.name.includes('again')) act.run()
  }

  /**
   * Everything that can happen next, always in the same order; less what makes no difference. Once no
   * crash and no passing of time are left, what a process hears changes nothing for the others, and
   * when it does so makes none.
   */
  acts(): readonly ModelAct[] {
    const { crash, lapse, expire } = this.#budget
    const local = this.#askers.find(({ process }) => {
      return process.isAlive && process.replies().length > 0 && !process.hasDue
    })
    if (crash + lapse + expire === 0 && local !== undefined) {
      return local.process.replies().slice(0, 1)
    }
    const own = this.#askers.flatMap(({ process }) => process.acts())
    const outer = [faults, works, settles, orders].flatMap((happen) => happen(this.#scene))
    return [...own, ...this.#asks(), ...outer]
  }

  /** Does one of them, and all that follows from it by itself. */
  async act({ run }: ModelAct): Promise<void> {
    run()
    await drained()
    this.checks.hold()
  }

  /**
   * All that the future depends on. Processes that are asked the same are interchangeable: of all the
   * ways to name them the least one stands for the state.
   */
  state(): string {
    const state = this.#state()
    return this.#renamings.map((renaming) => renamed(state, renaming)).sort()[0] ?? ''
  }

  #state(): readonly string[] {
    return [
      ...stateOf(this.#tables, this.#outside),
      JSON.stringify(this.#budget),
      ...this.#told.split('\n').map((text) => `told ${text}`),
      ...this.#askers.map(({ process, left }) => `${process.state()} ${left.length}`),
    ]
  }

  /** Nothing can happen any more by itself: from here on everything goes well, and has to end. */
  async heal(): Promise<void> {
    const [first] = this.#config.asked.flat()
    const node = this.#boot([])
    for (const { key } of first === undefined ? [] : this.#keys()) await this.#answered(node, key)
    const [left] = [...this.#tables.records.values()].filter(({ response }) => response === null)
    if (left !== undefined) throw new Violation(`the record of ${left.key} is never finished`)
  }

  #keys(): readonly { readonly key: string }[] {
    const keys = new Set(this.#config.asked.flat().map(({ key }) => key))
    return [...keys].map((key) => ({ key }))
  }

  async #answered(asker: Asker, key: string): Promise<void> {
    const id = idOf(this.#config.mode, key)
    for (let tries = 0; this.#tables.records.get(id)?.response == null; tries++) {
      if (tries === 8) throw new Violation(`${key} is never answered`)
      const { fingerprint } = this.#tables.records.get(id) ?? {}
      const isOther = fingerprint === `${key} b`
      this.#ask(asker, { key, body: isOther ? 'b' : 'a' })
      await this.#rest()
      this.#pass(LAPSE_MS)
      await this.#rest()
      for (const act of [...workActs(asker), ...settlements(this.#scene, 'give_up')]) {
        await this.act(act)
        await this.#rest()
      }
    }
  }

  #pass(ms: number): void {
    this.#now += ms
    for (const session of [...this.#tables.sessions]) session.endIfSilent()
  }

  /** Lets everything under way come to its end, in the order in which it was begun. */
  async #rest(): Promise<void> {
    for (let steps = 0; steps < 1000; steps++) {
      const [next] = this.#askers.flatMap(({ process }) => process.acts())
      if (next === undefined) return
      await this.act(next)
    }
    throw new Violation('the model does not come to rest')
  }

  #boot(left: Asker['left']): Asker {
    const process = new ModelProcess(`p${++this.#booted}`, () => this.#now)
    const wires = { database: process.wire, provider: process.wire }
    const node = new Node<ModelProcess>({
      ...{ machine: process, wires, tables: this.#tables, outside: this.#outside, version: 1 },
      ...{ checks: this.checks, options: this.#options, chance: new NoChance(1) },
    })
    const asker = { node, process, left, running: 0 }
    this.#askers.push(asker)
    return asker
  }

  #ask(asker: Asker, { key, body }: { readonly key: string; readonly body: string }): void {
    const { mode } = this.#config
    const sent: Sent = { mode, key, body, id: idOf(mode, key), sentAt: this.#now }
    asker.running++
    asker.process.note(`asked ${key} ${body}`)
    const end = (text: string) => {
      if (asker.process.isAlive) asker.running--
      this.#told = [...new Set([...this.#told.split('\n'), text])].sort().join('\n')
    }
    void asker.node.serve(sent).then(
      (result) => {
        this.checks.told(sent, result, 0)
        end(`${key} ${body} ${textOf(result)}`)
      },
      (error: unknown) => {
        this.checks.failed(sent, error)
        end(`${key} ${body} failed`)
      },
    )
  }

  #asks(): readonly ModelAct[] {
    const first = this.#askers.flatMap((asker) => {
      const [next, ...left] = asker.left
      if (next === undefined || !asker.process.isAlive || asker.running > 0) return []
      const run = () => {
        asker.left = left
        this.#ask(asker, next)
      }
      return { name: `${asker.process.name} is asked ${next.key} ${next.body}`, run }
    })
    if (this.#budget.retry === 0) return first
    const idle = this.#askers.filter(({ process, left, running }) => {
      return process.isAlive && left.length === 0 && running === 0
    })
    const retries = idle.slice(0, 1).flatMap((asker) =>
      this.#keys().map(({ key }) => ({
        name: `${asker.process.name} is asked again ${key}`,
        run: () => {
          this.#budget.retry--
          this.#ask(asker, { key, body: 'a' })
        },
      })),
    )
    return [...first, ...retries]
  }
}

function textOf(result: RunResult): string {
  if (!('response' in result)) return result.outcome
  return `${result.outcome} ${new TextDecoder().decode(result.response.body)}`
}
