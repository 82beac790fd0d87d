/**
 * An open transaction, as the engine uses it: begun and claimed, or about to be.
 *
 * @module
 */

import { CONFLICT } from '../../core/error-table.ts'
import { RepriseError } from '../../core/errors.ts'
import { DuplicateRequest } from '../../engine/duplicate-request.ts'
import { TransactionEnded } from '../../engine/stage.ts'
import type { Finish } from '../../engine/store.ts'
import type { HeldClaim, OpenTransaction, TransactionRequest } from '../../engine/transactions.ts'
import type { Call, HeldSession, Session, Value } from './client.ts'
import { isOutlasted, isRefused, unavailable } from './faults.ts'
import { keepAlive, type Queries } from './queries.ts'
import { pack } from './record.ts'
import type { Running } from './running.ts'
import { ENQUEUER, stageJob } from './work/jobs.ts'
import type { WorkQueries } from './work/queries.ts'

const KEEP_ALIVE: Call = { statement: keepAlive, values: [] }

/** What is done to begin a transaction, as messages name it. */
export const BEGIN = 'begin a transaction'

/** The hold on a key, from the moment it is granted. */
export class Grant {
  /** Whether the key is ours; `undefined` while nobody knows. */
  isGranted: boolean | undefined
  /** Which transaction was begun, so that the record is stored in no other. */
  transaction = ''
  /** Told once it is ours. */
  onGranted = (): void => {}
  /** Told once it was refused to us. */
  onRefused = (): void => {}
  #forget = () => {}
  readonly #running: Running
  readonly #request: TransactionRequest<unknown>

  constructor(running: Running, request: TransactionRequest<unknown>) {
    this.#running = running
    this.#request = request
  }

  /** The claim was granted, in the transaction that is named last in `row`. */
  grant(row: readonly unknown[] | undefined): void {
    const { id, fingerprint } = this.#request
    this.isGranted = true
    this.transaction = String(row?.at(-1))
    this.#forget = this.#running.open(id, fingerprint)
    this.onGranted()
  }

  /** The claim failed with `error`; gives what the handler is told. */
  fail(error: unknown): unknown {
    if (!isRefused(error)) return error
    this.isGranted = false
    this.onRefused()
    return new DuplicateRequest({ cause: error })
  }

  /** The transaction is over. */
  end(): void {
    this.#forget()
  }
}

/** What an open transaction is made of. */
export interface Opened<Tx> {
  readonly request: TransactionRequest<Tx>
  readonly session: Session<Tx> | HeldSession<Tx>
  readonly outcome: OpenTransaction<Tx>['outcome']
  readonly grant: Grant
  readonly queries: Queries & Pick<WorkQueries, 'stage'>
  /** Wakes who waits for the record in this process. */
  wake(id: string): void
  /** Told once the record is stored with its answer. */
  stored(): void
}

/** The transaction of `session`. */
export function openTransaction<Tx>(opened: Opened<Tx>): OpenTransaction<Tx> {
  const { request, session, outcome, grant, queries, wake, stored } = opened
  const claim = 'claim' in session ? () => session.claim() : undefined
  let isOver = false
  let hasStaged = false
  const end = async <T>(run: () => Promise<T>): Promise<T> => {
    isOver = true
    try {
      return await run()
    } finally {
      grant.end()
      // Who never had the key has nothing to tell those who wait for it.
      if (grant.isGranted === true) wake(request.id)
      if (hasStaged) wake(ENQUEUER)
    }
  }
  return {
    outcome,
    tx: session.handle,
    held: 'claim' in session ? heldClaim(grant, session) : undefined,
    commit: (finish) =>
      end(async () => {
        if (claim !== undefined) await claim()
        const values = finishedValues(request, finish, grant.transaction)
        const storing = session.commit({ statement: queries.storeFinished, values })
        const rows = await storing.catch(explainOutlasted)
        if (rows.length === 0) throw new TransactionEnded()
        stored()
      }),
    async stage(job) {
      if (isOver) throw new Error('The transaction is over.')
      if (claim !== undefined) await claim()
      hasStaged = true
      const { transaction } = grant
      return stageJob(queries, session, { job, recordId: request.id, transaction })
    },
    rollback: () => end(() => session.rollback()),
    async keepAlive() {
      // Before the claim there is no transaction that could be ended.
      if (isOver || request.join !== undefined || grant.isGranted !== true) return
      // A failed or broken transaction shows when it is to end.
      await session.query(KEEP_ALIVE).catch(() => {})
    },
  }
}

/** Not run again: it may be the second of two that were sent within the retention. */
function explainOutlasted(cause: unknown): never {
  if (!isOutlasted(cause)) throw cause
  const detail = 'The transaction was open for longer than its answer would be kept, and was undone'
  throw new RepriseError(CONFLICT, detail, { cause })
}

function heldClaim<Tx>(grant: Grant, session: HeldSession<Tx>): HeldClaim {
  const granted = new Promise<void>((resolve) => {
    grant.onGranted = resolve
  })
  const refused = new Promise<void>((resolve) => {
    grant.onRefused = resolve
  })
  return {
    get isGranted() {
      return grant.isGranted
    },
    granted,
    refused,
    async claim() {
      try {
        await session.claim()
        return true
      } catch (error) {
        if (grant.isGranted === false) return false
        throw unavailable(BEGIN, error)
      }
    },
    rehearse() {
      grant.isGranted = false
      session.rehearse(() => {
        grant.onRefused()
        return new DuplicateRequest()
      })
    },
  }
}

function finishedValues(
  request: TransactionRequest<unknown>,
  { response, resource, retentionMs }: Finish,
  transaction: string,
): readonly Value[] {
  const { id, caller, operation, key, fingerprint, owner, origin, quota, join } = request
  return [
    ...[pack(id), caller, operation, key, pack(fingerprint), pack(owner)],
    ...[response.status, response.sealed],
    ...[resource?.type ?? null, resource?.id ?? null, origin.requestId, origin.ip],
    ...[origin.userAgent, transaction, retentionMs, quota?.perMs ?? null, join !== undefined],
  ]
}
