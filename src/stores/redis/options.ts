/**
 * Settings of the Redis store.
 *
 * @module
 */

import { checkNames, type Names } from '../../core/known-options.ts'
import { invalid } from '../../core/options.ts'

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

const OPTIONS: Names<RedisStoreOptions> = { prefix: true, onUnsafe: true }
const WAYS: readonly OnUnsafe[] = ['warn', 'refuse', 'ignore']

/**
 * Fills in the defaults.
 *
 * @throws RepriseError `reprise-options-invalid`
 */
export function resolveOptions(options: RedisStoreOptions): Required<RedisStoreOptions> {
  checkNames('redisStore()', options, OPTIONS)
  const { prefix = 'reprise:', onUnsafe = 'warn' } = options
  if (/[{}]/.test(prefix)) {
    throw invalid('prefix has a brace, to which Redis Cluster gives a meaning: leave it out')
  }
  if (!WAYS.includes(onUnsafe)) {
    throw invalid(`onUnsafe must be 'warn', 'refuse' or 'ignore', not ${JSON.stringify(onUnsafe)}`)
  }
  return { prefix, onUnsafe }
}
