/**
 * An open transaction, as the engine uses it: begun and claimed, or about to be.
 *
 * @module
 */

import { CONFLICT, TRANSACTION_OVER } from '../../core/error-table.ts'
import { RepriseError } from '../../core/errors.ts'
import { DuplicateRequest } from '../../engine/duplicate-request.ts'
import { TransactionEnded } from '../../engine/stage.ts'
import type { Finish } from '../../engine/store.ts'
import type { HeldClaim, OpenTransaction, TransactionRequest } from '../../engine/transactions.ts'
import type { NewJob } from '../../engine/work.ts'
import type { Call, HeldSession, Session, Value } from './client.ts'
import { isOutlasted, isRefused, isUnencodable, unavailable, unencodable } from './faults.ts'
import { keepAlive, type Queries } from './queries.ts'
import { pack } from './record.ts'
import type { Running } from './running.ts'
import { ENQUEUER, stageJob } from './work/jobs.ts'
import type { WorkQueries } from './work/queries.ts'

const KEEP_ALIVE: Call = { statement: keepAlive, values: [] }

/** What is done to begin a transaction, as messages name it. */
export const BEGIN = 'begin a transaction'

const nobody = (): void => {}

/** The hold on a key, from the moment it is granted. */
export class Grant {
  /** Whether the key is ours; `undefined` while nobody knows. */
  isGranted: boolean | undefined
  /** Which transaction was begun, so that the record is stored in no other. */
  transaction = ''
  /** Told once it is ours. */
  onGranted: () => void = nobody
  /** Told once it was refused to us. */
  onRefused: () => void = nobody
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
    this.#running.open(id, fingerprint)
    const { onGranted } = this
    this.#forget()
    onGranted()
  }

  /** It is refused, or treated as if it were. */
  refuse(): void {
    const { onRefused } = this
    this.isGranted = false
    this.#forget()
    onRefused()
  }

  /** Who listened for the other answer would be kept for as long as the handler's `tx`. */
  #forget(): void {
    this.onGranted = nobody
    this.onRefused = nobody
  }

  /** The claim failed with `error`; gives what the handler is told. */
  fail(error: unknown): unknown {
    if (!isRefused(error)) return error
    this.refuse()
    return new DuplicateRequest({ cause: error })
  }

  /** The transaction is over. */
  end(): void {
    if (this.isGranted === true) this.#running.close(this.#request.id)
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
  stored(id: string): void
}

/** The transaction of a session. */
export class PostgresTransaction<Tx> implements OpenTransaction<Tx> {
  readonly outcome: OpenTransaction<Tx>['outcome']
  readonly tx: Tx
  readonly held: HeldClaim | undefined
  readonly #opened: Opened<Tx>
  #isClosed = false
  #isOver = false
  #hasStaged = false

  constructor(opened: Opened<Tx>) {
    const { session, outcome, grant } = opened
    this.outcome = outcome
    this.tx = session.handle
    this.held = 'claim' in session ? new PostgresHeldClaim(grant, session) : undefined
    this.#opened = opened
  }

  close(): void {
    this.#isClosed = true
    this.#opened.session.close()
  }

  async commit(finish: Finish): Promise<void> {
    const { request, session, grant, queries, stored } = this.#opened
    this.#isOver = true
    try {
      if ('claim' in session && grant.isGranted !== true) await session.claim()
      const values = finishedValues(request, finish, grant.transaction)
      const rows = await session.commit({ statement: queries.storeFinished, values })
      if (rows.length === 0) throw new TransactionEnded()
      stored(request.id)
    } catch (error) {
      if (isUnencodable(error)) throw unencodable(error)
      throw isOutlasted(error) ? outlasted(error) : error
    } finally {
      this.#end()
    }
  }

  async stage(job: NewJob): Promise<string> {
    const { request, session, grant, queries } = this.#opened
    if (this.#isClosed || this.#isOver) throw new RepriseError(TRANSACTION_OVER)
    if ('claim' in session) await session.claim()
    this.#hasStaged = true
    const { transaction } = grant
    return stageJob(queries, session, { job, recordId: request.id, transaction })
  }

  async rollback(): Promise<void> {
    this.#isOver = true
    try {
      await this.#opened.session.rollback()
    } finally {
      this.#end()
    }
  }

  destroy(): void {
    this.#opened.session.destroy?.()
  }

  async keepAlive(): Promise<void> {
    const { request, session, grant } = this.#opened
    // Before the claim there is no transaction that could be ended.
    if (this.#isOver || request.join !== undefined || grant.isGranted !== true) return
    // A failed or broken transaction shows when it is to end.
    await session.query(KEEP_ALIVE).catch(() => {})
  }

  #end(): void {
    const { request, grant, wake } = this.#opened
    grant.end()
    // Who never had the key has nothing to tell those who wait for it.
    if (grant.isGranted === true) wake(request.id)
    if (this.#hasStaged) wake(ENQUEUER)
  }
}

/** Not run again: it may be the second of two that were sent within the retention. */
function outlasted(cause: unknown): RepriseError {
  const detail = 'The transaction was open for longer than its answer would be kept, and was undone'
  return new RepriseError(CONFLICT, detail, { cause })
}

/** The claim of a session that goes with the first statement. */
class PostgresHeldClaim implements HeldClaim {
  readonly #grant: Grant
  readonly #session: Pick<HeldSession<unknown>, 'claim' | 'rehearse'>

  constructor(grant: Grant, session: Pick<HeldSession<unknown>, 'claim' | 'rehearse'>) {
    this.#grant = grant
    this.#session = session
  }

  get isGranted(): boolean | undefined {
    return this.#grant.isGranted
  }

  whenGranted(listener: () => void): void {
    if (this.#grant.isGranted === true) listener()
    else this.#grant.onGranted = listener
  }

  whenRefused(listener: () => void): void {
    this.#grant.onRefused = listener
  }

  async claim(): Promise<boolean> {
    try {
      await this.#session.claim()
      return true
    } catch (error) {
      if (this.#grant.isGranted === false) return false
      throw unavailable(BEGIN, error)
    }
  }

  rehearse(): void {
    const grant = this.#grant
    grant.isGranted = false
    this.#session.rehearse(() => {
      grant.refuse()
      return new DuplicateRequest()
    })
  }
}

function finishedValues(
  request: TransactionRequest<unknown>,
  { response, resource, retentionMs }: Finish,
  transaction: string,
): readonly Value[] {
  const { id, caller, operation, key, fingerprint, owner, origin, quota, join } = request
  // Not put together of shorter lists: this is done for every request.
  return [
    pack(id),
    caller,
    operation,
    key,
    pack(fingerprint),
    pack(owner),
    response.status,
    response.sealed,
    resource?.type ?? null,
    resource?.id ?? null,
    origin.requestId,
    origin.ip,
    origin.userAgent,
    transaction,
    retentionMs,
    quota?.perMs ?? null,
    join !== undefined,
  ]
}
