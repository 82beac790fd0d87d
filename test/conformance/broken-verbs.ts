/**
 * Broken verbs of a store, where a broken part does not reach.
 *
 * @module
 */

import type { KeyRecord } from '../../src/core/record.ts'
import { claimed } from '../../src/core/transition.ts'
import type { Finish, ListQuery, Store } from '../../src/engine/store.ts'
import { sampleRequest } from '../../src/testing/contract/sample.ts'
import type { PliableStore } from './pliable-store.ts'

/** What is wrong, and the verbs that make it so. */
export const BROKEN_VERBS: Readonly<Record<string, (store: PliableStore) => Partial<Store>>> = {
  'finds a record where there is none': (store) => {
    const { find } = verbsOf(store)
    return { find: async (id) => (await find(id)) ?? store.listed(blankRecord(id)) }
  },
  'writes where there is no record': (store) => {
    const { renew, advance, finish, release } = verbsOf(store)
    return {
      renew: async (claim, leaseMs) => !store.records.has(claim.id) || renew(claim, leaseMs),
      advance: async (claim, step) => !store.records.has(claim.id) || advance(claim, step),
      finish: async (claim, end) => !store.records.has(claim.id) || finish(claim, end),
      release: async (claim, mode) => !store.records.has(claim.id) || release(claim, mode),
    }
  },
  'claims by fingerprint': (store) => {
    const { claim } = verbsOf(store)
    return { claim: (request) => claim({ ...request, id: request.fingerprint }) }
  },
  'lists the first page only': (store) => {
    const { list } = verbsOf(store)
    return { list: async (query) => ({ ...(await list(query)), next: null }) }
  },
  'lists the first page for ever': (store) => {
    const { list } = verbsOf(store)
    return { list: async ({ after: _, ...query }) => ({ ...(await list(query)), next: 'on' }) }
  },
  'lists a record twice': (store) => {
    const { list } = verbsOf(store)
    return {
      list: async (query) => {
        const { records, next } = await list(query)
        return { records: [...records, ...records].slice(0, query.limit), next }
      },
    }
  },
  'lists beyond the limit': (store) => {
    const { list } = verbsOf(store)
    return { list: (query) => list({ ...query, limit: query.limit + 1 }) }
  },
  'lists every caller': listingWithout('caller'),
  'lists every operation': listingWithout('operation'),
  'lists every standing': listingWithout('status'),
  'lists without input': (store) => {
    const { list } = verbsOf(store)
    return {
      list: async (query) => {
        const { records, next } = await list(query)
        return {
          records: records.map(({ record, status }) => ({
            record: { ...record, input: null },
            status,
          })),
          next,
        }
      },
    }
  },
  'sweeps without limit': (store) => {
    const { sweep } = verbsOf(store)
    return { sweep: () => sweep(Number.POSITIVE_INFINITY) }
  },
  'counts one running record': () => ({
    stats: async () => ({ running: 1, suspended: 0, unknown: 0 }),
  }),
  'counts lapsed records as running': (store) => {
    const { stats } = verbsOf(store)
    return {
      stats: async () => {
        const { running, suspended, unknown } = await stats()
        return { running: running + suspended + unknown, suspended: 0, unknown: 0 }
      },
    }
  },
  'starts empty each time it gets ready': (store) => ({
    ready: async () => store.records.clear(),
  }),
  'keeps one answer for all that finish at once': (store) => {
    const { finish } = verbsOf(store)
    let last: Finish | undefined
    return {
      finish: async (claim, end) => {
        last = end
        await Promise.resolve()
        return finish(claim, last)
      },
    }
  },
  'answers a finish before it has happened': (store) => {
    const { finish } = verbsOf(store)
    return {
      finish: async (claim, end) => {
        queueMicrotask(() => void finish(claim, end))
        return true
      },
    }
  },
  'watches without end': (store) => ({
    watch: async (id, wake) => {
      store.watchers.add(id, wake)
      return () => {}
    },
  }),
  'wakes the first watcher only': (store) => {
    const watched = new Set<string>()
    return {
      watch: async (id, wake) => {
        if (watched.has(id)) return () => {}
        watched.add(id)
        return store.watchers.add(id, wake)
      },
    }
  },
  'watches one record at a time': (store) => {
    let stop = () => {}
    return {
      watch: async (id, wake) => {
        stop()
        stop = store.watchers.add(id, wake)
        return stop
      },
    }
  },
}

/** The verbs as they are before one is broken. */
function verbsOf(store: PliableStore): Store {
  const { name } = store
  return {
    name,
    ready: store.ready.bind(store),
    claim: store.claim.bind(store),
    renew: store.renew.bind(store),
    advance: store.advance.bind(store),
    finish: store.finish.bind(store),
    release: store.release.bind(store),
    find: store.find.bind(store),
    list: store.list.bind(store),
    sweep: store.sweep.bind(store),
    stats: store.stats.bind(store),
    close: store.close.bind(store),
  }
}

function listingWithout(filter: keyof ListQuery): (store: PliableStore) => Partial<Store> {
  return (store) => {
    const { list } = verbsOf(store)
    // A query without a filter that may be absent is still a query.
    return { list: ({ [filter]: _, ...query }) => list(query as ListQuery) }
  }
}

function blankRecord(id: string): KeyRecord {
  const grant = { kind: 'execute', fence: 1, fresh: true, abandoned: false } as const
  return claimed(undefined, { fresh: sampleRequest({ id }), grant, now: 0 })
}
