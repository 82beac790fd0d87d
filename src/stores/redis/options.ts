/**
 * Settings of the Redis store.
 *
 * @module
 */

import { OPTIONS_INVALID } from '../../core/error-table.ts'
import { RepriseError } from '../../core/errors.ts'

/** What to do where Redis is set up so that it can forget records. */
export type OnUnsafe = 'warn' | 'refuse' | 'ignore'

/** Settings of `redisStore`. */
export interface RedisStoreOptions {
  /**
   * What the name of every Redis key begins with. Stores with different prefixes do not see each
   * other. Braces are not allowed in it, because Redis Cluster gives them a meaning.
   *
   * @default 'reprise:'
   */
  readonly prefix?: string
  /**
   * What to do when Redis would forget records in a crash (`appendonly no`) or when its memory is
   * full (any `maxmemory-policy` but `noeviction`): write a process warning with the code
   * `REPRISE_STORE_UNSAFE`, refuse to start, or nothing. A replica or a Redis that is too old is
   * refused in any case, because no record could be written there.
   *
   * @default 'warn'
   */
  readonly onUnsafe?: OnUnsafe
}

/**
 * Fills in the defaults.
 *
 * @throws RepriseError `reprise-options-invalid`
 */
export function resolveOptions(options: RedisStoreOptions): Required<RedisStoreOptions> {
  const { prefix = 'reprise:', onUnsafe = 'warn' } = options
  if (/[{}]/.test(prefix)) {
    throw new RepriseError(OPTIONS_INVALID, 'The prefix of the Redis store has a brace')
  }
  return { prefix, onUnsafe }
}
