/**
 * A client whose transactions are opened by the app's ORM, while the store's own verbs go on through
 * the driver.
 *
 * @module
 */

import { OPTIONS_INVALID } from '../../../core/error-table.ts'
import { RepriseError } from '../../../core/errors.ts'
import type { StatementResult } from '../../../engine/work.ts'
import type { AppAccess } from '../access/app-access.ts'
import { guardCalls } from '../access/calls.ts'
import type { Call, Client, Rows, Value } from '../client.ts'
import { StatementFailed } from '../faults.ts'
import type { TransactionSource } from '../handles/source.ts'
import { selectedAsJson } from '../queries.ts'
import { type ParkedWire, park } from './parked.ts'
import { inSavepoint } from './wire.ts'

/** The client `driver` with the transactions of `source`. */
export function openedBy<Tx>(driver: Client<unknown>, source: TransactionSource<Tx>): Client<Tx> {
  const wire: ParkedWire<Tx> = {
    isOrdered: false,
    send: (tx, call) => send(source, tx, call),
    script: (tx, text) => script(source, tx, text),
    nested: (tx, work) => nestedIn(source, tx, work),
    guard: (tx, access) => source.guard?.(tx, access) ?? guarded(tx, access),
  }
  const ask = (call: Call) => driver.query(call)
  return {
    source: driver.source,
    single: driver.single,
    query: ask,
    listen: driver.listen,
    async begin({ first, isolation, connection }) {
      if (connection !== undefined) {
        const detail = 'Transactions of an ORM begin on no connection of yours; join yours instead'
        throw new RepriseError(OPTIONS_INVALID, detail)
      }
      return park((work) => source.transaction(work, isolation), wire, { first, ask })
    },
    execute: (tx) => async (text, values) => ({
      rows: await executeOn(source, tx, { text, values: values.map(plain) }),
    }),
    join: (tx, first) => park((work) => nestedIn(source, tx, work), wire, { first }),
  }
}

/**
 * Executes a statement of a queue's own. What it selects comes as JSON: an ORM may refuse to read a
 * type that it does not know.
 */
async function executeOn<Tx>(
  source: TransactionSource<Tx>,
  tx: Tx,
  { text, values }: { readonly text: string; readonly values: readonly Value[] },
): Promise<StatementResult['rows']> {
  if (!/^\s*select\b/i.test(text)) {
    const answered = await source.query(tx, text, values)
    // Rows are objects, or arrays, in which nobody finds a member by its name.
    return answered as StatementResult['rows']
  }
  const rows = await source.query(tx, selectedAsJson(text), values)
  return rows.map((row) => JSON.parse(String(Object.values(row)[0])))
}

/** A value that every library takes: not all of them make JSON of an object. */
function plain(value: unknown): Value {
  if (value === undefined || value === null) return null
  if (value instanceof Uint8Array) return value
  if (value instanceof Date) return value.toISOString()
  if (typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean') {
    return value
  }
  return typeof value === 'bigint' ? value.toString() : JSON.stringify(value)
}

/** Anything that is given to a callback and takes statements is an object. */
function guarded<Tx>(tx: Tx, access: AppAccess): Tx {
  const isObject = (typeof tx === 'object' && tx !== null) || typeof tx === 'function'
  return isObject ? guardCalls(tx, access) : tx
}

/** Runs `work` in a part of the transaction that can be undone alone. */
async function nestedIn<Tx, T>(
  source: TransactionSource<Tx>,
  tx: Tx,
  work: (inner: Tx) => Promise<T>,
): Promise<T> {
  if (source.nested === undefined) {
    return inSavepoint(
      (text) => script(source, tx, text),
      () => work(tx),
    )
  }
  let result: { readonly value: T } | undefined
  await source.nested(tx, async (inner) => {
    result = { value: await work(inner) }
  })
  if (result === undefined) throw new Error('The nested transaction was not run.')
  return result.value
}

async function send<Tx>(
  source: TransactionSource<Tx>,
  tx: Tx,
  { statement, values }: Call,
): Promise<Rows> {
  try {
    const rows = await source.query(tx, statement.text, values)
    return rows.map((row) => (Array.isArray(row) ? row : Object.values(row)))
  } catch (error) {
    throw new StatementFailed(error)
  }
}

/** Only savepoints are set, kept and undone in transactions of the app: nothing that holds a `;`. */
async function script<Tx>(source: TransactionSource<Tx>, tx: Tx, text: string): Promise<void> {
  for (const statement of text.split(';')) await source.query(tx, statement, [])
}
