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

import { TransactionAccess } from '../../../engine/transaction-access.ts'
import type { Call, HeldSession, Holding, Rows, Session } from '../client.ts'
import type { PgPoolClient } from './pg.ts'
import { firstStatement, type Given, travelling } from './pg-first-statement.ts'
import { isPrepared, isProtocol, type PgQueryClass, queryClassOf } from './pg-protocol.ts'
import { beginOf, sessionOn, type Wire } from './wire.ts'

type Standing = 'held' | 'asked' | 'granted' | 'failed' | 'rehearsed' | 'over'

/** Such a transaction on a connection that was checked out for it. */
export class PgHeldSession<Tx extends PgPoolClient> implements HeldSession<Tx> {
  readonly handle: Tx
  readonly #connection: Tx
  readonly #wire: Wire<Tx>
  readonly #session: Session<Tx>
  readonly #holding: Holding
  readonly #begin: Call
  #standing: Standing = 'held'
  #fault: unknown
  /** Refuses a rehearsal, and gives what it is refused with. */
  #refuse = (): unknown => undefined
  /** What waits for the answer to the claim, in order. */
  readonly #waiting: (() => void)[] = []

  constructor(connection: Tx, wire: Wire<Tx>, holding: Holding) {
    this.#connection = connection
    this.#wire = wire
    this.#holding = holding
    this.#session = sessionOn(wire, holding.isolation, new TransactionAccess())
    this.#begin = beginOf(holding.isolation)
    const query = (...args: readonly unknown[]) => this.#query(args)
    this.handle = new Proxy(connection, {
      get: (target, name): unknown => (name === 'query' ? query : Reflect.get(target, name)),
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

  async rollback(): Promise<void> {
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
    if (this.#standing !== 'held') return this.#reject(args)
    const given = this.#travelling(args)
    if (given !== undefined) return this.#together(given)
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
  #together({ Query, ...given }: Given & { Query: PgQueryClass }): Promise<unknown> {
    this.#standing = 'asked'
    const { query, answer } = firstStatement(Query, given, {
      begin: this.#begin,
      claim: this.#holding.claim,
      granted: (row) => this.#granted(row),
      failed: (error) => this.#failed(error),
    })
    this.#pass([query])
    return answer
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

  #failed(error: unknown): unknown {
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

  #whyNot(): unknown {
    if (this.#standing === 'rehearsed') this.#fault ??= this.#refuse()
    return (this.#fault ??= new Error('The transaction is over.'))
  }

  #reject(args: readonly unknown[]): unknown {
    const [first] = args
    const fault = this.#whyNot()
    const callback = callbackOf(args)
    if (callback !== undefined) process.nextTick(callback, fault)
    else if (isSubmittable(first)) {
      process.nextTick(() => first.handleError?.(fault, this.#connection.connection))
    } else return reject(fault)
    return isSubmittable(first) ? first : undefined
  }
}

async function reject(fault: unknown): Promise<never> {
  throw fault
}

interface Submittable {
  handleError?(error: unknown, protocol: unknown): void
}

/** A query that the user has made: a cursor, a stream. */
function isSubmittable(config: unknown): config is Submittable {
  return typeof config === 'object' && config !== null && 'submit' in config
}

type Callback = (error: unknown) => void

function callbackOf([config, ...rest]: readonly unknown[]): Callback | undefined {
  const own: unknown =
    typeof config === 'object' && config !== null ? Reflect.get(config, 'callback') : undefined
  return [...rest, own].find((one): one is Callback => typeof one === 'function')
}
