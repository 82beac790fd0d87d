/**
 * Transactions on a connection that takes `begin` and `commit` as statements.
 *
 * Statements that belong together are issued without waiting for each other, so that a library that
 * pipelines sends them in one flight; one that does not queues them.
 *
 * @module
 */

import type { Isolation } from '../../../engine/transactions.ts'
import type { Call, Opening, Rows, Session } from '../client.ts'
import { isDisconnected } from '../faults.ts'

/** One connection, for as long as the store uses it. */
export interface Wire<Tx> {
  readonly handle: Tx
  send(call: Call): Promise<Rows>
  /** Executes a text of one or several statements, without values; gives the last one's command. */
  script(text: string): Promise<string>
  /** Issues statements so that they leave in one packet, where the library can. */
  together<T>(issue: () => T): T
  /** Gives the connection back; a broken one is not to be used again. */
  release(broken: boolean): void
}

/** What is sent around the work. */
interface Bracket {
  readonly open: string
  readonly close: string
  /** The command that confirms a close which does not fail even if the work had failed. */
  readonly confirmation: string | null
  readonly undo: string
  /** Whether a failed close has undone everything. */
  readonly failsClean: boolean
}

const SAVEPOINT: Bracket = {
  open: 'savepoint reprise',
  close: 'release savepoint reprise',
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

/** The session of a transaction that somebody else begins, by {@link beginText}. */
export function sessionOn<Tx>(wire: Wire<Tx>, isolation: Isolation | undefined): Session<Tx> {
  return new WireSession(wire, transaction(isolation), [])
}

/** The statement that begins a transaction. */
export function beginText(isolation: Isolation | undefined): string {
  return `begin ${isolationClause(isolation)}`
}

function transaction(isolation: Isolation | undefined): Bracket {
  return {
    open: beginText(isolation),
    close: 'commit',
    confirmation: 'COMMIT',
    undo: 'rollback',
    failsClean: true,
  }
}

/** Begins a part of a transaction that is open already. */
export function joinOn<Tx>(wire: Wire<Tx>, first: Call): Promise<Session<Tx>> {
  return openOn(wire, first, SAVEPOINT)
}

async function openOn<Tx>(wire: Wire<Tx>, first: Call, bracket: Bracket): Promise<Session<Tx>> {
  const [opened, answered] = wire.together(
    () => [wire.script(bracket.open), wire.send(first)] as const,
  )
  try {
    const [, rows] = await Promise.all([opened, answered])
    return new WireSession(wire, bracket, rows)
  } catch (error) {
    await Promise.allSettled([opened, answered])
    await new WireSession(wire, bracket, []).rollback()
    throw error
  }
}

/** Runs `work` between statements that undo what it did if it fails. */
export async function inSavepoint<T>(
  script: (text: string) => Promise<unknown>,
  work: () => Promise<T>,
): Promise<T> {
  await script('savepoint nested')
  try {
    const result = await work()
    await script('release savepoint nested')
    return result
  } catch (error) {
    await script('rollback to savepoint nested; release savepoint nested')
    throw error
  }
}

class WireSession<Tx> implements Session<Tx> {
  readonly rows: Rows
  readonly #wire: Wire<Tx>
  readonly #bracket: Bracket
  #over = false

  constructor(wire: Wire<Tx>, bracket: Bracket, rows: Rows) {
    this.rows = rows
    this.#wire = wire
    this.#bracket = bracket
  }

  get handle(): Tx {
    return this.#wire.handle
  }

  query(call: Call): Promise<Rows> {
    return this.#wire.send(call)
  }

  async script(text: string): Promise<void> {
    await this.#wire.script(text)
  }

  nested<T>(work: (handle: Tx) => Promise<T>): Promise<T> {
    const { handle } = this
    return inSavepoint(
      (text) => this.#wire.script(text),
      () => work(handle),
    )
  }

  async commit(last: Call): Promise<Rows> {
    if (this.#over) throw new Error('The transaction is over.')
    const wire = this.#wire
    const flight = wire.together(() => [wire.send(last), wire.script(this.#bracket.close)] as const)
    const [stored, closed] = await Promise.allSettled(flight)
    if (stored.status === 'fulfilled' && closed.status === 'fulfilled') {
      this.#end(false)
      const { close, confirmation } = this.#bracket
      if (confirmation === null || confirmation === closed.value) return stored.value
      throw new Error(`The server answered ${close} with ${closed.value}.`)
    }

    const error: unknown = [stored, closed].find(isRejected)?.reason
    const broken = isDisconnected(error) || (isRejected(closed) && isDisconnected(closed.reason))
    if (broken || this.#bracket.failsClean) this.#end(broken)
    else await this.rollback()
    throw error
  }

  async rollback(): Promise<void> {
    if (this.#over) return
    try {
      await this.#wire.script(this.#bracket.undo)
      this.#end(false)
    } catch {
      this.#end(true)
    }
  }

  #end(broken: boolean): void {
    if (this.#over) return
    this.#over = true
    this.#wire.release(broken)
  }
}

function isRejected(result: PromiseSettledResult<unknown>): result is PromiseRejectedResult {
  return result.status === 'rejected'
}
