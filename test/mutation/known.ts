/**
 * Mistakes that no test noticed once, each of which does harm. `npm run proof` plants them every time.
 *
 * @module
 */

import type { Chosen } from './lane.ts'
import type { Mutant } from './mutants.ts'
import type { Source } from './source.ts'

/** A mistake, given by the text that it replaces. */
interface Known {
  /** What goes wrong, in words. */
  readonly what: string
  readonly file: string
  /** Stands in the file once. */
  readonly find: string
  readonly replace: string
  /** The test file that notices. */
  readonly test: string
}

const KNOWN: readonly Known[] = [
  {
    what: 'a call that may have happened counts as ended, and the provider is called twice',
    file: 'src/phases/call-run.ts',
    find: 'callKey: isOpen ? null : key',
    replace: 'callKey: key',
    test: 'test/phases/open-calls.test.ts',
  },
  {
    what: 'a run that was not resumed asks for earlier calls, and one that was does not',
    file: 'src/phases/call-run.ts',
    find: "if (care === 'unnoted' || !place.isResumed) return toCall",
    replace: "if (care === 'unnoted' && !place.isResumed) return toCall",
    test: 'test/phases/open-calls.test.ts',
  },
  {
    what: 'the second version of an API gets the answer of the first from the cache',
    file: 'src/engine/replay-cache.ts',
    find: 'if (version !== undefined) parts.push(version)',
    replace: '',
    test: 'test/engine/replay-cache.test.ts',
  },
  {
    what: 'a handler that asks for the signal after its lease has lapsed is never told',
    file: 'src/engine/lease.ts',
    find: 'if (this.#isLost) this.#lost.abort(new RepriseError(LEASE_LOST))',
    replace: '',
    test: 'test/engine/lease.test.ts',
  },
  {
    what: 'a handler runs under a lease that had lapsed before the store’s reply came',
    file: 'src/engine/claiming.ts',
    find: 'const isInTime = clock.now() - askedAt < job.options.leaseMs',
    replace: 'const isInTime = true',
    test: 'test/engine/claiming.test.ts',
  },
  {
    what: 'a claim whose replies always come too late blocks its key',
    file: 'src/engine/claiming.ts',
    find: 'context.background(repeat(context, job, () => withdraw(context, result.claim)))',
    replace: '',
    test: 'test/engine/claiming.test.ts',
  },
  {
    what: 'a claim that takes effect after its request was given up blocks its key',
    file: 'src/engine/claiming.ts',
    find: 'if (asking.hasFailed && isGranted(result)) await withdraw(context, result.claim)',
    replace: '',
    test: 'test/engine/claiming.test.ts',
  },
  {
    what: 'a claim is sent when nobody waits for it any more',
    file: 'src/engine/claiming.ts',
    find: 'if (!sending.isAwaited) throw new Error()',
    replace: '',
    test: 'test/engine/claiming.test.ts',
  },
  {
    what: 'a request that could not claim withdraws the claim of another one',
    file: 'src/engine/claiming.ts',
    find: 'if (found?.record.owner !== owner) return false',
    replace: 'if (found === undefined) return false',
    test: 'test/engine/claiming.test.ts',
  },
  {
    what: 'the flags before a ciphertext can be changed by others',
    file: 'src/engine/seal.ts',
    find: "['reprise', VERSION, flags, id, part]",
    replace: "['reprise', VERSION, id, part]",
    test: 'test/engine/seal.test.ts',
  },
  {
    what: 'an answer unpacks to any size',
    file: 'src/engine/seal.ts',
    find: '{ maxOutputLength: UNPACKED_BYTES_MAX }',
    replace: '{}',
    test: 'test/engine/seal.test.ts',
  },
  {
    what: 'jobs stay locked after their batch could not be settled',
    file: 'src/workers/enqueuer.ts',
    find: 'await batch.rollback()',
    replace: '',
    test: 'test/workers/enqueue-batch.test.ts',
  },
  {
    what: 'a sink that goes on after its delivery writes into the next one',
    file: 'src/workers/enqueuer.ts',
    find: '.finally(() => access.end())',
    replace: '',
    test: 'test/workers/enqueue-batch.test.ts',
  },
  {
    what: 'a record that makes way leaves its attempts to the next one of its key',
    file: 'src/stores/postgres/migrations/0008-quota.ts',
    find: 'delete from reprise.attempts a where a.record_id = p_id;',
    replace: '',
    test: 'test/phases/open-calls.test.ts',
  },
  {
    what: 'a lock that somebody else took meanwhile is thrown away',
    file: 'src/client/file-locks.ts',
    find: 'else await this.#files.moveForCertain(aside, name)',
    replace: 'else await this.#files.remove(aside)',
    test: 'test/client/file-lock-races.test.ts',
  },
  {
    what: 'a lock that somebody else took meanwhile counts as freed',
    file: 'src/client/file-locks.ts',
    find: 'const isTheirs = (await this.#files.read(aside)) === holder',
    replace: 'const isTheirs = (await this.#files.read(aside)) !== undefined',
    test: 'test/client/file-lock-races.test.ts',
  },
]

/** The known mistakes in the sources as they are, and the tests of each. */
export function knownMutants(sources: readonly Source[]): ReadonlyMap<Mutant, readonly Chosen[]> {
  const planted = KNOWN.map(({ what, file, find, replace, test }) => {
    const source = sources.find(({ path }) => path === file)
    const places = (source?.text.split(find).length ?? 1) - 1
    if (source === undefined || places !== 1) {
      throw new Error(`${file} has ${places} places to plant this in: ${what}`)
    }
    const start = source.text.indexOf(find)
    const change = {
      kind: 'known',
      isReplaced: false,
      start,
      end: start + find.length,
      replacement: replace,
    }
    const mutant = {
      ...change,
      source,
      name: `${file}: ${what}`,
      isText: file.includes('/stores/'),
    }
    return [mutant, [{ file: test, ids: undefined }]] as const
  })
  return new Map(planted)
}
