/**
 * The port for dead letters: records that only a person can settle, and what was tried on them.
 *
 * @module
 */

import type { Origin, RecordIdentity } from '../core/record.ts'
import type { Claim, Finish } from './store.ts'
import type { Actor, TakenRecord, TakeRequest } from './work.ts'

/**
 * Why a record needs a person:
 * - `outcome_unknown`: nobody can say whether it took effect, and it must not be repeated.
 * - `attempts_exhausted`: it was tried as often as it may be.
 * - `graph_changed`: no version of the operation that met it in time understands where it stopped.
 * - `abandoned`: nobody finished it within its retention.
 */
export type BurialCause = 'outcome_unknown' | 'attempts_exhausted' | 'graph_changed' | 'abandoned'

/** How long a record that needs a person is kept at least, in milliseconds: 30 days. */
export const BURIED_MS = 2_592_000_000

/** What is put before a person. */
export interface Burial {
  readonly cause: BurialCause
  /** What went wrong last, in words. */
  readonly error: string | null
  /**
   * How long the answer that settles it is kept at least, in milliseconds. The record waits for its
   * settlement for as long, and for {@link BURIED_MS} at least.
   */
  readonly retentionMs: number
  /**
   * Whether the app is still to be told that nobody finished it.
   *
   * @default false
   */
  readonly isUntold?: boolean
}

/** Dead letters. */
export interface LetterStore {
  /** Puts the record before a person. `false`, writing nothing, if the claim was lost. */
  bury(claim: Claim, burial: Burial): Promise<boolean>
  /** Puts records before a person whose outcome is unknown and that nobody took up in time. */
  buryUnknown(burial: UnknownBurial): Promise<number>
  /** Takes one unfinished record past its retention. */
  takeAbandoned(request: TakeRequest): Promise<TakenRecord | undefined>
  /**
   * Takes one letter of one of these operations of which the app is still to be told: a request came
   * before the reaper, or a reaper that does not know the operation. Nobody else gets it for
   * `leaseMs`.
   */
  takeUntold(operations: readonly string[], leaseMs: number): Promise<DeadLetter | undefined>
  /** The app was told. Notes what went wrong with that, where nothing else is noted. */
  told(letter: string, error: string | null): Promise<void>
  find(letter: string): Promise<DeadLetter | undefined>
  list(query: LetterQuery): Promise<readonly DeadLetter[]>
  /**
   * Settles a letter, once: later claims of the record get what was decided. `false`, writing
   * nothing, if it is settled already, or is to be resumed and a later request has the key.
   */
  resolve(letter: string, settlement: Settlement): Promise<boolean>
  /**
   * Drops input and state of letters that are settled and whose record is past its retention; who
   * settled them how and why stays. Gives of how many.
   */
  sweep(limit: number): Promise<number>
}

/** Which records of unknown outcome are put before a person. */
export interface UnknownBurial {
  readonly limit: number
  /** How long a client is left to take it up, where the route lets it, in milliseconds. */
  readonly graceMs: number
  /** How long the record is kept for its settlement, in milliseconds. */
  readonly retentionMs: number
}

/** Which letters to list, newest first. */
export interface LetterQuery {
  readonly limit: number
  /** Letters older than this one. */
  readonly before?: string
  /** Only those that are settled, or only those that are not. */
  readonly settled?: boolean
}

/** How a person settles a letter. */
export interface Settlement {
  readonly way: 'happened' | 'resume' | 'give_up'
  /** The answer that later requests get; `null` to resume. */
  readonly finish: Finish | null
  /**
   * How long the record is kept from now, in milliseconds; longer where the request was to be kept
   * longer.
   */
  readonly retentionMs: number
  readonly author: string
  readonly note: string
}

/** One entry of the history of a record. */
export interface HistoryEntry {
  readonly fence: number
  readonly point: string
  readonly actor: Actor
  /** Host and process; absent in what was written before they were kept. */
  readonly node?: string
  /**
   * `null` while a foreign call is under way, or was when the process died; `denied` when the provider
   * did not know of it, which it may yet.
   */
  readonly ending: 'advanced' | 'responded' | 'threw' | 'retry_later' | 'denied' | 'settled' | null
  readonly reached: string | null
  readonly callKey: string | null
  readonly error: string | null
  /** Milliseconds since 1970, by the database's clock. */
  readonly beganAt: number
  readonly endedAt: number | null
}

/** A record that only a person can settle. */
export interface DeadLetter extends RecordIdentity {
  readonly letter: string
  readonly cause: BurialCause
  /** Where it stopped; `null` for a plain handler. */
  readonly point: string | null
  readonly error: string | null
  readonly fence: number
  readonly tries: number
  /** `null` for a plain handler; this and the state also once they were swept. */
  readonly input: Uint8Array | null
  readonly state: Uint8Array | null
  readonly origin: Origin
  readonly history: readonly HistoryEntry[]
  /** Milliseconds since 1970, by the database's clock; this and the ones below. */
  readonly createdAt: number
  readonly buriedAt: number
  readonly settledAt: number | null
  /** `withdrawn`: a later request took it up, or it finished after all, and nobody need look. */
  readonly settlement: {
    readonly way: Settlement['way'] | 'withdrawn'
    readonly author: string
    readonly note: string
  } | null
}
