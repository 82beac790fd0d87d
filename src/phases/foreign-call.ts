/**
 * What is said about a foreign call, and what its failures mean.
 *
 * @module
 */

import type { Isolation } from '../engine/transactions.ts'
import type { OperationContext, PhaseContext } from './node.ts'
import type { Step } from './step.ts'

/**
 * What is known about a call:
 * - `happened`: it took effect.
 * - `did_not_happen`: it has taken no effect so far. A request that is still on its way may yet.
 * - `will_not_happen`: it has taken no effect and never will. The provider has refused or voided it.
 * - `unknown`: nobody can say.
 */
export type Certainty = 'happened' | 'did_not_happen' | 'will_not_happen' | 'unknown'

/** What the provider says became of a call. */
export type Reconciled<Answer> =
  | { readonly certainty: 'happened'; readonly result: Answer }
  | { readonly certainty: 'did_not_happen' | 'will_not_happen' | 'unknown' }

/** What a foreign call is given. */
export interface CallContext<Input> extends OperationContext<Input> {
  /** For the provider, and not the client's: the same on every attempt, and of no other call. */
  readonly key: string
  /** Aborted when the time is up or the lease is lost. */
  readonly signal: AbortSignal
}

/** A call to another system. */
export interface CallSpec<Tx, Input, State, Answer, Done extends Step, Failed extends Step> {
  /** Makes the call, with its `key` where the provider takes one. */
  readonly call: (context: CallContext<Input>, state: State) => Promise<Answer>
  /** Keeps what came back, in a transaction. It may be run more than once; one run commits. */
  readonly done: (
    context: PhaseContext<Tx, Input> & { readonly result: Answer },
    state: State,
  ) => Done | Promise<Done>
  /**
   * Says what an error means, in a transaction: a final answer, another way on, or to try later.
   *
   * @default try later
   */
  readonly failed?: (
    error: unknown,
    state: State,
    context: PhaseContext<Tx, Input>,
  ) => Failed | Promise<Failed>
  /**
   * Whether the call may be made again when nobody knows whether it took effect: `'with-key'`, since
   * the provider honours the key; `'always'`, since a second call does no harm; `'never'`, and then a
   * call that was begun is made again only if it was refused, or if {@link reconcile} says
   * `willNotHappen`. `happened` is its end; where the provider only denies it or can not tell, a person
   * decides.
   *
   * @default 'with-key'
   */
  readonly repeat?: 'with-key' | 'always' | 'never'
  /**
   * Asks the provider what became of an earlier call. Anything but {@link happened},
   * {@link didNotHappen}, {@link willNotHappen} and {@link unknown} counts as `unknown`, and so does a
   * failure.
   *
   * @default nobody is asked
   */
  readonly reconcile?: (context: CallContext<Input>, state: State) => Promise<Reconciled<Answer>>
  /**
   * Says whether a call that failed took effect, by its error. `did_not_happen` counts as
   * `will_not_happen` here: an error that says so comes from a provider that has refused the call, or
   * from a connection that never was.
   *
   * @default {@link certaintyOf}
   */
  readonly classify?: (error: unknown) => Certainty
  /**
   * How long the call may take, in milliseconds.
   *
   * @default 30000
   */
  readonly timeoutMs?: number
  /**
   * Isolation of the transactions of `done` and `failed`.
   *
   * @default the operation's
   */
  readonly isolation?: Isolation
}

/** A foreign call, as it is run. */
export interface CallWork extends CallSpec<unknown, unknown, unknown, unknown, Step, Step> {
  readonly kind: 'call'
}

/**
 * How a call is made:
 * - `unnoted`: again under its key, whatever became of it.
 * - `noted`: each attempt is written down before it is made, so that a run that resumes asks about it.
 * - `never`: noted, and not made again unless it is known to have had no effect.
 */
export type Care = 'unnoted' | 'noted' | 'never'

/** How a call is made by what is said about it; `null` for work on the database. */
export function careOf(work: { readonly kind: 'phase' } | CallWork): Care | null {
  if (work.kind === 'phase') return null
  if (work.repeat === 'never') return 'never'
  return work.reconcile === undefined ? 'unnoted' : 'noted'
}

/** How long a call may take unless it says otherwise, in milliseconds. */
export const CALL_TIMEOUT_MS = 30_000

/** What the provider says: the call took effect, and this was its answer. */
export function happened<Answer>(result: Answer): Reconciled<Answer> {
  return { certainty: 'happened', result }
}

/**
 * What the provider says: the call has taken no effect so far. It promises nothing about a request that
 * is still on its way. With `repeat: 'never'` the call is not made again for this, only asked about.
 */
export const didNotHappen: { readonly certainty: 'did_not_happen' } = {
  certainty: 'did_not_happen',
}

/**
 * What the provider says: the call has taken no effect and never will, whatever is still on its way. Only
 * for providers that guarantee this: they have refused the call, or you have had it voided.
 */
export const willNotHappen: { readonly certainty: 'will_not_happen' } = {
  certainty: 'will_not_happen',
}

/** The provider can not say. */
export const unknown: { readonly certainty: 'unknown' } = { certainty: 'unknown' }

/** The connection was never there, so nothing was sent. */
const UNSENT = new Set(['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN', 'EHOSTUNREACH', 'ENETUNREACH'])

/**
 * Statuses of the client's own fault that leave it open whether the request was carried out: the
 * answer was late, the same request is running, or it came too early to tell.
 */
const UNCLEAR = new Set([408, 409, 425])

const CAUSES_MAX = 5

/**
 * Whether a call that failed with this error took effect, by what HTTP clients and the SDKs of
 * providers say: a status of 4xx is a refusal, a connection that was refused carried nothing, and
 * everything else (5xx, timeouts, cut connections) is unknown.
 */
export function certaintyOf(error: unknown): Certainty {
  let cause = error
  for (let depth = 0; depth < CAUSES_MAX && cause instanceof Error; depth++) {
    const status = statusOf(cause)
    if (status !== undefined) {
      const isRefused = status >= 400 && status < 500 && !UNCLEAR.has(status)
      return isRefused ? 'did_not_happen' : 'unknown'
    }
    const code: unknown = Reflect.get(cause, 'code')
    if (typeof code === 'string' && UNSENT.has(code)) return 'did_not_happen'
    cause = cause.cause
  }
  return 'unknown'
}

/** The HTTP status of an error, by the names that clients give it. */
function statusOf(error: Error): number | undefined {
  const response: unknown = Reflect.get(error, 'response')
  const holders = [error, ...(typeof response === 'object' && response !== null ? [response] : [])]
  const names = ['statusCode', 'status', 'code']
  const values = holders.flatMap((holder) => names.map((name) => Reflect.get(holder, name)))
  return values.find((value): value is number => Number.isInteger(value) && value >= 100)
}

/** What a `reconcile` has said. What is not understood is not taken for a permission to call again. */
export function understood(said: unknown): Reconciled<unknown> {
  if (typeof said !== 'object' || said === null) return unknown
  switch (Reflect.get(said, 'certainty')) {
    case 'happened':
      return 'result' in said ? happened(said.result) : unknown
    case 'did_not_happen':
      return didNotHappen
    case 'will_not_happen':
      return willNotHappen
    default:
      return unknown
  }
}
