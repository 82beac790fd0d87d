/**
 * What becomes of the record when a run ends.
 *
 * One rule stands behind every preset: store the outcome of anything that may have had an effect;
 * free the key for anything that provably had none. To free a key is the dangerous verdict, since
 * the next request with it runs again; so it is given only where nothing took effect by proof
 * (`'none'`), or where the handler itself says that it did not take the request on.
 *
 * @module
 */

import type { CapturedResponse } from './response.ts'

/**
 * What is known of the effect of a run.
 * - `none`: provably nothing took effect: all was rolled back, or the handler had not yet marked its
 *   effect.
 * - `begun`: the handler called `markEffect()`.
 * - `unknown`: the handler said nothing.
 */
export type Effect = 'none' | 'begun' | 'unknown'

/**
 * - `store`: the answer is final; every repetition gets it.
 * - `forget`: the record is removed and the key is free.
 * - `suspend`: the record stays without an answer. A throw is a crash that the process survived, and
 *   the next request is decided as after a crash (`afterCrash`, or the recovery point).
 */
export type Verdict = 'store' | 'forget' | 'suspend'

/**
 * What became of the answer of a run.
 * - `stored`, `forgotten`, `suspended`: the verdict, carried out.
 * - `not_stored`: it was to be stored and could not be; another run may have taken over.
 * - `unprotected`: the store was down and the route lets requests through then.
 */
export type Fate = 'stored' | 'forgotten' | 'suspended' | 'not_stored' | 'unprotected'

/** What a handler can ask for itself, over the policy: `store()` and `release()`. */
export type VerdictOverride = Extract<Verdict, 'store' | 'forget'>

/** The handler threw instead of answering. */
export interface Thrown {
  readonly thrown: unknown
}

/** How a run ended. */
export type Ending = CapturedResponse | Thrown

/**
 * Decides what becomes of the record; give one of {@link responsePolicies} or a function. `'store'`
 * for a throw stores the error answer that the framework makes of it; where there is none, the
 * record is suspended.
 */
export type ResponsePolicy = (ending: Ending, effect: Effect) => Verdict

/**
 * Statuses by which a handler says that it did not take the request on: malformed, not allowed, too
 * early, too much. Sent again, perhaps corrected, the request deserves a run. All other 4xx but 408
 * are answers about the world (declined, not found, conflict) and are final like a success.
 */
const NOT_TAKEN_ON: ReadonlySet<number> = new Set([
  400, 401, 403, 405, 406, 407, 411, 413, 414, 415, 416, 417, 421, 425, 426, 428, 429, 431,
])

/**
 * Frameworks answer 408 when a handler took too long, which says nothing about what the handler has
 * done by then: a failure, like 503.
 */
const TIMED_OUT = 408

type Kind = 'success' | 'final' | 'not taken on' | 'failure' | 'unanswered'

/** Sorts endings. Interim and impossible statuses answer nothing. */
function kindOf(ending: Ending): Kind {
  if ('thrown' in ending) return 'failure'
  const { status } = ending
  if (status >= 200 && status < 400) return 'success'
  if (status === TIMED_OUT) return 'failure'
  if (NOT_TAKEN_ON.has(status)) return 'not taken on'
  if (status >= 400 && status < 500) return 'final'
  return status >= 500 && status < 600 ? 'failure' : 'unanswered'
}

/**
 * What holds unless a route says otherwise: successes and definite errors are stored; a failure
 * frees the key only if nothing took effect.
 */
export const defaultPolicy: ResponsePolicy = (ending, effect) => {
  switch (kindOf(ending)) {
    case 'success':
    case 'final':
      return 'store'
    case 'not taken on':
      return effect === 'begun' ? 'store' : 'forget'
    case 'failure':
    case 'unanswered':
      return effect === 'none' ? 'forget' : 'suspend'
  }
}

/** Whatever a run that took the request on comes to is its answer for good, failures included. */
const stripe: ResponsePolicy = (ending, effect) =>
  kindOf(ending) === 'failure' ? 'store' : defaultPolicy(ending, effect)

/**
 * An error frees the key wherever nothing took effect. Where something may have, to free the key
 * would risk a second effect, and the standard rule holds.
 */
const successOnly: ResponsePolicy = (ending, effect) =>
  effect === 'none' && kindOf(ending) !== 'success' ? 'forget' : defaultPolicy(ending, effect)

/** Names of the policies that come with the package. */
export type ResponsePolicyName = 'default' | 'stripe' | 'success-only' | 'no-5xx'

/**
 * Policies to choose from.
 *
 * |                     | default                     | stripe  | success-only                |
 * |---------------------|-----------------------------|---------|-----------------------------|
 * | 2xx, 3xx            | store                       | store   | store                       |
 * | 402, 404, 409, 422… | store                       | store   | none: forget · else store   |
 * | 400, 401, 413, 429… | begun: store · else forget  | default | begun: store · else forget  |
 * | 408, 5xx, throw     | none: forget · else suspend | store   | none: forget · else suspend |
 * | no final status     | none: forget · else suspend | default | none: forget · else suspend |
 *
 * `no-5xx` is the default rule, which never stores a 5xx, by the name that other libraries give it.
 */
export const responsePolicies: Readonly<Record<ResponsePolicyName, ResponsePolicy>> = {
  default: defaultPolicy,
  stripe,
  'success-only': successOnly,
  'no-5xx': defaultPolicy,
}

/**
 * The verdict of `policy`, kept safe: a key is never freed after `markEffect()`, whatever a policy
 * of the user's own says. Only the handler's own `release()` goes further.
 */
export function judge(policy: ResponsePolicy, ending: Ending, effect: Effect): Verdict {
  const verdict = policy(ending, effect)
  return verdict === 'forget' && effect === 'begun' ? 'suspend' : verdict
}
