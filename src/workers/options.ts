/**
 * Every default of the workers, in one place.
 *
 * @module
 */

import { hostname } from 'node:os'
import { checkFunctions, checkNames, type Names, said } from '../core/known-options.ts'
import { invalid, whole } from '../core/options.ts'
import type { Random } from '../engine/clock.ts'
import type { JobPatience } from '../engine/work.ts'
import type { Completable } from '../phases/operation.ts'
import { GRACE_MS } from '../phases/patience.ts'
import type { Sink } from './sink.ts'
import type { WorkerEvent } from './workers.ts'

/** Settings of the enqueuer. */
export interface EnqueuerOptions {
  /**
   * Longest pause between two looks, in milliseconds; a commit wakes it earlier.
   *
   * @default 1000
   */
  readonly everyMs?: number
  /**
   * How many jobs are handed over at once.
   *
   * @default 100
   */
  readonly batchMax?: number
  /**
   * How long the sink may take for a batch, in milliseconds.
   *
   * @default 30000
   */
  readonly timeoutMs?: number
  /**
   * First pause before a job that failed is tried again, in milliseconds; doubles.
   *
   * @default 1000
   */
  readonly retryMs?: number
  /**
   * The longest of these pauses, in milliseconds.
   *
   * @default 600000 (10 minutes)
   */
  readonly retryMsMax?: number
  /**
   * After this many tries a job is set aside, with its error.
   *
   * @default 25
   */
  readonly attemptsMax?: number
}

/** Settings of the completer; when it takes up which record is said by each operation. */
export interface CompleterRunOptions {
  /**
   * Pause between two looks, in milliseconds.
   *
   * @default 10000
   */
  readonly everyMs?: number
  /**
   * How many records are driven at a time.
   *
   * @default 4
   */
  readonly concurrency?: number
  /**
   * How long a record whose outcome is unknown is left to the clients, whose route may let them take
   * it up, before it is put before a person, in milliseconds.
   *
   * @default 300000 (5 minutes)
   */
  readonly unknownGraceMs?: number
}

/** Settings of the reaper. */
export interface ReaperOptions {
  /**
   * Pause between two runs, in milliseconds.
   *
   * @default 3600000 (an hour)
   */
  readonly everyMs?: number
  /**
   * How many records are deleted in one statement.
   *
   * @default 1000
   */
  readonly batchMax?: number
  /**
   * Largest share of the time in which it deletes, from above 0 to 1: after each batch it rests, so
   * that requests find the database free. A tenth of it is some twenty thousand records a second.
   *
   * @default 0.1
   */
  readonly shareMax?: number
  /**
   * How long `onAbandon` may take, in milliseconds.
   *
   * @default 60000
   */
  readonly leaseMs?: number
  /**
   * How long the counters of an hour are kept, in milliseconds.
   *
   * @default 2592000000 (30 days)
   */
  readonly countsMs?: number
  /**
   * How long it is noted who answered which duplicate, in milliseconds.
   *
   * @default 604800000 (7 days)
   */
  readonly notesMs?: number
}

/** Settings of `createWorkers`. */
export interface WorkersOptions<Tx> {
  /**
   * The operations that the completer drives on.
   *
   * @default none
   */
  readonly operations?: readonly Completable[]
  /**
   * Where staged jobs go.
   *
   * @default nowhere: the enqueuer does not run
   */
  readonly sink?: Sink<Tx>
  /** Settings of the enqueuer; `false` to leave it out. */
  readonly enqueuer?: EnqueuerOptions | false
  /** Settings of the completer; `false` to leave it out. */
  readonly completer?: CompleterRunOptions | false
  /** Settings of the reaper; `false` to leave it out. */
  readonly reaper?: ReaperOptions | false
  /**
   * Name of this process, for whoever looks which worker last ran where.
   *
   * @default host name, process id and chance
   */
  readonly node?: string
  /**
   * Told of what the workers do, for logs and metrics.
   *
   * @default none
   */
  readonly onEvent?: (event: WorkerEvent) => void
}

/** The same with nothing left open. */
export interface WorkerSettings<Tx> {
  readonly operations: readonly Completable[]
  readonly sink: Sink<Tx> | undefined
  readonly enqueuer:
    | (Required<Pick<EnqueuerOptions, 'everyMs' | 'batchMax' | 'timeoutMs'>> & JobPatience)
    | false
  readonly completer: Required<CompleterRunOptions> | false
  readonly reaper: Required<ReaperOptions> | false
  /** How long a record that needs a person is kept, in milliseconds. */
  readonly buriedMs: number
  readonly node: string
  readonly onEvent: ((event: WorkerEvent) => void) | undefined
}

const DAY_MS = 86_400_000

const WORKERS: Names<WorkersOptions<unknown>> = {
  operations: true,
  sink: true,
  enqueuer: true,
  completer: true,
  reaper: true,
  node: true,
  onEvent: true,
}
const ENQUEUER: Names<EnqueuerOptions> = {
  everyMs: true,
  batchMax: true,
  timeoutMs: true,
  retryMs: true,
  retryMsMax: true,
  attemptsMax: true,
}
const COMPLETER: Names<CompleterRunOptions> = {
  everyMs: true,
  concurrency: true,
  unknownGraceMs: true,
}
const REAPER: Names<ReaperOptions> = {
  everyMs: true,
  batchMax: true,
  shareMax: true,
  leaseMs: true,
  countsMs: true,
  notesMs: true,
}

/**
 * Fills in the defaults.
 *
 * @throws RepriseError `reprise-options-invalid`
 */
export function resolveWorkers<Tx>(
  options: WorkersOptions<Tx>,
  random: Random,
): WorkerSettings<Tx> {
  checkNames('createWorkers()', options, WORKERS)
  const { operations = [], sink, enqueuer = {}, completer = {}, reaper = {}, onEvent } = options
  if (!Array.isArray(operations)) {
    throw invalid(`operations must be an array of what operation() made, not ${said(operations)}`)
  }
  if (sink !== undefined) {
    const asked = 'sink must be a sink, such as functionSink(async (job) => …) gives'
    checkFunctions(sink, ['deliver'], asked)
  }
  if (enqueuer !== false) checkNames('enqueuer of createWorkers()', enqueuer, ENQUEUER)
  if (completer !== false) checkNames('completer of createWorkers()', completer, COMPLETER)
  if (reaper !== false) checkNames('reaper of createWorkers()', reaper, REAPER)
  const names = operations.map(({ name }) => name)
  const twice = names.find((name, index) => names.indexOf(name) !== index)
  if (twice !== undefined) throw invalid(`two operations are named ${twice}`)
  return {
    ...{ operations, sink, onEvent, buriedMs: 30 * DAY_MS },
    node: options.node ?? `${hostname()}:${process.pid}:${random.token().slice(0, 6)}`,
    enqueuer: enqueuer !== false && {
      everyMs: whole('enqueuer.everyMs', enqueuer.everyMs ?? 1000, 1),
      batchMax: whole('enqueuer.batchMax', enqueuer.batchMax ?? 100, 1),
      timeoutMs: whole('enqueuer.timeoutMs', enqueuer.timeoutMs ?? 30_000, 1),
      retryMs: whole('enqueuer.retryMs', enqueuer.retryMs ?? 1000, 1),
      retryMsMax: whole('enqueuer.retryMsMax', enqueuer.retryMsMax ?? 600_000, 1),
      attemptsMax: whole('enqueuer.attemptsMax', enqueuer.attemptsMax ?? 25, 1),
    },
    completer: completer !== false && {
      everyMs: whole('completer.everyMs', completer.everyMs ?? 10_000, 1),
      concurrency: whole('completer.concurrency', completer.concurrency ?? 4, 1),
      unknownGraceMs: whole('completer.unknownGraceMs', completer.unknownGraceMs ?? GRACE_MS, 0),
    },
    reaper: reaper !== false && {
      everyMs: whole('reaper.everyMs', reaper.everyMs ?? 3_600_000, 1),
      batchMax: whole('reaper.batchMax', reaper.batchMax ?? 1000, 1),
      shareMax: share('reaper.shareMax', reaper.shareMax ?? 0.1),
      leaseMs: whole('reaper.leaseMs', reaper.leaseMs ?? 60_000, 100),
      countsMs: whole('reaper.countsMs', reaper.countsMs ?? 30 * DAY_MS, 0),
      notesMs: whole('reaper.notesMs', reaper.notesMs ?? 7 * DAY_MS, 0),
    },
  }
}

function share(name: string, value: number): number {
  if (value > 0 && value <= 1) return value
  throw invalid(`${name} must be above 0 and at most 1, not ${value}`)
}
