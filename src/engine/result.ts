/**
 * How a run ends, as adapters see it.
 *
 * @module
 */

import type { Fate } from '../core/policy.ts'
import type { CapturedResponse } from '../core/response.ts'
import type { OpenedResponse } from './seal.ts'

/** The handler ran, and this is its answer. */
export interface Executed {
  /** `resumed` when an earlier run had stopped half way. */
  readonly outcome: 'executed' | 'resumed'
  /** Exactly what the handler answered. */
  readonly response: CapturedResponse
  /** What became of the answer: only `stored` has a repeated request get it again. */
  readonly fate: Fate
  /** For how long the answer is kept, in milliseconds; `null` when it is not. */
  readonly expiresInMs: number | null
}

/** The stored answer of the first run. */
export interface Replayed {
  readonly outcome: 'replayed'
  readonly response: OpenedResponse
  /** Id of the request that was answered first. */
  readonly requestId: string | null
  /** For how long the answer is still kept, in milliseconds. */
  readonly expiresInMs: number
}

/** Another request with the key is running. */
export interface Running {
  readonly outcome: 'in_progress'
  /** When it is worth asking again, in milliseconds: from what this operation usually takes. */
  readonly retryAfterMs: number
}

/** The key stands for another request; or an earlier run stopped and may have taken effect. */
export interface Refused {
  readonly outcome: 'mismatch' | 'unknown'
}

/** The work stopped half way and is taken up again: by the same request, or by the completer. */
export interface Postponed {
  readonly outcome: 'postponed'
  /** When it is worth asking again, in milliseconds. */
  readonly retryAfterMs: number
}

/** The caller has brought as many fresh keys as its quota allows: nothing was run or stored. */
export interface OverQuotaResult {
  readonly outcome: 'over_quota'
  /** When there is room for a fresh key, in milliseconds. */
  readonly retryAfterMs: number
}

/** How a run ended. */
export type RunResult = Executed | Replayed | Running | Postponed | Refused | OverQuotaResult

/** The result of a run whose answer is not kept. */
export function unstored({
  outcome = 'executed',
  response,
  fate,
}: Pick<Executed, 'response' | 'fate'> & Partial<Pick<Executed, 'outcome'>>): Executed {
  return { outcome, response, fate, expiresInMs: null }
}
