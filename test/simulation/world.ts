/**
 * One world: processes of the app, a database, a provider, clients and an operator, everything by the
 * chance of one seed. It plays what happens from outside, holds the checks against every step, then
 * heals and demands that everything comes to its end.
 *
 * @module
 */

import { Chance } from '../engine/chance.ts'
import { idOf } from './app.ts'
import { Checks, type Sent, Violation } from './checks.ts'
import { Clients } from './clients.ts'
import { type Change, type RecordRow, Tables } from './database/tables.ts'
import type { Flaw } from './flaws.ts'
import { Ledger, tokenOf } from './ledger.ts'
import { Machine } from './machine.ts'
import { Network } from './network.ts'
import { Node } from './node.ts'
import { Operator } from './operator.ts'
import type { Act, WorldOptions } from './options.ts'
import { versionOf } from './plan.ts'
import { Outside } from './provider.ts'
import { Scheduler } from './scheduler.ts'
import { LOOSE } from './shaped.ts'
import { Trace } from './trace.ts'

/** How a world is watched, and what is broken in it on purpose. */
export interface WorldSettings {
  /** Whether the trace is kept. */
  readonly isTraced?: boolean
  readonly flaws?: ReadonlySet<Flaw>
}

/** A world in which nothing may take more steps than this is one in which something spins. */
const STEPS_MAX = 60_000
/** Everything has come to its end within so much time after the faults stopped, in milliseconds. */
const HEALED_MS = 600_000
/** A phase without a time limit of its own has ended within so much time, in milliseconds. */
const PHASE_MS = 700_000
/** The clock of the database starts here: late enough for what lies in the past. */
const EPOCH_MS = 1_000_000
/** Two instants of the database differ, as in PostgreSQL. */
const TICK_MS = 0.001

/** One world. */
export class World {
  readonly options: WorldOptions
  readonly scheduler: Scheduler
  readonly trace: Trace
  readonly tables: Tables
  readonly outside: Outside
  readonly checks: Checks
  readonly ledger: Ledger
  readonly network: Network
  readonly nodes: Node<Machine>[] = []
  readonly chance: Chance
  readonly #requests: readonly Omit<Sent, 'body' | 'sentAt'>[]
  readonly #clients: Clients
  readonly #operator: Operator
  #booted = 0
  #ticks = 0
  #version = 1
  /** The version of every process that there was. */
  readonly #versions = new Map<string, number>()
  /** How far the clock of the database was set, now and at most, and by how much in all. */
  #clockMs = 0
  #clockMsMax = 0
  #clockSetMs = 0

  constructor(options: WorldOptions, { isTraced = false, flaws = new Set() }: WorldSettings = {}) {
    const { seed, rates } = options
    this.options = options
    this.chance = new Chance(seed * 31 + 2)
    this.scheduler = new Scheduler(new Chance(seed * 31 + 3))
    this.trace = new Trace(isTraced, () => this.scheduler.now)
    this.tables = new Tables({
      now: () => this.databaseNow + TICK_MS * ++this.#ticks,
      elapsed: () => this.scheduler.now,
      onChange: (change) => this.#changed(change),
      flaws,
    })
    this.outside = new Outside(new Chance(seed * 31 + 4), options)
    const isAtMostOnce = options.afterCrash === 'refuse'
    const { tables, outside } = this
    this.checks = new Checks({
      ...{ tables, outside, isAtMostOnce, quota: options.quota, plan: options.plan },
      clockSetMs: () => this.#clockSetMs,
      versionOf: (name) => this.#versions.get(name) ?? 1,
      running: () => this.nodes.map(({ version }) => version),
      ledger: () => this.ledger,
    })
    this.ledger = new Ledger({
      ...{ chance: new Chance(seed * 31 + 8), rates },
      violate: (message) => this.checks.violate(message),
      note: (what) => this.checks.note(what),
    })
    for (const feature of options.plan?.features ?? []) this.checks.note(`world with ${feature}`)
    this.network = new Network({
      ...{ scheduler: this.scheduler, trace: this.trace, tables: this.tables, rates },
      splits: options.splits,
      onStep: (ms) => this.#setClock(ms),
      chance: new Chance(seed * 31 + 5),
    })
    this.#clients = new Clients(this, new Chance(seed * 31 + 6))
    this.#operator = new Operator(this, new Chance(seed * 31 + 7))
    this.#requests = options.modes.flatMap((mode) =>
      Array.from({ length: options.keys }, (_, index) => {
        const key = `${mode}-${index + 1}`
        return { mode, key, id: idOf(mode, key) }
      }),
    )
    while (this.nodes.length < options.machines) {
      const isNew = options.isRolledOut && this.nodes.length % 2 === 1
      this.nodes.push(this.#boot(isNew ? 2 : 1))
    }
  }

  /** The time of the database. */
  get databaseNow(): number {
    return EPOCH_MS + this.scheduler.now + this.#clockMs
  }

  /** Plays it to the end. */
  async play(): Promise<void> {
    let at = 0
    for (const act of this.options.acts) {
      at += act.afterMs
      this.scheduler.after(at, () => this.#act(act))
    }
    await this.#until(() => this.scheduler.now >= at, at + HEALED_MS)
    this.#heal()
    const end = this.scheduler.now + HEALED_MS
    await this.#until(() => this.#clients.waiting === 0, end)
    if (this.#clients.waiting > 0) throw new Violation(`${this.#clients.waiting} clients wait on`)
    await this.#settle(end)
    await this.#close(end + PHASE_MS)
  }

  /** A request for one of the keys. */
  request(pick: number, body: string): Sent {
    const { length } = this.#requests
    const request = this.#requests[Math.floor(pick * length)]
    if (request === undefined) throw new RangeError(`${pick} is not in [0, 1).`)
    return { ...request, body, sentAt: this.databaseNow }
  }

  /** A machine that is up, by chance. */
  pickNode(pick: number): Node<Machine> | undefined {
    const up = this.nodes.filter(({ machine }) => machine.state === 'alive')
    return up[Math.floor(pick * up.length)]
  }

  #act({ kind, pick }: Act): void {
    const node = this.nodes[Math.floor(pick * this.nodes.length)]
    if (node === undefined) return
    const { machine } = node
    switch (kind) {
      case 'send':
        return this.#clients.send(this.request(pick, 'a'))
      case 'send other body':
        return this.#clients.send(this.request(pick, 'b'))
      case 'send loose body':
        return this.#clients.send(this.request(pick, LOOSE))
      case 'burst':
        for (let copies = 0; copies < 3; copies++) this.#clients.send(this.request(pick, 'a'))
        return
      case 'crash':
        return this.#replace(node, node.version)
      case 'deploy':
        return this.#deploy(node, pick)
      case 'freeze':
        this.trace.add(machine.name, 'freezes')
        return machine.freeze()
      case 'thaw':
        this.trace.add(machine.name, 'thaws')
        return machine.thaw()
      case 'nap':
        return this.#nap(this.#clients.asked?.machine ?? machine)
      case 'restart':
        return this.network.restart(Math.round(pick * 3000))
      case 'jump':
        this.trace.add(machine.name, 'its clock jumps')
        return machine.jump(pick < 0.5 ? 2000 : 86_400_000)
      case 'settle':
        return this.#operator.act()
      case 'set clock': {
        const ms = this.chance.pick(50, 1000, 60_000, 3_600_000)
        const isBack = this.chance.happens(0.5)
        this.trace.add(machine.name, `its wall clock is set ${isBack ? 'back' : 'ahead'}`)
        this.checks.note(`clock of a process set ${isBack ? 'back' : 'ahead'}`)
        return machine.setUnix(isBack ? -ms : ms)
      }
      case 'wait':
        return
    }
  }

  /** A machine freezes, for about as long as a lease or an answer holds, and goes on. */
  #nap(machine: Machine): void {
    const { leaseMs, retentionMs } = this.options
    const leases = [0.5, 0.9, 1.3, 3].map((part) => part * leaseMs)
    const ms = this.chance.pick(Math.min(retentionMs, 20_000) + leaseMs, ...leases)
    this.trace.add(machine.name, `freezes for ${ms} ms`)
    machine.freeze()
    this.scheduler.after(ms, () => machine.thaw())
  }

  /** A node of another version takes the place of one: mostly the next, sometimes the one before. */
  #deploy(node: Node<Machine>, pick: number): void {
    const { plan } = this.options
    const before = this.#version
    if (plan === undefined) this.#version = before === 1 ? 2 : 1
    else {
      const isBack = (pick * 1000) % 1 < 0.3
      this.#version = Math.min(Math.max(before + (isBack ? -1 : 1), 1), plan.versions.length)
      const newer = versionOf(plan, Math.max(before, this.#version))
      const way = this.#version < before ? 'rollback' : 'deploy'
      if (this.#version !== before) {
        for (const change of newer.changes) this.checks.note(`${way} of ${change}`)
      }
    }
    this.#replace(node, this.#version)
  }

  #changed(change: Change): void {
    this.checks.changed(change)
    if (change.kind !== 'settled' || change.letter.settlement?.way !== 'resume') return
    this.ledger.resume(tokenOf(change.letter.input))
  }

  /** The clock of the database is set. */
  #setClock(ms: number): void {
    this.#clockMs += ms
    this.#clockMsMax = Math.max(this.#clockMsMax, this.#clockMs)
    this.#clockSetMs += Math.abs(ms)
    this.trace.add('database', `its clock is set by ${ms} ms`)
    this.checks.note(`clock of the database set ${ms < 0 ? 'back' : 'ahead'}`)
  }

  #replace(node: Node<Machine>, version: number): void {
    this.trace.add(node.machine.name, `dies, and version ${version} is started`)
    node.machine.die()
    this.checks.note('crash')
    this.nodes[this.nodes.indexOf(node)] = this.#boot(version)
  }

  #boot(version = this.#version): Node<Machine> {
    const { clockRates, stopsWhenFrozen } = this.options
    const number = ++this.#booted
    const rate = clockRates[number % clockRates.length] ?? 1
    this.#versions.set(`n${number}`, version)
    const clock = { rate, stopsWhenFrozen, offsetMs: this.chance.fraction() * 1e9 }
    const machine = new Machine(`n${number}`, this.scheduler, clock)
    const { network, tables, outside, ledger, checks, options } = this
    const node = new Node({
      ...{ machine, tables, outside, ledger, version, checks, options },
      wires: { database: network.toDatabase(machine), provider: network.toProvider(machine) },
      chance: new Chance(options.seed * 31 + 100 + number),
    })
    const isHealed = this.network.isHealed
    if (isHealed || this.chance.happens(options.workerShare)) node.workers.start()
    return node
  }

  /** Everything goes well from here on. */
  #heal(): void {
    this.trace.add('world', 'heals')
    this.network.isHealed = true
    this.outside.isHealed = true
    this.ledger.isHealed = true
    // What was promised for an hour by a clock that was ahead would take an hour.
    this.#clockMs = this.#clockMsMax
    for (const { machine } of this.nodes) machine.thaw()
    // Whoever is left runs the same version: a deploy ends.
    for (const node of [...this.nodes]) {
      if (node.version !== this.#version) this.#replace(node, this.#version)
    }
    this.nodes[0]?.workers.start()
    this.#clients.retryForEver()
  }

  /** Every key is asked for until it has its answer; a person settles what only a person can. */
  async #settle(end: number): Promise<void> {
    await this.#answerAll(end)
    while (!this.#isIdle && this.scheduler.now < end) {
      this.#operator.act()
      const until = this.scheduler.now + 500
      await this.#until(() => this.scheduler.now >= until, until)
      // One that slept through it all may have begun anew what had expired meanwhile.
      if (this.#unfinished !== undefined) await this.#answerAll(end)
    }
    const [lost] = this.checks.undelivered()
    if (lost !== undefined) throw new Violation(`${lost} was staged and is never delivered`)
    if (this.#operator.open > 0) throw new Violation('a dead letter can not be settled')
    const left = this.#unfinished
    if (left !== undefined) throw new Violation(`the record of ${left.key} is never finished`)
  }

  get #isIdle(): boolean {
    const isDelivered = this.checks.undelivered().length === 0
    return this.#operator.open === 0 && isDelivered && this.#unfinished === undefined
  }

  get #unfinished(): RecordRow | undefined {
    return [...this.tables.records.values()].find(({ response }) => response === null)
  }

  async #answerAll(end: number): Promise<void> {
    const { modes, keys } = this.options
    for (let index = 0; index < modes.length * keys; index++) {
      const pick = (index + 0.5) / (modes.length * keys)
      await this.#answer(pick, end)
    }
  }

  async #answer(pick: number, end: number): Promise<void> {
    const definite = (): boolean => {
      const { id } = this.request(pick, 'a')
      return this.tables.records.get(id)?.response != null
    }
    for (let tries = 0; !definite(); tries++) {
      const { key } = this.request(pick, 'a')
      if (this.scheduler.now >= end) throw new Violation(`${key} is never answered`)
      this.#clients.send(this.request(pick, this.#bodyOf(pick)))
      const until = this.scheduler.now + 2000
      await this.#until(() => this.scheduler.now >= until, until)
      if (tries % 3 === 2) this.#operator.act()
    }
  }

  /** The body that the record stands for, so that the request is not another one. */
  #bodyOf(pick: number): string {
    const { id, key, mode } = this.request(pick, 'a')
    const { fingerprint } = this.tables.records.get(id) ?? {}
    if (mode === 'phases') return this.#clients.bodyOf(id, fingerprint) ?? 'a'
    return fingerprint === `${key} b` ? 'b' : 'a'
  }

  /** Ends the processes, and looks whether anything is left. */
  async #close(end: number): Promise<void> {
    let closed = 0
    this.#clients.isLate = true
    for (const node of this.nodes) void node.close().then(() => closed++)
    await this.#until(() => closed === this.nodes.length, end)
    if (closed < this.nodes.length) throw new Violation('a process does not close')
    const isUnlimited = this.options.plan?.features.has('unlimited phases') === true
    const rest = this.scheduler.now + (isUnlimited ? PHASE_MS : 120_000)
    await this.#until(() => this.scheduler.now >= rest, rest)
    for (const session of [...this.tables.sessions]) session.endIfSilent()
    if (this.tables.sessions.size > 0) throw new Violation('a transaction is left open')
    const kept = this.nodes.find(({ machine }) => machine.connections.size > 0)
    if (kept !== undefined) throw new Violation('a connection is never given back')
    const timers = this.nodes.reduce((sum, { machine }) => sum + machine.timers, 0)
    if (timers > 0) throw new Violation(`${timers} timers are left`)
  }

  /** Goes on until something is so, or the time is up. */
  async #until(isDone: () => boolean, end: number): Promise<void> {
    await this.scheduler.until(() => {
      this.checks.hold()
      if (this.scheduler.steps > STEPS_MAX) throw new Violation(`more than ${STEPS_MAX} steps`)
      return isDone()
    }, end)
  }
}
