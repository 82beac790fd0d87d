/**
 * The three workers: in the app's process or alone, on any number of nodes.
 *
 * @module
 */

import { invalid } from '../core/options.ts'
import { closeWith } from '../engine/closing.ts'
import type { Context } from '../engine/context.ts'
import { emit } from '../engine/events.ts'
import { type LeaseReprise, partsOf } from '../engine/reprise.ts'
import type { TakenRecord } from '../engine/work.ts'
import { messageOf } from '../phases/message.ts'
import { complete } from './completer.ts'
import { enqueue } from './enqueuer.ts'
import { resolveWorkers, type WorkerSettings, type WorkersOptions } from './options.ts'
import { reap } from './reaper.ts'
import { Rudder, watching } from './rudder.ts'
import { Service, type ServiceParts } from './service.ts'

/** Names of the workers. */
export type WorkerName = 'enqueuer' | 'completer' | 'reaper'

/** What a worker did. */
export interface WorkerEvent {
  readonly worker: WorkerName
  /** How many things; or one record, with how it ended. */
  readonly done: number
  /** How many of these were records that it put before a person, if any. */
  readonly buried?: number
  readonly tookMs: number
  /** What a run, or a phase that the completer took up, threw. */
  readonly error?: unknown
  /** For a record that the completer took up. */
  readonly record?: { readonly id: string; readonly operation: string; readonly ending: string }
}

/** One worker. */
export interface Worker {
  /** One run; gives how many things it did. */
  runOnce(): Promise<number>
  start(): void
  stop(): Promise<void>
  readonly isRunning: boolean
}

/** What {@link createWorkers} makes. */
export interface Workers {
  readonly enqueuer: Worker | undefined
  readonly completer: Worker | undefined
  readonly reaper: Worker | undefined
  /** Starts all of them. Starting twice comes to the same. */
  start(): void
  /** Stops all of them; resolves when the runs at hand are over. */
  stop(): Promise<void>
  /** One run of each, for cron; gives how many things each did. */
  runOnce(): Promise<Readonly<Record<WorkerName, number>>>
}

/** A heartbeat more often than this would be all that an idle worker writes, in milliseconds. */
const BEAT_MS = 10_000

/**
 * Makes the workers of an engine.
 *
 * @example
 * ```ts
 * const workers = createWorkers(reprise, { operations: [createRide], sink: pgBossSink(boss) })
 * workers.start()
 * ```
 * @throws RepriseError `reprise-options-invalid`
 */
export function createWorkers<Tx>(
  reprise: LeaseReprise,
  options: WorkersOptions<Tx> = {},
): Workers {
  const { context } = partsOf<Tx>(reprise)
  const settings = resolveWorkers(options, context.random)
  const workers = new WorkerSet(context, settings)
  closeWith(context, async () => {
    await workers.stop()
    await settings.sink?.close?.()
  })
  return workers
}

class WorkerSet<Tx> implements Workers {
  readonly enqueuer: Worker | undefined
  readonly completer: Worker | undefined
  readonly reaper: Worker | undefined
  readonly #context: Context<Tx>
  readonly #settings: WorkerSettings<Tx>

  constructor(context: Context<Tx>, settings: WorkerSettings<Tx>) {
    this.#context = context
    this.#settings = settings
    const { work, name } = context.store
    const { sink, operations } = settings
    if (work === undefined && (sink !== undefined || operations.length > 0)) {
      throw invalid(`the ${name} store keeps neither phases nor staged jobs: use PostgreSQL`)
    }
    this.enqueuer = this.#enqueuer()
    this.completer = this.#completer()
    this.reaper = this.#reaper()
  }

  start(): void {
    for (const worker of this.#all) worker.start()
  }

  async stop(): Promise<void> {
    await Promise.all(this.#all.map((worker) => worker.stop()))
  }

  async runOnce(): Promise<Readonly<Record<WorkerName, number>>> {
    const completer = (await this.completer?.runOnce()) ?? 0
    const enqueuer = (await this.enqueuer?.runOnce()) ?? 0
    const reaper = (await this.reaper?.runOnce()) ?? 0
    return { enqueuer, completer, reaper }
  }

  get #all(): readonly Worker[] {
    const { enqueuer, completer, reaper } = this
    return [enqueuer, completer, reaper].filter((worker) => worker !== undefined)
  }

  #enqueuer(): Worker | undefined {
    const { sink, enqueuer } = this.#settings
    const { work } = this.#context.store
    if (sink === undefined || work === undefined || enqueuer === false) return undefined
    const { clock } = this.#context
    const { jobs } = work
    const { everyMs, batchMax, timeoutMs, ...patience } = enqueuer
    return this.#service('enqueuer', {
      everyMs,
      run: () => enqueue({ jobs, sink, clock, batchMax, timeoutMs, patience }),
      watch: (wake) => jobs.watch(wake),
    })
  }

  #completer(): Worker | undefined {
    const { operations, completer, buriedMs } = this.#settings
    const { store, random } = this.#context
    const { work } = store
    if (work === undefined || completer === false) return undefined
    const { everyMs, concurrency, unknownGraceMs } = completer
    const onCompleted = ({ id, operation }: TakenRecord, ending: string, error: unknown) => {
      const record = { id, operation, ending }
      this.#tell({ worker: 'completer', done: 1, tookMs: 0, record }, error)
    }
    const parts = { work, operations, random, concurrency, unknownGraceMs, buriedMs, onCompleted }
    return this.#service('completer', { everyMs, run: () => complete(parts) })
  }

  #reaper(): Worker | undefined {
    const { operations, reaper } = this.#settings
    if (reaper === false) return undefined
    const { store, random, clock } = this.#context
    const { everyMs, ...rest } = reaper
    const byName = new Map(operations.map((operation) => [operation.name, operation]))
    const parts = { store, random, clock, ...rest, operations: byName }
    return this.#service('reaper', { everyMs, run: (isEnough) => reap(parts, isEnough) })
  }

  #service(worker: WorkerName, parts: Pick<ServiceParts, 'everyMs' | 'run' | 'watch'>): Worker {
    const { clock, random, store } = this.#context
    const { desk } = store
    const rudder = new Rudder(desk, worker)
    let beatAt = Number.NEGATIVE_INFINITY
    let unsaid = 0
    return new Service({
      ...{ clock, random, everyMs: parts.everyMs },
      watch: watching(parts.watch, desk && ((wake) => desk.watchSteering(worker, wake))),
      run: async (isEnough) => {
        await store.ready()
        return (await rudder.isHalted()) ? { done: 0 } : parts.run(isEnough)
      },
      onRun: async ({ done, buried, tookMs, error }) => {
        const event = { worker, done, tookMs, ...(buried > 0 ? { buried } : {}) }
        if (done > 0 || error !== undefined) this.#tell(event, error)
        unsaid += done
        if (error === undefined && clock.now() - beatAt < BEAT_MS) return
        beatAt = clock.now()
        const { node } = this.#settings
        const said = { done: unsaid, error: error === undefined ? null : messageOf(error) }
        unsaid = 0
        const { work = desk } = store
        await work?.beat?.({ worker, node, tookMs, everyMs: parts.everyMs, ...said })
      },
    })
  }

  #tell(event: WorkerEvent, error: unknown): void {
    const { onEvent } = this.#settings
    if (onEvent === undefined && error !== undefined) this.#context.warnings.tell(error)
    // Watching never breaks a worker.
    emit(onEvent, error === undefined ? event : { ...event, error })
  }
}
