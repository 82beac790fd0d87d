/**
 * The little that the store needs of a PostgreSQL client library.
 *
 * Rows come as arrays and are parsed here, so that neither type parsers nor column transforms that
 * the user configured reach them.
 *
 * @module
 */

import type { Isolation } from '../../engine/transactions.ts'
import type { Execute } from '../../engine/work.ts'

/** A statement with a name of its own, so that it can be prepared once per connection. */
export interface Statement {
  readonly name: string
  readonly text: string
  /** Whether it answers in texts alone, and so needs no description of its rows. */
  readonly isTextual?: boolean
}

/** What a statement takes; numbers that do not fit go as text. */
export type Value = string | number | boolean | Uint8Array | null

/** A statement with its values. */
export interface Call {
  readonly statement: Statement
  readonly values: readonly Value[]
}

/** Rows, each with its columns in the order of the statement. */
export type Rows = readonly (readonly unknown[])[]

/** What a statement came to. */
export interface Answer {
  readonly rows: Rows
  /** What was done, as the server names it, such as `COMMIT`. */
  readonly command: string
}

/** How a transaction is begun. */
export interface Opening<Tx> {
  /** The first statement; travels with `begin` where the library can. */
  readonly first: Call
  readonly isolation?: Isolation | undefined
  /** A connection of the user's to begin on. */
  readonly connection?: Tx | undefined
}

/** An open transaction, or the part of a user's transaction since the store joined it. */
export interface Session<Tx> {
  /** What the user runs statements on. */
  readonly handle: Tx
  /** What the first statement answered. */
  readonly rows: Rows
  query(call: Call): Promise<Rows>
  /** Executes a text of several statements without values. */
  script(text: string): Promise<void>
  /** Runs `work` on a handle of its own; its failure undoes what it did there, and nothing else. */
  nested<T>(work: (handle: Tx) => Promise<T>): Promise<T>
  /**
   * Ends the app's access to `handle`. `commit` and `rollback` do so as well, and wait for the app's
   * statements that were under way.
   */
  close(): void
  /**
   * Sends the last statement and commits, and gives the rows of the statement. Rejects unless the
   * server said that it committed; the session is over either way.
   */
  commit(last: Call): Promise<Rows>
  /** Undoes everything since the start; the session is over. Never rejects. */
  rollback(): Promise<void>
  /**
   * Gives the connection up at once, whatever is under way on it; the database undoes what it has not
   * been told to commit. Absent where the library has no way to do so. Never throws.
   */
  destroy?(): void
}

/** How a transaction is begun whose claim goes with its first statement. */
export interface Holding {
  readonly isolation?: Isolation | undefined
  /** The claim, which fails unless it is granted. */
  readonly claim: Call
  /** Hears what the claim answered, before anybody hears of the first statement. */
  granted(row: readonly unknown[]): void
  /** Hears that `begin` or the claim failed; gives what the handle rejects with from then on. */
  failed(error: unknown): unknown
}

/** A transaction that is begun, and its key claimed, together with the first statement on the handle. */
export interface HeldSession<Tx>
  extends Pick<Session<Tx>, 'handle' | 'query' | 'close' | 'commit' | 'rollback' | 'destroy'> {
  /** Begins and claims, unless the first statement has; rejects with what `failed` gave. */
  claim(): Promise<void>
  /** Rejects everything with what `refuse` gives, which is called at the first; before anything was sent. */
  rehearse(refuse: () => Error): void
}

/** Hears notifications. */
export interface Listener {
  readonly channel: string
  hear(payload: string): void
  /** Called at most once, when nothing more will be heard. */
  lost(): void
}

/** A client library, as the store uses it. */
export interface Client<Tx> {
  /** The user's own object; what belongs to one database session pool is kept by it. */
  readonly source: object
  /** Whether all statements share one session, so that one transaction holds up everything else. */
  readonly single: boolean
  /** Executes one statement in a transaction of its own. */
  query(call: Call): Promise<Rows>
  begin(opening: Opening<Tx>): Promise<Session<Tx>>
  /** Opens a transaction that is begun later. Absent where that saves no flight. */
  readonly hold?: ((holding: Holding) => Promise<HeldSession<Tx>>) | undefined
  /** Executes statements of a sink on a handle. Absent where the handle is known to sinks. */
  execute?(handle: Tx): Execute
  /** Joins a transaction of the user's; `commit` and `rollback` leave it open. */
  join(tx: Tx, first: Call): Promise<Session<Tx>>
  /** Listens until told to stop. Absent where that would take the only connection there is. */
  readonly listen?: ((listener: Listener) => Promise<() => void>) | undefined
}

/** The largest timeout that PostgreSQL takes, in milliseconds. */
export const IDLE_MS_MAX = 2_147_483_647

const BOOL = 16
const BYTEA = 17
const NUMBERS: readonly number[] = [20, 21, 23, 701]

/** Object ids of the types that are not given as text: booleans, bytes and numbers. */
export const PARSED_TYPES: readonly number[] = [BOOL, BYTEA, ...NUMBERS]

/** Parses a value that the server sent as text, by the object id of its type. */
export function parseValue(type: number, text: string): unknown {
  if (type === BYTEA) return parseBytes(text)
  if (type === BOOL) return text === 't'
  return NUMBERS.includes(type) ? Number(text) : text
}

function parseBytes(text: string): Uint8Array {
  if (text.startsWith('\\x')) return Buffer.from(text.slice(2), 'hex')
  // A server with `bytea_output = escape` sends printable bytes as they are.
  const latin = text.replace(/\\(\\|\d{3})/g, (_, escaped: string) =>
    escaped === '\\' ? escaped : String.fromCharCode(Number.parseInt(escaped, 8)),
  )
  return Buffer.from(latin, 'latin1')
}
