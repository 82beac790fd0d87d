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
import { type Asker, settleActs, workActs } from './asker.ts'
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
  readonly budget: Readonly<Partial<Record<Budgeted, number>>>
}

/** What may happen so often and no more. */
export type Budgeted = 'crash' | 'lapse' | 'expire' | 'retry' | 'complete' | 'reap' | 'settle'

const LEASE_MS = 1000
const RETENTION_MS = 20_000
/** Longer than a lease, and shorter than a call to the store may take. */
const LAPSE_MS = LEASE_MS + 1

/** One run of the model. */
export class Model {
  readonly checks: Checks
  readonly #config: ModelConfig
  readonly #tables: Tables
  readonly #outside: Outside
  readonly #options: WorldOptions
  readonly #askers: Asker[] = []
  readonly #budget: Record<Budgeted, number>
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
      ...config.options,
    }
    const none = { crash: 0, lapse: 0, expire: 0, retry: 0, complete: 0, reap: 0, settle: 0 }
    this.#budget = { ...none, ...config.budget }
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
    return [...own, ...this.#asks(), ...this.#faults(), ...this.#works(), ...this.#settles()]
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
      for (const act of [...workActs(asker), ...this.#settlesAll('give_up')]) {
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

  #faults(): readonly ModelAct[] {
    const { crash, lapse, expire } = this.#budget
    // To die with an answer on the way back comes to the same as to die before it was carried out:
    // what was sent arrives all the same, and nobody hears of it.
    const busy = this.#askers.filter(({ process, running }) => {
      return process.isAlive && running > 0 && process.replies().length === 0
    })
    const crashes = busy.map((asker) => ({
      name: `${asker.process.name} crashes`,
      run: () => {
        this.#budget.crash--
        asker.process.crash()
        asker.running = 0
        asker.left = []
        this.#boot([])
      },
    }))
    const pass = (name: 'lapse' | 'expire', ms: number) => ({
      name,
      run: () => {
        this.#budget[name]--
        this.#pass(ms)
      },
    })
    const isUsed = this.#tables.records.size > 0 || this.#tables.sessions.size > 0
    return [
      ...(crash > 0 ? crashes : []),
      ...(lapse > 0 && isUsed ? [pass('lapse', LAPSE_MS)] : []),
      ...(expire > 0 && isUsed ? [pass('expire', RETENTION_MS + LAPSE_MS)] : []),
    ]
  }

  #works(): readonly ModelAct[] {
    const { complete, reap } = this.#budget
    const asker = this.#askers.find(({ process, running, left }) => {
      return process.isAlive && running === 0 && left.length === 0
    })
    if (asker === undefined) return []
    const [completes, reaps] = workActs(asker)
    const paid = (name: 'complete' | 'reap', act: ModelAct | undefined) => {
      if (act === undefined || this.#budget[name] === 0) return []
      const run = () => {
        this.#budget[name]--
        act.run()
      }
      return [{ ...act, run }]
    }
    return [
      ...(complete > 0 ? paid('complete', completes) : []),
      ...(reap > 0 ? paid('reap', reaps) : []),
    ]
  }

  #settles(): readonly ModelAct[] {
    if (this.#budget.settle === 0) return []
    const isQuiet = this.#askers.every(({ process }) => process.acts().length === 0)
    const ways =
      isQuiet && !this.#isDone() ? (['resume', 'give_up'] as const) : (['give_up'] as const)
    return ways.flatMap((way) =>
      this.#settlesAll(way).map((act) => ({
        ...act,
        run: () => {
          this.#budget.settle--
          act.run()
        },
      })),
    )
  }

  /** Whether something took effect that a person would see in the ledger. */
  #isDone(): boolean {
    return (
      this.#outside.effects.length > 0 ||
      this.#outside.charges.some(({ point }) => point === 'charged')
    )
  }

  #settlesAll(way: 'resume' | 'give_up'): readonly ModelAct[] {
    const asker = this.#askers.find(({ process, running }) => process.isAlive && running === 0)
    return asker === undefined ? [] : settleActs(this.#tables, asker, way)
  }
}

function textOf(result: RunResult): string {
  if (!('response' in result)) return result.outcome
  return `${result.outcome} ${new TextDecoder().decode(result.response.body)}`
}
