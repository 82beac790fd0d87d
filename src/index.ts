/**
 * Reprise: one effect and the same answer, however often a request is sent.
 *
 * @module
 */

export {
  type ClientErrorCode,
  DOCS_URL,
  docsUrlOf,
  ERRORS,
  type ErrorCode,
  type ErrorEntry,
  isRepriseError,
  RepriseError,
} from './core/errors.ts'
export {
  type BodyDigest,
  type BodyDigester,
  type BodyOptions,
  bodyDigest,
  type ComparedRequest,
  digestValue,
  type FingerprintOptions,
  fingerprintRequest,
} from './core/fingerprint.ts'
export type { CanonicalOptions } from './core/json.ts'
export {
  type KeyFault,
  type KeyFormat,
  type KeyOptions,
  type KeyResult,
  keyTimestamp,
  parseKey,
} from './core/key.ts'
export type { EncryptionKeys, Recover, RecoverContext, RunOptions } from './core/options.ts'
export {
  type Effect,
  type Ending,
  type Fate,
  type ResponsePolicy,
  type ResponsePolicyName,
  responsePolicies,
  type Thrown,
  type Verdict,
  type VerdictOverride,
} from './core/policy.ts'
export type { KeyRecord, Origin, RecordStatus, Resource } from './core/record.ts'
export {
  type CapturedResponse,
  CORS_ALLOW_HEADERS,
  CORS_EXPOSE_HEADERS,
  type Header,
  type HeaderPolicy,
} from './core/response.ts'
export { hashSecret, type OpenSecretRing, openSecretRing, type SecretRing } from './core/secret.ts'
export type { Clock, Random } from './engine/clock.ts'
export type { EventListener, EventType, RepriseEvent } from './engine/events.ts'
export type { RunRequest } from './engine/job.ts'
export type { ReplayCacheOptions } from './engine/replay-cache.ts'
export {
  createReprise,
  type LeaseReprise,
  type Reprise,
  type RepriseOptions,
  type TransactionReprise,
} from './engine/reprise.ts'
export type { Executed, Refused, Replayed, Running, RunResult } from './engine/result.ts'
export type { Handler, Run } from './engine/run.ts'
export type { OpenedResponse } from './engine/seal.ts'
export type { Isolation, Store } from './engine/store.ts'
export type {
  TransactionHandler,
  TransactionOptions,
  TransactionRun,
} from './engine/transaction-run.ts'
export type { WaiterLimits } from './engine/waiters.ts'
export { type MemoryStoreOptions, memoryStore } from './stores/memory/store.ts'
