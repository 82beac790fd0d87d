/**
 * Transaction mode: the app's rows and the finished record in one commit.
 *
 * ```
 *   begin + begin_transaction ──► refused ──► rollback
 *              │ one flight
 *              ▼
 *   the handler's statements ──► thrown ───► rollback
 *              │
 *              ▼ one flight
 *   store_finished + commit ───► the primary key is taken: lost, all is rolled back
 * ```
 *
 * The key is reserved by two advisory locks that end with the transaction, so nothing is written
 * before the end, and nothing stays behind whatever breaks.
 *
 * @module
 */

import { TransactionEnded } from '../../engine/stage.ts'
import type { Finish, Refusal } from '../../engine/store.ts'
import {
  type CheckTransactionRoute,
  checkTransactionRoute,
  type Transact,
  transact,
} from '../../engine/transact.ts'
import type {
  OpenTransaction,
  TransactionFault,
  TransactionRequest,
  Transactions,
} from '../../engine/transactions.ts'
import { type Call, type Client, IDLE_MS_MAX, type Session, type Value } from './client.ts'
import { attempt, faultOf } from './faults.ts'
import { lockNumber } from './lock.ts'
import type { Queries } from './queries.ts'
import { type Look, pack, packAll, toLook } from './record.ts'
import { Running } from './running.ts'
import { ENQUEUER, stageJob } from './work/jobs.ts'
import type { WorkQueries } from './work/queries.ts'

const KEEP_ALIVE: Call = { statement: { name: '', text: 'select 1' }, values: [] }

/** What {@link PostgresTransactions} works with. */
export interface TransactionsParts<Tx> {
  readonly client: Client<Tx>
  readonly queries: Queries & Pick<WorkQueries, 'stage'>
  readonly schema: string
  /** Wakes who waits for the record in this process. */
  wake(id: string): void
}

/** The capability `transactions` of the store. */
export class PostgresTransactions<Tx> implements Transactions<Tx> {
  readonly run: Transact = transact
  readonly check: CheckTransactionRoute = checkTransactionRoute
  readonly #parts: TransactionsParts<Tx>
  readonly #running: Running
  /** The isolation that the database gives unless asked for another; known after the first time. */
  #defaultIsolation: unknown

  constructor(parts: TransactionsParts<Tx>) {
    this.#parts = parts
    this.#running = Running.of(parts.client.source, parts.schema)
  }

  begin(request: TransactionRequest<Tx>): Promise<OpenTransaction<Tx> | Refusal> {
    const ask = async () =>
      this.#running.refusal(request) ??
      (await attempt('begin a transaction', () => this.#begin(request)))
    return this.#parts.client.single ? this.#running.inTurn(request.id, ask) : ask()
  }

  classify(error: unknown): TransactionFault {
    return faultOf(error, this.#parts.schema)
  }

  async #begin(request: TransactionRequest<Tx>): Promise<OpenTransaction<Tx> | Refusal> {
    const { join, connection } = request
    const looked = await this.#lookBefore(request)
    if (looked !== undefined && !('isFresh' in looked)) return looked
    const session = await this.#start(request, looked?.isFresh === true)

    const [row] = session.rows
    const found = toLook(row)
    if ('isFresh' in found) {
      const { outcome } = found
      return this.#open({ request, session, outcome, transaction: String(row?.at(-1)) })
    }
    const ended = session.rollback()
    // A replay took no lock, so its answer need not wait for a connection of ours to be free again.
    if (found.outcome !== 'replay' || join !== undefined || connection !== undefined) await ended
    return found
  }

  /**
   * Looks outside of a transaction that will be serializable: one that had read the neighbourhood of
   * the record that it inserts would conflict with everybody who does the same nearby.
   */
  async #lookBefore(request: TransactionRequest<Tx>): Promise<Look | Refusal | undefined> {
    const { join, isolation = this.#defaultIsolation } = request
    if (join !== undefined || isolation !== 'serializable') return undefined
    const { client, queries } = this.#parts
    const { id, takesUnknown } = request
    const values = [pack(id), packAll(request.fingerprintsAccepted), takesUnknown]
    const [row] = await client.query({ statement: queries.look, values })
    return toLook(row)
  }

  async #start(request: TransactionRequest<Tx>, isFresh: boolean): Promise<Session<Tx>> {
    const { join, connection, isolation } = request
    const { client } = this.#parts
    const first = this.#claim(request, isFresh)
    if (join !== undefined) return client.join(join, first)
    const session = await client.begin({ first, isolation, connection })
    if (isolation === undefined) this.#defaultIsolation = session.rows[0]?.at(-2)
    return session
  }

  #claim(request: TransactionRequest<Tx>, isFresh: boolean): Call {
    const { schema, queries, client } = this.#parts
    const { id, fingerprint } = request
    // The settings of a joined transaction are the user's, and a single session must not end.
    const isOurs = request.join === undefined && !client.single
    const values = [
      pack(id),
      lockNumber(schema, id, fingerprint),
      lockNumber(schema, id),
      packAll(request.fingerprintsAccepted),
      request.takesUnknown,
      isFresh,
      isOurs ? Math.min(Math.ceil(request.leaseMs), IDLE_MS_MAX) : null,
    ]
    return { statement: queries.beginTransaction, values }
  }

  #open({ request, session, outcome, transaction }: Opened<Tx>): OpenTransaction<Tx> {
    const { queries, wake } = this.#parts
    const forget = this.#running.open(request.id, request.fingerprint)
    let isOver = false
    let hasStaged = false
    const end = async <T>(run: () => Promise<T>): Promise<T> => {
      isOver = true
      try {
        return await run()
      } finally {
        forget()
        wake(request.id)
        if (hasStaged) wake(ENQUEUER)
      }
    }
    return {
      outcome,
      tx: session.handle,
      commit: (finish) =>
        end(async () => {
          const values = finishedValues(request, finish, transaction)
          const stored = await session.commit({ statement: queries.storeFinished, values })
          if (stored.length === 0) throw new TransactionEnded()
        }),
      async stage(job) {
        if (isOver) throw new Error('The transaction is over.')
        hasStaged = true
        return stageJob(queries, session, { job, recordId: request.id, transaction })
      },
      rollback: () => end(() => session.rollback()),
      async keepAlive() {
        if (isOver || request.join !== undefined) return
        // A failed or broken transaction shows when it is to end.
        await session.query(KEEP_ALIVE).catch(() => {})
      },
    }
  }
}

interface Opened<Tx> {
  readonly request: TransactionRequest<Tx>
  readonly session: Session<Tx>
  readonly outcome: OpenTransaction<Tx>['outcome']
  /** Which transaction was begun, so that the record is stored in no other. */
  readonly transaction: string
}

function finishedValues(
  { id, caller, operation, key, fingerprint, owner, origin }: TransactionRequest<unknown>,
  { response, resource, retentionMs }: Finish,
  transaction: string,
): readonly Value[] {
  return [
    ...[pack(id), caller, operation, key, pack(fingerprint), pack(owner)],
    ...[response.status, response.sealed],
    ...[resource?.type ?? null, resource?.id ?? null, origin.requestId, origin.ip],
    ...[origin.userAgent, transaction, retentionMs],
  ]
}
