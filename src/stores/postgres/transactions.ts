/**
 * Transaction mode: the app's rows and the finished record in one commit.
 *
 * ```
 *   begin + open_transaction ──► refused ──► rollback
 *              │ one flight
 *              ▼
 *   the handler's statements ──► thrown ───► rollback
 *              │
 *              ▼ one flight
 *   store_finished + commit ───► the primary key is taken: lost, all is rolled back
 * ```
 *
 * Who asks for a record that this process has seen with its answer, or whose key it found taken, is
 * answered by one statement, in no transaction.
 *
 * The key is reserved by two advisory locks that end with the transaction, so nothing is written
 * before the end, and nothing stays behind whatever breaks.
 *
 * Where the claim goes with the first statement, the handler runs first:
 *
 * ```
 *   begin + open_transaction + the first statement ──► refused: neither was executed
 *              │ one flight
 *              ▼
 *   the handler's other statements, store_finished + commit
 * ```
 *
 * @module
 */

import type { Refusal } from '../../engine/store.ts'
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
import { type Call, type Client, IDLE_MS_MAX, type Session, type Statement } from './client.ts'
import { attempt, faultOf, readOnly } from './faults.ts'
import { recordLocks } from './lock.ts'
import { BEGIN, Grant, type Opened, PostgresTransaction } from './open-transaction.ts'
import type { Queries } from './queries.ts'
import { type Look, pack, packAll, toLook } from './record.ts'
import { Running } from './running.ts'
import { SeenIds } from './seen-ids.ts'
import type { WorkQueries } from './work/queries.ts'

/** The isolation in which each statement sees what was committed before it. */
const READ_COMMITTED = 'read committed'

/** What a session that was begun has found. One whose answer nobody understands is given back. */
async function understood<Tx>(session: Session<Tx>): Promise<Look | Refusal> {
  try {
    return toLook(session.rows[0])
  } catch (error) {
    await session.rollback()
    throw error
  }
}

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
  readonly #answered = new SeenIds()
  /** Records whose key was taken elsewhere when they were last asked for. */
  readonly #taken = new SeenIds()
  readonly #stored = (id: string): void => this.#answered.add(id)
  /** The isolation that the database gives unless asked for another; known after the first time. */
  #defaultIsolation: unknown

  constructor(parts: TransactionsParts<Tx>) {
    this.#parts = parts
    this.#running = Running.of(parts.client.source, parts.schema)
  }

  begin(request: TransactionRequest<Tx>): Promise<OpenTransaction<Tx> | Refusal> {
    const ask = () => this.#ask(request)
    return this.#parts.client.single ? this.#running.inTurn(request.id, ask) : ask()
  }

  #ask(request: TransactionRequest<Tx>): Promise<OpenTransaction<Tx> | Refusal> {
    const refusal = this.#running.refusal(request)
    if (refusal !== undefined) return Promise.resolve(refusal)
    return attempt(BEGIN, () => {
      return this.#mayKnow(request) ? this.#recognise(request) : this.#enter(request)
    })
  }

  #enter(request: TransactionRequest<Tx>): Promise<OpenTransaction<Tx> | Refusal> {
    return this.#mayHold(request) ? this.#hold(request) : this.#begin(request)
  }

  classify(error: unknown): TransactionFault {
    return faultOf(error, this.#parts.schema)
  }

  /**
   * Whether the claim can go with the first statement. Not in a transaction that may be serializable:
   * for that one the record is looked for outside of it, and so before. Nor under a quota, whose
   * count is no part of that claim.
   */
  #mayHold(request: TransactionRequest<Tx>): boolean {
    const { claim, join, connection, isolation, quota } = request
    const level = isolation ?? this.#defaultIsolation
    const isOurs = join === undefined && connection === undefined
    const isKnown = level !== undefined && level !== 'serializable'
    return claim === 'with-first-statement' && isOurs && isKnown && quota === undefined
  }

  async #hold(request: TransactionRequest<Tx>): Promise<OpenTransaction<Tx> | Refusal> {
    const { hold } = this.#parts.client
    if (hold === undefined) return this.#begin(request)
    const { isolation } = request
    const grant = new Grant(this.#running, request)
    const session = await hold({
      isolation,
      claim: this.#claim(request, this.#parts.queries.beginOrFail, false),
      granted: (row) => {
        if (isolation === undefined) this.#defaultIsolation = row.at(-2)
        grant.grant(row)
      },
      failed: (error) => grant.fail(error),
    })
    return this.#open({ request, session, outcome: 'execute', grant })
  }

  async #begin(request: TransactionRequest<Tx>): Promise<OpenTransaction<Tx> | Refusal> {
    const { join, connection } = request
    const looked = this.#looksBefore(request) ? await this.#look(request) : undefined
    if (looked !== undefined && !('isFresh' in looked)) return looked
    const session = await this.#start(request, looked?.isFresh === true)
    const [row] = session.rows
    if (request.isolation === undefined && join === undefined) this.#defaultIsolation = row?.at(-2)
    const found = await understood(session)
    if ('isFresh' in found) {
      if (row?.at(-3) === 'on') {
        await session.rollback()
        throw readOnly(BEGIN)
      }
      const grant = new Grant(this.#running, request)
      grant.grant(row)
      return this.#open({ request, session, outcome: found.outcome, grant })
    }
    if (found.outcome === 'replay') this.#answered.add(request.id)
    if (found.outcome === 'in_progress') this.#taken.add(request.id)
    const ended = session.rollback()
    // Who asks while the key is locked yet is told the same answer, so a replay need not wait for that.
    if (found.outcome !== 'replay' || join !== undefined || connection !== undefined) await ended
    // In a transaction of the app's own there is no other snapshot, and no other connection to look on.
    return join === undefined ? this.#afterLocks(request, found, row?.at(-2)) : found
  }

  /**
   * What a request is told whose key is locked. The record may have been committed since the request
   * looked for it, and a replay of it may hold the locks. The database looks again by itself, unless the
   * isolation gives a whole transaction one snapshot.
   */
  async #afterLocks(
    request: TransactionRequest<Tx>,
    refused: Refusal,
    isolation: unknown,
  ): Promise<Refusal> {
    const isLocked = refused.outcome === 'in_progress' || refused.outcome === 'mismatch'
    if (!isLocked || isolation === READ_COMMITTED) return refused
    const found = await this.#lookApart({ ...request, quota: undefined })
    if ('isFresh' in found) return refused
    if (found.outcome === 'replay') this.#answered.add(request.id)
    return found
  }

  /** Looks in no transaction, or in one of its own on the connection that the request has. */
  async #lookApart(request: TransactionRequest<Tx>): Promise<Look | Refusal> {
    const { connection } = request
    if (connection === undefined) return this.#look(request)
    const first = this.#lookCall(request)
    const { client } = this.#parts
    const session = await client.begin({ first, isolation: READ_COMMITTED, connection })
    await session.rollback()
    return toLook(session.rows[0])
  }

  /**
   * Whether to look before anything is begun. Not for who has a connection already: it may be the last
   * one. On a single session nothing is gained.
   */
  #mayKnow({ id, join, connection }: TransactionRequest<Tx>): boolean {
    const isOurs = join === undefined && connection === undefined && !this.#parts.client.single
    return isOurs && (this.#answered.has(id) || this.#taken.has(id))
  }

  /**
   * What stands in the way of a request whose record was seen with its answer, or whose key was taken,
   * if it still does. Who waits for a key asks several times: in no transaction there is nothing to
   * roll back, and the locks that are tried end with the statement.
   */
  async #recognise(request: TransactionRequest<Tx>): Promise<OpenTransaction<Tx> | Refusal> {
    const alone = { ...request, quota: undefined }
    const found = await (this.#answered.has(request.id) ? this.#look(alone) : this.#try(alone))
    if ('isFresh' in found) return this.#enter(request)
    if (found.outcome === 'replay') this.#answered.add(request.id)
    return found
  }

  async #try(request: TransactionRequest<Tx>): Promise<Look | Refusal> {
    const { client, queries, schema } = this.#parts
    const { id, fingerprint, fingerprintsAccepted, takesUnknown } = request
    const { same, any } = recordLocks(schema, id, fingerprint)
    const values = [pack(id), same, any, packAll(fingerprintsAccepted), takesUnknown]
    const [row] = await client.query({ statement: queries.lookAndTry, values })
    const found = toLook(row)
    return 'isFresh' in found ? found : this.#afterLocks(request, found, row?.at(-1))
  }

  /**
   * Looks outside of a transaction that will be serializable: one that had read the neighbourhood of
   * the record that it inserts would conflict with everybody who does the same nearby.
   */
  #looksBefore({ join, isolation }: TransactionRequest<Tx>): boolean {
    return join === undefined && (isolation ?? this.#defaultIsolation) === 'serializable'
  }

  async #look(request: TransactionRequest<Tx>): Promise<Look | Refusal> {
    const [row] = await this.#parts.client.query(this.#lookCall(request))
    return toLook(row)
  }

  #lookCall(request: TransactionRequest<Tx>): Call {
    const { queries } = this.#parts
    const { id, takesUnknown, caller, quota } = request
    const values = [pack(id), packAll(request.fingerprintsAccepted), takesUnknown]
    return quota === undefined
      ? { statement: queries.look, values }
      : { statement: queries.lookInQuota, values: [...values, caller, quota.keys] }
  }

  #start(request: TransactionRequest<Tx>, isFresh: boolean): Promise<Session<Tx>> {
    const { join, connection, isolation } = request
    const { client, queries } = this.#parts
    const statement = request.quota === undefined ? queries.beginTransaction : queries.beginInQuota
    const first = this.#claim(request, statement, isFresh)
    if (join !== undefined) return client.join(join, first)
    return client.begin({ first, isolation, connection })
  }

  #claim(request: TransactionRequest<Tx>, statement: Statement, isFresh: boolean): Call {
    const { schema, client } = this.#parts
    const { id, fingerprint, caller, quota } = request
    // The settings of a joined transaction are the user's, and a single session must not end.
    const isOurs = request.join === undefined && !client.single
    const { same, any } = recordLocks(schema, id, fingerprint)
    const values = [
      pack(id),
      same,
      any,
      packAll(request.fingerprintsAccepted),
      request.takesUnknown,
      isFresh,
      isOurs ? Math.min(Math.ceil(request.leaseMs), IDLE_MS_MAX) : null,
    ]
    return { statement, values: quota === undefined ? values : [...values, caller, quota.keys] }
  }

  #open(
    opened: Pick<Opened<Tx>, 'request' | 'session' | 'outcome' | 'grant'>,
  ): OpenTransaction<Tx> {
    const { queries, wake } = this.#parts
    const { request, session, outcome, grant } = opened
    const stored = this.#stored
    return new PostgresTransaction({ request, session, outcome, grant, queries, wake, stored })
  }
}
