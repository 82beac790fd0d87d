/**
 * Reprise: one effect and the same answer, however often a request is sent.
 *
 * @module
 */

export {
  DOCS_URL,
  docsUrlOf,
  ERRORS,
  type ErrorCode,
  type ErrorEntry,
  isRepriseError,
  RepriseError,
} from './core/errors.ts'
export type { EncryptionKeys, Recover, RecoverContext, RunOptions } from './core/options.ts'
export {
  type Effect,
  type Ending,
  type ResponsePolicy,
  responsePolicies,
  type Thrown,
  type Verdict,
} from './core/policy.ts'
export type { KeyRecord, Origin, RecordStatus, Resource } from './core/record.ts'
export {
  type CapturedResponse,
  CORS_ALLOW_HEADERS,
  CORS_EXPOSE_HEADERS,
  type Header,
  type HeaderPolicy,
} from './core/response.ts'
export type { Clock, Random } from './engine/clock.ts'
export type { EventListener, EventType, RepriseEvent } from './engine/events.ts'
export type { RunRequest } from './engine/job.ts'
export type { Handler, Run } from './engine/run.ts'
export type { ReplayCacheOptions } from './engine/replay-cache.ts'
export {
  createReprise,
  type LeaseReprise,
  type Reprise,
  type RepriseOptions,
  type TransactionReprise,
} from './engine/reprise.ts'
export type { Executed, Refused, Replayed, Running, RunResult } from './engine/result.ts'
export type { OpenedResponse } from './engine/seal.ts'
export type { Isolation, Store } from './engine/store.ts'
export type {
  TransactionHandler,
  TransactionOptions,
  TransactionRun,
} from './engine/transaction-run.ts'
export type { WaiterLimits } from './engine/waiters.ts'
export { type MemoryStoreOptions, memoryStore } from './stores/memory/store.ts'
