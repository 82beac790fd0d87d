/**
 * What an operator orders, and how it ends.
 *
 * @module
 */

import type { RequestState } from './admin.ts'

/** What can be done with a request. */
export type RequestAction = 'resume' | 'release' | 'expire'

/** Who acts, why, and on what they saw. */
export interface Order {
  readonly author: string
  readonly reason: string
  /** The `version` that was shown; absent to act on whatever stands. */
  readonly version?: string
  /**
   * Where the action is dangerous: the last four characters of the key; for a batch, how many
   * requests it has.
   */
  readonly confirm?: string
  readonly ip?: string | null
  /** The same for every sending of one order: a double click has one effect. */
  readonly orderKey?: string
}

/** How an order ended. */
export type OrderResult =
  | { readonly outcome: 'done'; readonly text: string }
  /** The same order was carried out before; `text` is what it said then. */
  | { readonly outcome: 'repeated'; readonly text: string }
  | { readonly outcome: 'not_found' }
  /** It changed since it was shown. */
  | { readonly outcome: 'conflict'; readonly state: RequestState; readonly text: string }
  /** Its state forbids it. */
  | { readonly outcome: 'refused'; readonly text: string }
  /** The confirmation is missing or wrong; `text` says what has already happened. */
  | { readonly outcome: 'unconfirmed'; readonly text: string }

/** How a person settles a dead letter. */
export type LetterSettlement =
  | { readonly way: 'happened' | 'give_up'; readonly status: number; readonly body: unknown }
  | { readonly way: 'resume' }

/** A bulk action under way or over. */
export interface Batch {
  readonly batch: string
  readonly action: RequestAction
  readonly total: number
  readonly done: number
  readonly failed: number
  readonly isOver: boolean
  readonly isCancelled: boolean
  readonly results: readonly { readonly id: string; readonly result: OrderResult['outcome'] }[]
}
