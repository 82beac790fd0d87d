/**
 * Enqueuer, completer and reaper.
 *
 * @module
 */

export type {
  CompleterRunOptions,
  EnqueuerOptions,
  ReaperOptions,
  WorkersOptions,
} from './options.ts'
export type { Delivery, Sink, StagedJob, Undelivered } from './sink.ts'
export {
  createWorkers,
  type Worker,
  type WorkerEvent,
  type WorkerName,
  type Workers,
} from './workers.ts'
