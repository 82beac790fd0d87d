/**
 * How SQL is executed on the transaction of any client library.
 *
 * @module
 */

import { invalid } from '../core/options.ts'
import type { Execute, StatementResult } from '../engine/work.ts'
import type { Delivery } from '../workers/sink.ts'

/** Settings of sinks whose queue lives in the same database. */
export interface ExecuteOptions<Tx> {
  /**
   * How a statement is executed on the transaction, for handles of other libraries.
   *
   * @default for the handles of pg, postgres.js and PGlite, and for every ORM that the store has its
   * transactions from
   */
  readonly execute?: (tx: Tx) => Execute
}

interface WithQuery {
  query(text: string, values: unknown[]): Promise<StatementResult>
}

interface WithUnsafe {
  unsafe(text: string, values: unknown[]): PromiseLike<StatementResult['rows']>
}

/** How statements are executed on the transactions of a delivery. */
export function executing<Tx>(
  { execute }: ExecuteOptions<Tx>,
  delivery: Pick<Delivery<Tx>, 'execute'>,
): (tx: Tx) => Execute {
  return execute ?? delivery.execute?.bind(delivery) ?? executeOn
}

/**
 * Executes statements on a transaction of pg, postgres.js or PGlite.
 *
 * @throws RepriseError `reprise-options-invalid` for anything else
 */
function executeOn(tx: unknown): Execute {
  if (hasMember<WithUnsafe>(tx, 'unsafe')) {
    return async (text, values) => ({ rows: [...(await tx.unsafe(text, defined(values)))] })
  }
  if (hasMember<WithQuery>(tx, 'query')) {
    return async (text, values) => ({ rows: (await tx.query(text, defined(values))).rows })
  }
  throw invalid('the sink can not execute SQL on this transaction: give it the option execute')
}

/** postgres.js takes no `undefined`; the others make null of it. */
function defined(values: readonly unknown[]): unknown[] {
  return values.map((value) => value ?? null)
}

function hasMember<T extends object>(tx: unknown, name: keyof T & string): tx is T {
  const isHandle = (typeof tx === 'object' && tx !== null) || typeof tx === 'function'
  return isHandle && typeof Reflect.get(tx, name) === 'function'
}
