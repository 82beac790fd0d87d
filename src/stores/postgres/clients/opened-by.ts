/**
 * A client whose transactions are opened by the app's ORM, while the store's own verbs go on through
 * the driver.
 *
 * @module
 */

import { OPTIONS_INVALID } from '../../../core/error-table.ts'
import { RepriseError } from '../../../core/errors.ts'
import type { Call, Client, Rows } from '../client.ts'
import { StatementFailed } from '../faults.ts'
import type { TransactionSource } from '../handles/source.ts'
import { type ParkedWire, park } from './parked.ts'
import { inSavepoint, joinOn, takingTurns, type Wire } from './wire.ts'

/** The client `driver` with the transactions of `source`. */
export function openedBy<Tx>(driver: Client<unknown>, source: TransactionSource<Tx>): Client<Tx> {
  const wire: ParkedWire<Tx> = {
    isOrdered: false,
    send: (tx, call) => send(source, tx, call),
    script: (tx, text) => script(source, tx, text),
    nested: (tx, work) => nestedIn(source, tx, work),
  }
  return {
    source: driver.source,
    single: driver.single,
    query: (call) => driver.query(call),
    listen: driver.listen,
    async begin({ first, isolation, connection }) {
      if (connection !== undefined) {
        const detail = 'Transactions of an ORM begin on no connection of yours; join yours instead'
        throw new RepriseError(OPTIONS_INVALID, detail)
      }
      return park((work) => source.transaction(work, isolation), wire, first)
    },
    join(tx, first) {
      const { nested } = source
      if (nested === undefined) return joinOn(wireOf(source, tx), first)
      return park((work) => nested(tx, work), wire, first)
    },
  }
}

/** ORMs need not keep the order of statements that are sent at once. */
function wireOf<Tx>(source: TransactionSource<Tx>, tx: Tx): Wire<Tx> {
  const inTurn = takingTurns()
  return {
    handle: tx,
    send: (call) => inTurn(() => send(source, tx, call)),
    together: (issue) => issue(),
    async script(text) {
      await inTurn(() => script(source, tx, text))
      return ''
    },
    release: () => {},
  }
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
