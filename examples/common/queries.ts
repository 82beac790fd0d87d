/**
 * Where the statements of a request belong.
 *
 * @module
 */

import type { Pool, PoolClient } from 'pg'
import { runOf } from 'reprise/node'

/**
 * The transaction that also holds the key and the answer; for a request that came without a key, and
 * so runs unprotected, the pool.
 */
export function queriesOf(request: object, pool: Pool): Pick<PoolClient, 'query'> {
  const run = runOf<PoolClient>(request)
  return run !== undefined && 'tx' in run ? run.tx : pool
}
