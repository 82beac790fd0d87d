/**
 * One process of the app: the real engine, operation and workers, on a machine, over the network.
 *
 * @module
 */

import type { CapturedResponse } from '../../src/core/response.ts'
import type { Random } from '../../src/engine/clock.ts'
import type { RunResult } from '../../src/engine/result.ts'
import { createReprise, type Reprise } from '../../src/index.ts'
import { type DeadLetters, deadLetters, type Operation } from '../../src/phases/index.ts'
import { createWorkers, type Sink, type Workers } from '../../src/workers/index.ts'
import {
  type AppParts,
  CALLER,
  idOf,
  leaseHandler,
  type Order,
  payment,
  transactionHandler,
} from './app.ts'
import type { Sent } from './checks.ts'
import type { Tables } from './database/tables.ts'
import { remoteStore, type SimulatedTx } from './remote-store.ts'
import { shaped } from './shaped.ts'
import type { Wire } from './wire.ts'

/** What a node is made of. */
export interface NodeParts<Host extends AppParts['machine']>
  extends Omit<AppParts, 'machine' | 'reprise' | 'wire' | 'number'> {
  readonly machine: Host
  /** To the database, and to the provider. */
  readonly wires: { readonly database: Wire; readonly provider: Wire }
  readonly tables: Tables
  readonly version: number
}

const ENQUEUER = { batchMax: 3, timeoutMs: 2000, retryMs: 500, retryMsMax: 2000 }

/** A process of the app. */
export class Node<Host extends AppParts['machine'] = AppParts['machine']> {
  readonly machine: Host
  readonly version: number
  readonly reprise: Reprise<SimulatedTx>
  readonly #app: AppParts
  // Made when they are asked for: the model checker starts many processes that never need them.
  #operationMade: Operation<SimulatedTx, Order> | undefined
  #lettersMade: DeadLetters | undefined
  #workersMade: Workers | undefined
  #lastToken = ''
  #numbers = 0

  constructor(parts: NodeParts<Host>) {
    const { machine, wires, tables, options, chance } = parts
    const number = () => `${machine.name}.${++this.#numbers}`
    this.machine = machine
    this.version = parts.version
    const random: Random = {
      token: () => {
        this.#lastToken = `t-${number()}`
        return this.#lastToken
      },
      bytes: (length) => new Uint8Array(length),
      fraction: () => chance.fraction(),
    }
    const { leaseMs, retentionMs, storeTimeoutMs, waitMs, marksEffect, afterCrash, quota } = options
    this.reprise = createReprise({
      ...{ leaseMs, retentionMs, storeTimeoutMs, waitMs, marksEffect, random },
      ...(quota !== undefined && { quota }),
      clock: machine.clock,
      store: remoteStore(tables, wires.database),
      compressBytesMin: false,
      replayCache: options.hasCache ? {} : false,
      afterCrash: afterCrash === 'look' ? ({ key }) => this.#look(key) : afterCrash,
      onEvent: ({ type, error }) => {
        if (error instanceof TypeError) parts.checks.violate(`${type}: ${String(error)}`)
      },
    })
    this.#app = { ...parts, wire: wires.provider, reprise: this.reprise, number }
  }

  get #operation(): Operation<SimulatedTx, Order> {
    const { options, ledger } = this.#app
    this.#operationMade ??=
      options.plan === undefined || ledger === undefined
        ? payment(this.#app, this.version)
        : shaped({ ...this.#app, ledger }, options.plan, this.version)
    return this.#operationMade
  }

  get letters(): DeadLetters {
    this.#lettersMade ??= deadLetters(this.reprise)
    return this.#lettersMade
  }

  get workers(): Workers {
    const { idleness, lanes, graceMs } = this.#app.options
    this.#workersMade ??= createWorkers(this.reprise, {
      operations: [this.#operation],
      sink: this.#sink(),
      node: this.machine.name,
      enqueuer: { ...ENQUEUER, everyMs: 3000 * idleness },
      completer: { everyMs: 2000 * idleness, concurrency: lanes, unknownGraceMs: graceMs },
      reaper: { everyMs: 8000 * idleness, leaseMs: 2000, batchMax: 2 },
    })
    return this.#workersMade
  }

  /** How many numbers it has given out. */
  get numbered(): number {
    return this.#numbers
  }

  /** Runs a request as its mode says. */
  serve(sent: Sent): Promise<RunResult> {
    const { mode, key, body } = sent
    if (mode === 'phases') {
      return this.#operation.run({ caller: CALLER, key, input: { key, body } })
    }
    const request = { caller: CALLER, operation: mode, key, fingerprints: [`${key} ${body}`] }
    const isMixed = this.version === 2 && this.#app.options.mixesModes
    if (mode === 'transaction' && !isMixed) {
      const handler = transactionHandler(this.#app, sent)
      return this.reprise.runInTransaction(request, handler, this.#app.options.transaction)
    }
    // The engine makes the token of the run before it does anything else, so that it is known here.
    let owner = ''
    const handled = this.reprise.run(request, (run) => leaseHandler(this.#app, sent, owner)(run))
    owner = this.#lastToken
    return handled
  }

  /** Ends everything; resolves when nothing of it is left. */
  async close(): Promise<void> {
    await this.workers.stop()
    await this.reprise.close()
  }

  /** What became of a run that stopped, by the effects that there are. */
  async #look(key: string): Promise<CapturedResponse | 'rerun' | 'refuse'> {
    const { outside, wire } = this.#app
    const effect = await wire.ask({
      label: 'look',
      apply: () => outside.effects.findLast(({ id }) => id === idOf('lease', key)),
    })
    return effect === undefined ? 'rerun' : 'refuse'
  }

  #sink(): Sink<SimulatedTx> {
    const { outside, chance, options, checks, wire } = this.#app
    return {
      name: 'simulated',
      deliver: async (jobs) => {
        const failed: { id: string; error: string }[] = []
        for (const { id, args } of jobs) {
          await wire.ask({
            label: `deliver ${id}`,
            apply: () => {
              if (outside.isHealed || !chance.happens(options.rates.sink))
                checks.delivered(id, args)
              else failed.push({ id, error: 'The queue refused it.' })
            },
          })
        }
        return failed
      },
    }
  }
}
