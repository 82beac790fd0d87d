/**
 * The client's half: keys, safe retries and a journal, in browsers and in Node.
 *
 * @module
 */

export {
  type Client,
  createClient,
  idempotentFetch,
  type Resumed,
  type ResumeOptions,
  type Send,
} from './client.ts'
export type { Clock, Random } from './clock.ts'
export type { Connectivity } from './connectivity.ts'
export type { Result } from './context.ts'
export type { EntryState, JournalEntry } from './entry.ts'
export {
  JournalError,
  OutcomeUnknownError,
  type UnknownReason,
} from './errors.ts'
export type { ClientEvent, ClientEventListener, ClientEventType } from './events.ts'
export { type JournalLimits, type JournalStore, memoryJournal, type Release } from './journal.ts'
export { deriveKey, uuidV4, uuidV7 } from './key.ts'
export type { ClientOptions } from './options.ts'
export type { ClientInit, OperationOptions } from './request.ts'
export type { ClientDialect } from './rules.ts'
