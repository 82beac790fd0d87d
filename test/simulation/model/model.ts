/**
 * The model: the real core, engine and phases in a few processes on one database, where everything
 * that can happen next is an act that the checker chooses.
 *
 * @module
 */

import { idOf } from '../app.ts'
import { Checks, type Sent, Violation } from '../checks.ts'
import { Tables } from '../database/tables.ts'
import type { Flaw } from '../flaws.ts'
import { Node } from '../node.ts'
import { type Mode, plainOptions, type WorldOptions } from '../options.ts'
import { Outside } from '../provider.ts'
import { drained } from '../scheduler.ts'
import { type Asker, free, isIdle, isStuck, workActs } from './asker.ts'
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
import { Leftovers } from './leftovers.ts'
import { nameless } from './naming.ts'
import { NoChance } from './no-chance.ts'
import { type ModelAct, ModelProcess } from './process.ts'
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

/** How a run of the model is made. */
export interface ModelOptions {
  /** Planted bugs. */
  readonly flaws?: ReadonlySet<Flaw>
  /** Leaves nothing out, so that it can be seen that nothing is lost by what is. */
  readonly isThorough?: boolean
}

/** What workers ask that is only of operations in phases. */
const OF_PHASES = new Set(['take unfinished', 'take untold', 'sweep history'])

const DEFAULTS = plainOptions(1)

/** One run of the model. */
export class Model {
  readonly checks: Checks
  readonly #config: ModelConfig
  readonly #isThorough: boolean
  readonly #tables: Tables
  readonly #outside: Outside
  readonly #options: WorldOptions
  readonly #askers: Asker[] = []
  readonly #budget: Budget
  readonly #scene: Scene
  /** Signs of life, and what workers ask of operations in phases where there are none. */
  readonly #isInert: (label: string) => boolean
  /**
   * Which timers keep a lease or a connection alive. What they do is seen in what they send and in the
   * timers that there are; the handlers of the model do not look at the signal.
   */
  readonly #isKeeping: (ms: number) => boolean
  #now = 1_000_000
  #booted = 0

  constructor(config: ModelConfig, { flaws = new Set(), isThorough = false }: ModelOptions = {}) {
    this.#config = config
    this.#isThorough = isThorough
    this.#options = {
      ...DEFAULTS,
      ...{ leaseMs: LEASE_MS, retentionMs: RETENTION_MS, storeTimeoutMs: 60_000, waitMs: 0 },
      ...{ hasCache: false, afterCrash: 'refuse', marksEffect: false, graceMs: 0 },
      ...{ isolation: 'serializable', reconciles: false, honoursKeys: false, migrates: false },
      ...{ lanes: 1, mixesModes: false },
      ...config.options,
    }
    this.#isKeeping = (ms) => !isThorough && (ms === LEASE_MS || ms === LEASE_MS / 4)
    this.#isInert = (label) => {
      return label === 'beat' || (config.mode !== 'phases' && OF_PHASES.has(label))
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
      ...{ isThorough, budget: this.#budget },
      ...{ pass: (ms) => this.#pass(ms), boot: () => void this.#boot([]) },
    }
    for (const asked of config.asked) this.#boot(asked)
    // To be asked later comes to the same as being asked now, with the message on its way for longer.
    for (const act of this.#firstAsks()) act.run()
  }

  /**
   * Everything that can happen next, always in the same order; less what makes no difference. What a
   * process hears changes nothing for the others, and where it has nothing else to hear and no timer
   * is due, what they do changes nothing for it: unless it goes by the time, and time may pass, it may
   * as well hear at once. To die before it hears comes to the same as to die before it was answered.
   */
  acts(): readonly ModelAct[] {
    const isOver = this.#isTimeOver
    const local = this.#askers.find(({ process }) => {
      return process.isAlive && (process.hasOnlyInert || process.hasOnlyToHear(isOver))
    })
    if (local !== undefined && !this.#isThorough) return local.process.acts()
    const own = this.#askers.flatMap(({ process }) => process.acts())
    const outer = [faults, works, settles, orders].flatMap((happen) => happen(this.#scene))
    return [...own, ...this.#firstAsks(), ...this.#retries(), ...outer]
  }

  /** Does one of them, and all that follows from it by itself. */
  async act({ run }: ModelAct): Promise<void> {
    run()
    await drained()
    for (const asker of this.#askers) {
      if (isIdle(asker)) await this.#forgets(asker)
      else if (isStuck(asker)) this.checks.violate(`${asker.process.name} never ends what it began`)
    }
    this.checks.hold()
  }

  /**
   * All that the future depends on. Nothing is left of a process that is dead and has nothing on its
   * way; one that has nothing under way knows nothing any more.
   */
  state(): string {
    const underway = this.#askers.filter(({ process }) => !process.isAtRest || process.isAlive)
    const isOver = this.#isTimeOver && !this.#isThorough
    const processes = underway.map(({ process, left, base }) => {
      return { name: process.name, text: `${process.state(isOver)}:${left.length}`, base }
    })
    const bases = new Map(underway.map(({ process, base }) => [process.name, base]))
    const isLive = (owner: string) => {
      const [name = '', number] = owner.slice(2).split('.')
      return Number(number) > (bases.get(name) ?? Number.POSITIVE_INFINITY)
    }
    return nameless(this.#surroundings(isLive), processes)
  }

  /** What has come of everything outside the processes. */
  outcome(): string {
    const surroundings = this.#surroundings(() => false)
    return nameless(surroundings, [])
  }

  #surroundings(isLive: (owner: string) => boolean): readonly string[] {
    const [tables, outside, { checks }] = [this.#tables, this.#outside, this]
    return [...stateOf({ tables, outside, checks, isLive }), JSON.stringify(this.#budget)]
  }

  /** Whether no time passes any more, until everything heals. */
  get #isTimeOver(): boolean {
    return this.#budget.lapse + this.#budget.expire === 0
  }

  /** With nothing under way it is as it was when it started: unless it waits for what never comes. */
  async #forgets(asker: Asker): Promise<void> {
    if (!asker.process.hasHistory || this.#isThorough) return
    asker.process.forget()
    asker.base = asker.node.numbered
    if (await asker.leftovers.areThere()) {
      this.checks.violate(`${asker.process.name} has answered, and keeps something for ever`)
    }
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
    const process = new ModelProcess(`p${++this.#booted}`, {
      now: () => this.#now,
      isKeeping: this.#isKeeping,
      isInert: this.#isInert,
      isThorough: this.#isThorough,
    })
    const wires = { database: process.wire, provider: process.wire }
    const node = new Node<ModelProcess>({
      ...{ machine: process, wires, tables: this.#tables, outside: this.#outside, version: 1 },
      ...{ checks: this.checks, options: this.#options, chance: new NoChance(1) },
    })
    const leftovers = new Leftovers(node.reprise)
    const asker = { node, process, leftovers, left, running: 0, base: 0 }
    this.#askers.push(asker)
    return asker
  }

  #ask(asker: Asker, { key, body }: { readonly key: string; readonly body: string }): void {
    const { mode } = this.#config
    const sent: Sent = { mode, key, body, id: idOf(mode, key), sentAt: this.#now }
    asker.running++
    asker.process.note(`asked ${key} ${body}`)
    const end = () => {
      if (asker.process.isAlive) asker.running--
    }
    void asker.node.serve(sent).then(
      (result) => {
        this.checks.told(sent, result, 0)
        end()
      },
      (error: unknown) => {
        this.checks.failed(sent, error)
        end()
      },
    )
  }

  #firstAsks(): readonly ModelAct[] {
    return this.#askers.flatMap((asker) => {
      const [next, ...left] = asker.left
      if (next === undefined || !asker.process.isAlive || asker.running > 0) return []
      const run = () => {
        asker.left = left
        this.#ask(asker, next)
      }
      return { name: () => `${asker.process.name} is asked ${next.key} ${next.body}`, run }
    })
  }

  #retries(): readonly ModelAct[] {
    if (this.#budget.retry === 0) return []
    return free(this.#askers).flatMap((asker) =>
      this.#keys().map(({ key }) => ({
        name: () => `${asker.process.name} is asked again ${key}`,
        run: () => {
          this.#budget.retry--
          this.#ask(asker, { key, body: 'a' })
        },
      })),
    )
  }
}
