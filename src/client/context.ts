/**
 * What all operations of one client share.
 *
 * @module
 */

import type { Budgets } from './budget.ts'
import type { JournalEntry } from './entry.ts'
import type { Journal } from './journal.ts'
import type { ClientOptions, Defaulted } from './options.ts'
import type { Outgoing } from './request.ts'

/** The client, from inside: its settings and what it has learned. */
export interface Context
  extends Omit<ClientOptions, Defaulted | 'journal'>,
    Required<Omit<Pick<ClientOptions, Defaulted>, 'caller'>> {
  /** On whose behalf operations are sent now. */
  caller(): string
  readonly journal: Journal
  readonly budgets: Budgets
  /** The origins that have shown that they honour keys. */
  readonly honours: Set<string>
  /** Those among them that echo the key in every answer; a mark of replays is not in every answer. */
  readonly echoes: Set<string>
}

/** What is to be sent. */
export interface Operation {
  readonly request: Outgoing
  readonly entry: JournalEntry
  /** Whether it stands in the journal already, left there by a call that is over. */
  readonly isResumed: boolean
}

/** An operation with its answer. */
export interface Result<T = unknown> {
  /** `null` for requests without one. */
  readonly key: string | null
  /** How many attempts were sent, also in earlier processes as far as it was written down. */
  readonly attempts: number
  /** Whether the answer is a repeated one: an earlier attempt had taken effect. */
  readonly replayed: boolean
  /** Whether the answer shows that the server honours keys; `false` also for requests without one. */
  readonly protected: boolean
  /** The answer, whatever its status. Its body is in memory already. */
  readonly response: Response
  /** The body of the answer as JSON; that it is a `T` is for the caller to know. */
  json(): Promise<T>
}
