/**
 * The network: everything a process asks of the database or of a provider travels here, and may be
 * slow, broken, lost, late, or done without the asker hearing of it.
 *
 * @module
 */

import type { Chance } from '../engine/chance.ts'
import { Blocked, DatabaseError } from './database/session.ts'
import type { Tables } from './database/tables.ts'
import type { Machine } from './machine.ts'
import type { FaultRates } from './options.ts'
import type { Scheduler } from './scheduler.ts'
import type { Trace } from './trace.ts'
import type { Exchange, Wire } from './wire.ts'

/** What happens to one exchange. */
interface Fate {
  /** Milliseconds to get there, and back. */
  readonly toMs: number
  readonly backMs: number
  /** It breaks: before it is carried out, or after. */
  readonly breaks: 'before' | 'after' | undefined
  /** Whether a commit is refused with a serialization failure. */
  readonly isRefused: boolean
}

/** What a network is made of. */
export interface NetworkParts {
  readonly scheduler: Scheduler
  readonly chance: Chance
  readonly trace: Trace
  readonly tables: Tables
  readonly rates: FaultRates
  /** Whether what is sent in one go can be cut in two by a crash. */
  readonly splits: boolean
  /** The clock of the database is set by so many milliseconds. */
  readonly onStep: (ms: number) => void
}

/** How often a statement looks whether its lock is free, in milliseconds: silence also ends locks. */
const LOCK_MS = 250
/** After so long a connection from which nothing comes counts as broken, in milliseconds. */
const SILENT_MS = [8000, 20_000, 60_000] as const
/** What can fail to be serialized: commits, and first statements. */
const COMMITS = /^(commit|advance to|finish phase|store \+ commit|begin \+ claim)/

/** All wires of one world. */
export class Network {
  readonly #parts: NetworkParts
  /** Whether faults happen. */
  isHealed = false
  /** Exchanges with providers that may still be carried out. */
  inFlight = 0
  #downUntil = 0
  #epoch = 0

  constructor(parts: NetworkParts) {
    this.#parts = parts
  }

  /** The database crashes and comes back after `ms`: open transactions and connections are gone. */
  restart(ms: number): void {
    const { scheduler, tables, trace } = this.#parts
    trace.add('database', `restarts, back in ${ms} ms`)
    this.#downUntil = scheduler.now + ms
    this.#epoch++
    for (const session of [...tables.sessions]) session.end()
    tables.crash()
  }

  /** The wire from a machine to the database. */
  toDatabase(machine: Machine): Wire {
    return {
      ask: (exchange) => this.#ask(machine, exchange, 'database'),
      connections: machine.connections,
      notify: (_label, wake) => {
        const { scheduler, chance, rates } = this.#parts
        // Signals are best effort: pollers are the net under them.
        if (!this.isHealed && chance.happens(rates.deafness)) return
        scheduler.after(chance.pick(0, 1, 5), () => machine.step(wake))
      },
    }
  }

  /** The wire from a machine to a provider. */
  toProvider(machine: Machine): Wire {
    const ask: Wire['ask'] = (exchange) => this.#ask(machine, exchange, 'provider')
    return { ask, notify: () => {} }
  }

  #ask<T>(machine: Machine, exchange: Exchange<T>, target: 'database' | 'provider'): Promise<T> {
    const { scheduler, chance } = this.#parts
    const fate = this.#fate(target, exchange)
    const isCounted = target === 'provider'
    return new Promise<T>((resolve, reject) => {
      const flight: Flight<T> = { machine, exchange, fate, target, resolve, reject }
      const depart = () => {
        if (isCounted) this.inFlight++
        if (exchange.lateMs !== undefined) {
          this.#reply(flight, () => reject(cut('connection reset')))
        }
        scheduler.after(fate.toMs, () => {
          if (isCounted) this.inFlight--
          this.#arrive(flight)
        })
      }
      const isSplit = this.#parts.splits && !this.isHealed && chance.happens(0.3)
      if (!isSplit) return machine.step(depart)
      // What is sent in one go can still be cut in two by a crash.
      scheduler.after(chance.pick(0, 0.01), () => machine.step(depart))
    })
  }

  #arrive<T>(flight: Flight<T>): void {
    const { exchange, fate, target, machine } = flight
    const { scheduler, tables, trace } = this.#parts
    const { label, session } = exchange
    if (target === 'database' && scheduler.now < this.#downUntil) {
      trace.add(machine.name, `${label}: the database is down`)
      return this.#reply(flight, () => flight.reject(cut('connection refused')))
    }
    for (const open of [...tables.sessions]) open.endIfSilent()
    if (target === 'database') this.#stepClock()
    tables.asker = machine.name
    if (fate.breaks === 'before') {
      session?.end()
      trace.add(machine.name, `${label}: cut before it was done`)
      return this.#reply(flight, () => flight.reject(cut('connection reset')))
    }
    if (fate.isRefused && COMMITS.test(label)) {
      session?.end()
      trace.add(machine.name, `${label}: could not serialize`)
      const error = new DatabaseError('retry', 'could not serialize access')
      return this.#reply(flight, () => flight.reject(error))
    }
    try {
      const value = exchange.apply()
      trace.add(machine.name, label, value)
      if (fate.breaks !== 'after') return this.#reply(flight, () => flight.resolve(value))
      session?.end()
      trace.add(machine.name, `${label}: done, and cut`)
      this.#reply(flight, () => flight.reject(cut('connection reset')))
    } catch (error) {
      if (error instanceof Blocked) {
        return void scheduler.after(LOCK_MS, () => this.#arrive(flight))
      }
      trace.add(machine.name, `${label}: ${String(error)}`)
      this.#reply(flight, () => flight.reject(error))
    }
  }

  /** The clock of the database is set, both ways. */
  #stepClock(): void {
    const { chance, rates, onStep } = this.#parts
    if (this.isHealed || rates.clock === 0 || !chance.happens(rates.clock)) return
    const ms = chance.pick(50, 50, 1000, 10_000, 3_600_000)
    onStep(chance.happens(0.6) ? -ms : ms)
  }

  #reply<T>({ machine, fate, target, reject, exchange }: Flight<T>, deliver: () => void): void {
    const { scheduler } = this.#parts
    if (exchange.hangs === true) return
    const epoch = this.#epoch
    scheduler.after(fate.backMs, () => {
      const isBroken = target === 'database' && epoch !== this.#epoch
      machine.step(isBroken ? () => reject(cut('connection reset')) : deliver)
    })
  }

  #fate(target: 'database' | 'provider', { lateMs, hangs }: Exchange<unknown>): Fate {
    const { chance, rates } = this.#parts
    const calm: Fate = { toMs: 0, backMs: 0, breaks: undefined, isRefused: false }
    if (lateMs !== undefined) return { ...calm, toMs: lateMs }
    if (hangs === true) return { ...calm, breaks: chance.pick('before', 'after') }
    const jitter = () => (chance.happens(0.5) ? 0 : chance.fraction() * rates.latencyMs)
    if (this.isHealed) return { ...calm, toMs: 0.1, backMs: 0.1 }
    const travel = { toMs: jitter(), backMs: jitter() }
    const isProvider = target === 'provider'
    if (chance.happens(isProvider ? rates.providerCut : rates.cut)) {
      return { ...calm, ...travel, breaks: chance.pick('before', 'after') }
    }
    if (chance.happens(isProvider ? rates.providerSlow : rates.slow)) {
      const ms = chance.pick(50, 400, 1500, 6000, 12_000)
      return chance.happens(0.5)
        ? { ...calm, ...travel, toMs: ms }
        : { ...calm, ...travel, backMs: ms }
    }
    if (chance.happens(rates.lost)) {
      return {
        ...calm,
        toMs: 0,
        backMs: chance.pick(...SILENT_MS),
        breaks: chance.pick('before', 'after'),
      }
    }
    return { ...calm, ...travel, isRefused: !isProvider && chance.happens(rates.serialization) }
  }
}

interface Flight<T> {
  readonly machine: Machine
  readonly exchange: Exchange<T>
  readonly fate: Fate
  readonly target: 'database' | 'provider'
  readonly resolve: (value: T) => void
  readonly reject: (error: unknown) => void
}

/** A connection that broke, as its code says it. */
function cut(message: string): Error {
  const code = message === 'connection refused' ? 'ECONNREFUSED' : 'ECONNRESET'
  return Object.assign(new DatabaseError('disconnected', message), { code })
}
