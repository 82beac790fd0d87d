/**
 * Reprise: one effect and the same answer, however often a request is sent.
 *
 * @module
 */

export {
  type ClientErrorCode,
  ERRORS,
  type ErrorCode,
  type ErrorEntry,
} from './core/error-table.ts'
export { isRepriseError, problemTypeOf, RepriseError } from './core/errors.ts'
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
export type { Encryption, Recover, RecoverContext, RunOptions } from './core/options.ts'
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
export type { Quota } from './core/quota.ts'
export type { KeyRecord, Origin, RecordStatus, Resource } from './core/record.ts'
export {
  type CapturedResponse,
  CORS_ALLOW_HEADERS,
  CORS_EXPOSE_HEADERS,
  type Header,
  type HeaderPolicy,
} from './core/response.ts'
export { hashSecret, type OpenSecretRing, openSecretRing, type SecretRing } from './core/secret.ts'
export { aesGcm, type EncryptionKeys } from './engine/aes-gcm.ts'
export type { Clock, Random } from './engine/clock.ts'
export { DuplicateRequest } from './engine/duplicate-request.ts'
export type {
  EventListener,
  EventType,
  OutcomeType,
  RepriseEvent,
  Skipped,
} from './engine/events.ts'
export type { RunRequest } from './engine/job.ts'
export { type KeyAge, type KeyAgeOptions, keyAge } from './engine/key-age.ts'
export {
  type ReplayCacheOptions,
  type ReplayCaching,
  replayCaching,
} from './engine/replay-cache.ts'
export {
  createReprise,
  type LeaseReprise,
  type Reprise,
  type RepriseOptions,
  type TransactionReprise,
} from './engine/reprise.ts'
export type {
  Executed,
  OverQuotaResult,
  Refused,
  Replayed,
  Running,
  RunResult,
} from './engine/result.ts'
export type { Handler, Run } from './engine/run.ts'
export type { OpenedResponse } from './engine/seal.ts'
export type { Stage, StageOptions } from './engine/stage.ts'
export type { Store } from './engine/store.ts'
export { checkTransactionRoute, transact } from './engine/transact.ts'
export type {
  TransactionHandler,
  TransactionOptions,
  TransactionRun,
} from './engine/transaction-handler.ts'
export type { ClaimTime, Isolation } from './engine/transactions.ts'
export type { WaiterLimits } from './engine/waiters.ts'
export { type MemoryStoreOptions, memoryStore } from './stores/memory/store.ts'
