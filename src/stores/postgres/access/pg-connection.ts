/**
 * A guard for a connection of pg that an ORM works on.
 *
 * @module
 */

import { pgTx } from '../clients/pg-tx.ts'
import type { AppAccess } from './app-access.ts'

/** The connection as the app's code gets it. To give it back to its pool is for the ORM to do. */
export function guardPgConnection<T extends object>(connection: T, access: AppAccess): T {
  const query: unknown = Reflect.get(connection, 'query')
  if (typeof query !== 'function') throw new TypeError('The connection takes no queries.')
  return pgTx(connection, {
    access,
    query: (values) => Reflect.apply(query, connection, values),
    released: () => {},
  })
}
