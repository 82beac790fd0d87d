/**
 * PGlite: PostgreSQL inside the process, with one session that all statements share. While one
 * transaction is open everything else waits.
 *
 * Declared by shape, so that PGlite does not have to be installed by those who use another library.
 *
 * @module
 */

import { OPTIONS_INVALID } from '../../../core/error-table.ts'
import { RepriseError } from '../../../core/errors.ts'
import { guardCalls } from '../access/calls.ts'
import { type Call, type Client, PARSED_TYPES, parseValue, type Rows } from '../client.ts'
import { type ParkedWire, park, type Run } from './parked.ts'
import { inSavepoint, isolationClause } from './wire.ts'

/** How PGlite is to give rows. */
export interface PgliteQueryOptions {
  rowMode?: 'array'
  parsers?: Record<number, (text: string) => unknown>
}

/** What PGlite answers. */
export interface PgliteResult {
  readonly rows: unknown[]
  readonly command?: string
}

/** What the store uses of a `Transaction` of PGlite. */
export interface PgliteTransaction {
  query(text: string, values?: unknown[], options?: PgliteQueryOptions): Promise<PgliteResult>
  exec(text: string): Promise<PgliteResult[]>
}

/** What the store uses of a `PGlite`. */
export interface PgliteDatabase<Tx> {
  query(text: string, values?: unknown[], options?: PgliteQueryOptions): Promise<PgliteResult>
  exec(text: string): Promise<PgliteResult[]>
  transaction<T>(callback: (tx: Tx) => Promise<T>): Promise<T>
  listen(channel: string, callback: (payload: string) => void): Promise<() => Promise<void>>
}

/** The store's view of a PGlite. */
export function pgliteClient<Tx extends PgliteTransaction>(db: PgliteDatabase<Tx>): Client<Tx> {
  const wire: ParkedWire<Tx> = {
    isOrdered: true,
    send,
    script: (tx, text) => tx.exec(text),
    nested,
    guard: guardCalls,
  }
  const ask = (call: Call) => send(db, call)
  return {
    source: db,
    single: true,
    query: ask,
    async begin({ first, isolation, connection }) {
      if (connection !== undefined) {
        throw new RepriseError(OPTIONS_INVALID, 'PGlite has no connections to begin on')
      }
      const run: Run<Tx> = (callback) =>
        db.transaction(async (tx) => {
          if (isolation !== undefined) {
            await tx.exec(`set transaction ${isolationClause(isolation)}`)
          }
          await callback(tx)
        })
      return park<Tx>(run, wire, { first, ask })
    },
    join: (tx, first) => park<Tx>((callback) => nested(tx, callback), wire, { first }),
    async listen({ channel, hear }) {
      const unlisten = await db.listen(channel, hear)
      // The database may be closed by then, and with it all listening.
      return () => void unlisten().catch(() => {})
    },
  }
}

function nested<Tx extends PgliteTransaction, T>(
  tx: Tx,
  work: (inner: Tx) => Promise<T>,
): Promise<T> {
  return inSavepoint(
    (text) => tx.exec(text),
    () => work(tx),
  )
}

const parsers: Readonly<Record<number, (text: string) => unknown>> = Object.fromEntries(
  PARSED_TYPES.map((type) => [type, (text: string) => parseValue(type, text)]),
)

async function send(
  on: Pick<PgliteTransaction, 'query'>,
  { statement, values }: Call,
): Promise<Rows> {
  const { rows } = await on.query(statement.text, [...values], { rowMode: 'array', parsers })
  // Rows are arrays because the mode says so.
  return rows as unknown[][]
}
