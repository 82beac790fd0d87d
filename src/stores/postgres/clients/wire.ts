/**
 * Transactions on a connection that takes `begin` and `commit` as statements.
 *
 * Statements that belong together are issued without waiting for each other, so that a library that
 * pipelines sends them in one flight; one that does not queues them.
 *
 * @module
 */

import { TRANSACTION_OVER } from '../../../core/error-table.ts'
import { RepriseError } from '../../../core/errors.ts'
import { TransactionAccess } from '../../../engine/transaction-access.ts'
import type { Isolation } from '../../../engine/transactions.ts'
import type { Answer, Call, Opening, Rows, Session } from '../client.ts'
import { isDisconnected, isStale } from '../faults.ts'

/** One connection, for as long as the store uses it. */
export interface Wire<Tx> {
  readonly handle: Tx
  /**
   * Makes what the app's code is given in the place of `handle`: it refuses to work once `access` has
   * ended, and counts the statements that are under way in it.
   */
  guard?(access: TransactionAccess): Tx
  send(call: Call): Promise<Rows>
  /** Executes a text of one or several statements, without values; gives the last one's command. */
  script(text: string): Promise<string>
  /** Issues statements so that they leave in one packet, where the library can. */
  together<T>(issue: () => T): T
  /**
   * Executes statements that answer in texts until one fails, in one flight, and puts what they came
   * to into `answers`. Absent, or `undefined`, where the library can not send several as one.
   */
  fly?(calls: readonly Call[], answers: Answer[]): Promise<unknown> | undefined
  /**
   * Rolls back, and has the server and the library forget every prepared statement, so that they agree
   * again. Gives whether it did; absent where the library has no way to do so. Never rejects.
   */
  refresh?(): Promise<boolean>
  /** Hears what a statement of the store failed with: the connection may not be fit for another use. */
  doubt?(error: unknown): void
  /** Gives the connection back; a broken one is not to be used again. */
  release(broken: boolean): void
}

/** What is sent around the work. */
interface Bracket {
  readonly open: Call
  readonly close: Call
  /** The command that confirms a close which does not fail even if the work had failed. */
  readonly confirmation: string | null
  readonly undo: string
  /** Whether a failed close has undone everything. */
  readonly failsClean: boolean
}

/** State of PostgreSQL: nobody knows whether the transaction was committed. */
const RESOLUTION_UNKNOWN = '08007'

const SAVEPOINT: Bracket = {
  open: call('savepoint reprise'),
  close: call('release savepoint reprise'),
  confirmation: null,
  // The savepoint goes too: the next one to be rolled back to is the one around it.
  undo: 'rollback to savepoint reprise; release savepoint reprise',
  failsClean: false,
}

const LEVELS: Readonly<Record<Isolation, string>> = {
  'read committed': 'isolation level read committed',
  'repeatable read': 'isolation level repeatable read',
  serializable: 'isolation level serializable',
}

/** The level as it stands behind `begin`; nothing for the database's default. */
export function isolationClause(isolation: Isolation | undefined): string {
  return isolation === undefined ? '' : LEVELS[isolation]
}

/** Begins a transaction. */
export function beginOn<Tx>(
  wire: Wire<Tx>,
  { first, isolation }: Opening<Tx>,
): Promise<Session<Tx>> {
  return openOn(wire, first, transaction(isolation))
}

/** The session of a transaction that somebody else begins, by {@link beginOf}, and gives access to. */
export function sessionOn<Tx>(
  wire: Wire<Tx>,
  isolation: Isolation | undefined,
  access: TransactionAccess,
): Session<Tx> {
  return new WireSession(wire, { bracket: transaction(isolation), rows: [], access })
}

/** The statement that begins a transaction. */
export function beginOf(isolation: Isolation | undefined): Call {
  return transaction(isolation).open
}

/** A statement without values, by a name so that it can be prepared. */
function call(text: string): Call {
  return { statement: { name: `reprise_${text.replaceAll(' ', '_')}`, text }, values: [] }
}

const transactions = new Map<Isolation | undefined, Bracket>()

function transaction(isolation: Isolation | undefined): Bracket {
  const known = transactions.get(isolation)
  if (known !== undefined) return known
  const made: Bracket = {
    open: call(`begin ${isolationClause(isolation)}`.trim()),
    close: call('commit'),
    confirmation: 'COMMIT',
    undo: 'rollback',
    failsClean: true,
  }
  transactions.set(isolation, made)
  return made
}

/** Begins a part of a transaction that is open already. */
export function joinOn<Tx>(wire: Wire<Tx>, first: Call): Promise<Session<Tx>> {
  return openOn(wire, first, SAVEPOINT)
}

async function openOn<Tx>(wire: Wire<Tx>, first: Call, bracket: Bracket): Promise<Session<Tx>> {
  try {
    return await openOnce(wire, first, bracket).catch(async (error: unknown) => {
      // Nothing was done yet, so the store may begin again.
      if (!isStale(error) || (await wire.refresh?.()) !== true) throw error
      return openOnce(wire, first, bracket)
    })
  } catch (error) {
    wire.doubt?.(error)
    await sessionOf(wire, bracket, []).rollback()
    throw error
  }
}

async function openOnce<Tx>(
  wire: Wire<Tx>,
  first: Call,
  bracket: Bracket,
): Promise<WireSession<Tx>> {
  const answers: Answer[] = []
  const flight = first.statement.isTextual && wire.fly?.([bracket.open, first], answers)
  if (!flight) return sessionOf(wire, bracket, await opened(wire, first, bracket))
  await flight
  return sessionOf(wire, bracket, answers[1]?.rows ?? [])
}

function sessionOf<Tx>(wire: Wire<Tx>, bracket: Bracket, rows: Rows): WireSession<Tx> {
  return new WireSession(wire, { bracket, rows, access: new TransactionAccess() })
}

/** What the first statement answered, in what `bracket` opens. */
async function opened<Tx>(wire: Wire<Tx>, first: Call, { open }: Bracket): Promise<Rows> {
  const flight = wire.together(() => [wire.script(open.statement.text), wire.send(first)] as const)
  try {
    const [, rows] = await Promise.all(flight)
    return rows
  } finally {
    await Promise.allSettled(flight)
  }
}

/** Runs what it is given one after the other, whatever becomes of each. */
export function takingTurns(): <T>(run: () => Promise<T>) => Promise<T> {
  let last: Promise<unknown> = Promise.resolve()
  return (run) => {
    const next = last.then(run)
    last = next.catch(() => {})
    return next
  }
}

/**
 * Runs `work` between statements that undo what it did if it fails. One that is run inside another needs
 * a name of its own, if it may be left open there: names of savepoints hide each other.
 */
export async function inSavepoint<T>(
  script: (text: string) => Promise<unknown>,
  work: () => Promise<T>,
  name = 'nested',
): Promise<T> {
  await script(`savepoint ${name}`)
  try {
    const result = await work()
    await script(`release savepoint ${name}`)
    return result
  } catch (error) {
    await script(`rollback to savepoint ${name}; release savepoint ${name}`)
    throw error
  }
}

interface SessionParts {
  readonly bracket: Bracket
  /** What the first statement answered. */
  readonly rows: Rows
  /** What the app's code may do on the handle. */
  readonly access: TransactionAccess
}

class WireSession<Tx> implements Session<Tx> {
  readonly rows: Rows
  readonly #wire: Wire<Tx>
  readonly #bracket: Bracket
  readonly #access: TransactionAccess
  /** The parts that are open, each within the one before. */
  readonly #parts: TransactionAccess[] = []
  /** Whether some were open at the end. */
  #hasLeft = false
  #handle: Tx | undefined
  #over = false

  constructor(wire: Wire<Tx>, { bracket, rows, access }: SessionParts) {
    this.rows = rows
    this.#wire = wire
    this.#bracket = bracket
    this.#access = access
  }

  get handle(): Tx {
    return (this.#handle ??= this.#handleIn(this.#access))
  }

  async query(call: Call): Promise<Rows> {
    try {
      return await this.#wire.send(call)
    } catch (error) {
      this.#wire.doubt?.(error)
      throw error
    }
  }

  async script(text: string): Promise<void> {
    await this.#wire.script(text)
  }

  /**
   * Each part has a handle of its own, which is over with the part, or with the one around it. A part
   * that is still open by then is undone, and is told so.
   */
  async nested<T>(work: (handle: Tx) => Promise<T>): Promise<T> {
    this.#access.check()
    const part = new TransactionAccess()
    const depth = this.#parts.push(part)
    const name = savepointAt(depth)
    const script = (text: string) => {
      if (text !== `savepoint ${name}`) this.#leave(part, depth)
      return this.#wire.script(text)
    }
    const run = async () => {
      try {
        return await work(this.#handleIn(part))
      } finally {
        await this.#endParts(part, depth)
      }
    }
    return inSavepoint(script, run, name)
  }

  /** The savepoint of the part is about to go. It is gone where the part around it is over. */
  #leave(part: TransactionAccess, depth: number): void {
    if (this.#parts[depth - 1] !== part) throw new RepriseError(TRANSACTION_OVER)
    this.#parts.length = depth - 1
  }

  /** Ends the part, and undoes those within it that are still open. */
  async #endParts(part: TransactionAccess, depth: number): Promise<void> {
    part.end()
    const isOpen = this.#parts[depth - 1] === part
    const left = isOpen ? this.#parts.splice(depth) : []
    for (const inner of left) inner.end()
    for (const one of [part, ...left]) await one.idle()
    if (left.length > 0) await this.#wire.script(`rollback to savepoint ${savepointAt(depth + 1)}`)
  }

  close(): void {
    this.#access.end()
    const left = this.#parts.splice(0)
    for (const part of left) part.end()
    this.#hasLeft ||= left.length > 0
  }

  /** Waits for the statements of the app that are under way, then sends the last one. */
  commit(last: Call): Promise<Rows> {
    this.close()
    if (this.#access.isIdle && !this.#hasLeft) return this.#commit(last)
    return this.#settled().then(() => this.#commit(last))
  }

  /** Waits for what is under way, and undoes the parts that were left open. */
  async #settled(): Promise<void> {
    await this.#access.idle()
    if (!this.#hasLeft || this.#over) return
    // If it fails, so does what comes behind it.
    await this.#wire.script(`rollback to savepoint ${savepointAt(1)}`).catch(() => {})
  }

  #commit(last: Call): Promise<Rows> {
    if (this.#over) return Promise.reject(new Error('The transaction is over.'))
    const answers: Answer[] = []
    const { close } = this.#bracket
    const flight = last.statement.isTextual && this.#wire.fly?.([last, close], answers)
    return flight ? this.#land(flight, answers) : this.#close(last)
  }

  #handleIn(access: TransactionAccess): Tx {
    return this.#wire.guard?.(access) ?? this.#wire.handle
  }

  /** The last statement and the close were sent; the close is skipped where the statement fails. */
  async #land(flight: Promise<unknown>, answers: readonly Answer[]): Promise<Rows> {
    try {
      await flight
    } catch (error) {
      this.#wire.doubt?.(error)
      await this.#fail(isDisconnected(error), this.#bracket.failsClean && answers.length > 0)
      throw error
    }
    return this.#confirm(answers[0]?.rows ?? [], answers[1]?.command ?? '')
  }

  /** Sends the last statement, and the close whatever becomes of it. */
  async #close(last: Call): Promise<Rows> {
    const wire = this.#wire
    const { close, failsClean } = this.#bracket
    const flight = wire.together(
      () => [wire.send(last), wire.script(close.statement.text)] as const,
    )
    const [stored, closed] = await Promise.allSettled(flight)
    if (stored.status === 'fulfilled' && closed.status === 'fulfilled') {
      return this.#confirm(stored.value, closed.value)
    }
    const error: unknown = [stored, closed].find(isRejected)?.reason
    const isBroken = isDisconnected(error) || (isRejected(closed) && isDisconnected(closed.reason))
    wire.doubt?.(error)
    await this.#fail(isBroken, failsClean)
    throw error
  }

  #confirm(rows: Rows, command: string): Rows {
    const { close, confirmation } = this.#bracket
    const isKnown = confirmation === null || command !== ''
    this.#end(!isKnown)
    if (confirmation === null || confirmation === command) return rows
    const said = isKnown ? command : 'no word'
    const error = new Error(`The server answered ${close.statement.text} with ${said}.`)
    throw isKnown ? error : Object.assign(error, { code: RESOLUTION_UNKNOWN })
  }

  async #fail(isBroken: boolean, isUndone: boolean): Promise<void> {
    if (isBroken || isUndone) this.#end(isBroken)
    else await this.rollback()
  }

  async rollback(): Promise<void> {
    this.close()
    if (this.#over) return
    if (!this.#access.isIdle) await this.#access.idle()
    if (this.#over) return
    try {
      await this.#wire.script(this.#bracket.undo)
      this.#end(false)
    } catch {
      this.#end(true)
    }
  }

  destroy(): void {
    this.close()
    this.#end(true)
  }

  #end(broken: boolean): void {
    if (this.#over) return
    this.#over = true
    this.#wire.release(broken)
  }
}

function savepointAt(depth: number): string {
  return `nested_${depth}`
}

function isRejected(result: PromiseSettledResult<unknown>): result is PromiseRejectedResult {
  return result.status === 'rejected'
}
