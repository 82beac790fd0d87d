/**
 * One effect and the same value without HTTP: for consumers of queues, tool calls and scheduled jobs,
 * whose message or call has an id of its own.
 *
 * @module
 */

import { refusals } from '../core/dialects/refuse.ts'
import { QUOTA_EXCEEDED, RESULT_GONE, RETRY_LATER } from '../core/error-table.ts'
import { RepriseError } from '../core/errors.ts'
import { digestValue, fingerprintRequest } from '../core/fingerprint.ts'
import type { CapturedResponse } from '../core/response.ts'
import type { RunRequest } from '../engine/job.ts'
import type { LeaseReprise, TransactionReprise } from '../engine/reprise.ts'
import type { RunResult } from '../engine/result.ts'
import type { Run } from '../engine/run.ts'
import type { TransactionRun } from '../engine/transaction-handler.ts'

/** What is to be done once. */
export interface OnceRequest {
  /** On whose behalf: account, user, tenant; or the name of the queue. */
  readonly caller: string
  /** What is done: the name of the job or tool. */
  readonly operation: string
  /** Id of the message or call, the same whenever it is delivered. */
  readonly key: string
  /**
   * What is asked, as a JSON value. The same key with another input is refused.
   *
   * @default nothing: the key alone says what is asked
   */
  readonly input?: unknown
  /**
   * How long to wait for the same call while it runs elsewhere, in milliseconds.
   *
   * @default the engine's `waitMs`
   */
  readonly waitMs?: number
}

/** What of a value comes back from JSON. */
export type Json<T> = T extends string | number | boolean | null
  ? T
  : T extends { toJSON(): infer J }
    ? J
    : [T] extends [undefined]
      ? undefined
      : T extends object
        ? { [K in keyof T]: Json<T[K]> }
        : undefined

/**
 * Does `work` for the first call with this key; every further one gets the same value. What `work`
 * throws is thrown; whether it is then done again is the engine's to say (`policy`, `afterCrash`).
 *
 * @example
 * ```ts
 * const { id } = await once(reprise, { caller: 'orders', operation: 'ship', key: message.id }, () =>
 *   ship(message.order),
 * )
 * ```
 * @throws RepriseError `idempotency-in-progress` while it runs elsewhere; `idempotency-key-reused`
 * for another input; `idempotency-outcome-unknown` when an earlier call stopped half way;
 * `idempotency-result-gone` when the value was too large to be kept; or when the store can not be
 * asked
 */
export async function once<T>(
  reprise: Pick<LeaseReprise, 'run'>,
  request: OnceRequest,
  work: (run: Run) => Promise<T>,
): Promise<Json<T>> {
  const handler = async (run: Run) => answer(await work(run))
  return valueOf<T>(await reprise.run(runRequest(request), handler))
}

/**
 * The same in a transaction of the store: what `work` does on `run.tx` commits together with its
 * value, or not at all. It may be called more than once; one call commits.
 *
 * @throws RepriseError as {@link once}
 */
export async function onceInTransaction<T, Tx>(
  reprise: TransactionReprise<Tx>,
  request: OnceRequest,
  work: (run: TransactionRun<Tx>) => Promise<T>,
): Promise<Json<T>> {
  const handler = async (run: TransactionRun<Tx>) => answer(await work(run))
  return valueOf<T>(await reprise.runInTransaction(runRequest(request), handler))
}

function runRequest({ input, ...request }: OnceRequest): RunRequest {
  const body = input === undefined ? null : digestValue(input)
  const fingerprints = fingerprintRequest({ method: '', path: request.operation, body })
  return { ...request, fingerprints }
}

/** A value as the answer of a run; no bytes stand for no value. */
function answer(value: unknown): CapturedResponse {
  const text: string | undefined = JSON.stringify(value)
  return { status: 200, headers: [], body: new TextEncoder().encode(text ?? '') }
}

function valueOf<T>(result: RunResult): Json<T> {
  switch (result.outcome) {
    case 'executed':
    case 'resumed':
      return parsed(result.response)
    case 'replayed': {
      const { bodyBytesOmitted } = result.response
      if (bodyBytesOmitted !== null) throw new RepriseError(RESULT_GONE)
      return parsed(result.response)
    }
    case 'postponed':
      throw new RepriseError(RETRY_LATER)
    case 'over_quota':
      throw new RepriseError(QUOTA_EXCEEDED)
    case 'in_progress':
    case 'mismatch':
    case 'unknown':
      throw new RepriseError(refusals[result.outcome])
  }
}

/** Through JSON also the first time, so that the first caller sees nothing that others do not. */
function parsed<T>({ body }: CapturedResponse): Json<T> {
  const text = new TextDecoder().decode(body)
  const value: unknown = text === '' ? undefined : JSON.parse(text)
  // Written by `answer` from a value of this very type.
  return value as Json<T>
}
