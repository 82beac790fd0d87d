/**
 * A transaction of `pg` that is begun, and its key claimed, together with its first statement.
 *
 * ```
 *   held ──first statement──► asked ──granted──► granted ──► over
 *     │                         └──refused, or the wire broke──► failed ──► over
 *     └──nothing was ever sent──► over, by way of `rehearsed` where a refusal was
 * ```
 *
 * Nothing is sent on the handle's behalf while it is `held`, and nothing that could outlive a refusal
 * while it is `asked`; where it `failed` or is `over`, nothing is sent at all. So what the handler does
 * with the handle, then or later, is done in the transaction that has the key, or not at all.
 *
 * @module
 */

import { TRANSACTION_OVER } from '../../../core/error-table.ts'
import { RepriseError } from '../../../core/errors.ts'
import { TransactionAccess } from '../../../engine/transaction-access.ts'
import type { Call, HeldSession, Holding, Rows, Session } from '../client.ts'
import { isStale } from '../faults.ts'
import type { PgPoolClient, PgWire } from './pg.ts'
import { firstStatement, type Given, travelling } from './pg-first-statement.ts'
import { isPrepared, isProtocol, type PgQueryClass, queryClassOf } from './pg-protocol.ts'
import { isSubmittable } from './pg-submitted.ts'
import { callbackOf, refuse } from './pg-tx.ts'
import { beginOf, sessionOn } from './wire.ts'

type Standing = 'held' | 'asked' | 'granted' | 'failed' | 'rehearsed' | 'over'

/** What the first statement fails with while the transaction is begun again. */
const AGAIN = new Error('The connection had lost its prepared statements.')

/** Such a transaction on a connection that was checked out for it. */
export class PgHeldSession<Tx extends PgPoolClient> implements HeldSession<Tx> {
  readonly handle: Tx
  readonly #connection: Tx
  readonly #wire: PgWire<Tx>
  readonly #session: Session<Tx>
  readonly #holding: Holding
  readonly #begin: Call
  #standing: Standing = 'held'
  #fault: unknown
  #isRefreshed = false
  /** Refuses a rehearsal, and gives what it is refused with. */
  #refuse = (): unknown => undefined
  /** What waits for the answer to the claim, in order. */
  readonly #waiting: (() => void)[] = []

  constructor(connection: Tx, wire: PgWire<Tx>, holding: Holding) {
    this.#connection = connection
    this.#wire = wire
    this.#holding = holding
    const access = new TransactionAccess()
    this.#session = sessionOn(wire, holding.isolation, access)
    this.#begin = beginOf(holding.isolation)
    this.handle = wire.standIn({
      access,
      query: (args) => this.#query(args),
      fault: () => this.#whyNot(),
    })
  }

  claim(): Promise<void> {
    if (this.#standing === 'held') this.#ask()
    if (this.#standing === 'granted') return Promise.resolve()
    return this.#answered().then(() => {
      if (this.#standing !== 'granted') throw this.#whyNot()
    })
  }

  rehearse(refuse: () => Error): void {
    if (this.#standing !== 'held') return
    this.#standing = 'rehearsed'
    this.#refuse = refuse
  }

  async query(call: Call): Promise<Rows> {
    await this.claim()
    return this.#session.query(call)
  }

  close(): void {
    this.#session.close()
  }

  async commit(last: Call): Promise<Rows> {
    if (this.#standing !== 'granted') await this.claim()
    this.#standing = 'over'
    return this.#session.commit(last)
  }

  destroy(): void {
    this.#standing = 'over'
    this.#session.destroy?.()
  }

  async rollback(): Promise<void> {
    this.close()
    if (this.#standing === 'asked') await this.#answered()
    const standing = this.#standing
    if (standing === 'over') return
    this.#standing = 'over'
    if (standing === 'held' || standing === 'rehearsed') this.#wire.release(false)
    else await this.#session.rollback()
  }

  /** What `query()` on the handle does. */
  #query(args: readonly unknown[]): unknown {
    if (this.#standing === 'granted') return this.#pass(args)
    if (this.#standing === 'asked') return this.#later(args)
    if (this.#standing !== 'held') return refuse(args, this.#whyNot(), undefined)
    const given = this.#travelling(args)
    if (given !== undefined) return this.#together(given, args)
    this.#ask()
    return this.#later(args)
  }

  /** The statement, if everything is prepared for sending it with `begin` and the claim. */
  #travelling(args: readonly unknown[]): (Given & { Query: PgQueryClass }) | undefined {
    const { pipeline, connection: protocol } = this.#connection
    if (pipeline !== true || !isProtocol(protocol)) return undefined
    const Query = queryClassOf(this.#connection)
    const isReady =
      isPrepared(protocol, this.#begin.statement) &&
      isPrepared(protocol, this.#holding.claim.statement)
    if (Query === undefined || !isReady) return undefined
    const given = travelling(args, protocol)
    return given && { config: given.config, values: given.values, Query }
  }

  /** Begins, claims and executes the statement, in one flight. */
  #together(
    { Query, ...given }: Given & { Query: PgQueryClass },
    args: readonly unknown[],
  ): Promise<unknown> {
    this.#standing = 'asked'
    const { query, answer } = firstStatement(Query, given, {
      begin: this.#begin,
      claim: this.#holding.claim,
      granted: (row) => this.#granted(row),
      failed: (error) => this.#failed(error),
    })
    this.#pass([query])
    return answer.catch((error: unknown) => {
      if (error === AGAIN) return this.#later(args)
      throw error
    })
  }

  /** Begins and claims; statements wait. */
  #ask(): void {
    this.#standing = 'asked'
    const wire = this.#wire
    const flight = wire.together(
      () => [wire.send(this.#begin), wire.send(this.#holding.claim)] as const,
    )
    Promise.all(flight).then(
      ([, [row = []]]) => this.#granted(row),
      // The claim means nothing where `begin` has failed, so what came first is what counts.
      (error: unknown) => this.#failed(error),
    )
  }

  #granted(row: readonly unknown[]): void {
    this.#holding.granted(row)
    this.#settle('granted')
  }

  /** Gives what the first statement is told. Nothing was done yet, so the session may begin again. */
  #failed(error: unknown): unknown {
    if (this.#isRefreshed || !isStale(error)) return this.#fail(error)
    this.#isRefreshed = true
    void this.#beginAgain(error)
    return AGAIN
  }

  async #beginAgain(error: unknown): Promise<void> {
    const isRefreshed = await this.#wire.refresh()
    // It may have been given up meanwhile.
    if (this.#standing !== 'asked') return
    if (isRefreshed) this.#ask()
    else this.#fail(error)
  }

  #fail(error: unknown): unknown {
    this.#wire.doubt(error)
    this.#fault = this.#holding.failed(error)
    this.#settle('failed')
    return this.#fault
  }

  #settle(standing: Standing): void {
    this.#standing = standing
    for (const resume of this.#waiting.splice(0)) resume()
  }

  #answered(): Promise<void> {
    if (this.#standing !== 'asked') return Promise.resolve()
    return new Promise((resolve) => this.#waiting.push(resolve))
  }

  #pass(args: readonly unknown[]): unknown {
    // Exactly what the handler, or the class above, would have called.
    const query = this.#connection.query as (...args: readonly unknown[]) => unknown
    return Reflect.apply(query, this.#connection, args)
  }

  /** Asks again when the claim is answered; in the form in which `pg` would answer. */
  #later(args: readonly unknown[]): unknown {
    const answer = this.#answered().then(() => this.#query(args))
    if (isSubmittable(args[0])) return args[0]
    return callbackOf(args) === undefined ? answer : undefined
  }

  /** Why nothing is executed, if not because the transaction is over. */
  #whyNot(): unknown {
    if (this.#standing === 'rehearsed') this.#fault ??= this.#refuse()
    return (this.#fault ??= new RepriseError(TRANSACTION_OVER))
  }
}
