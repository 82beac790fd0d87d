import type { Store } from '../../src/engine/store.ts'
import { memoryStore } from '../../src/stores/memory/store.ts'
import { FakeClock } from '../../src/testing/fake-clock.ts'
import type { StoreHarness } from '../../src/testing/harness.ts'
import type { Disposable } from '../conformance/describe.ts'
import { pgHarness } from '../conformance/postgres.harness.ts'
import { ioredisDriver, nodeRedisDriver, redisHarness } from '../conformance/redis.harness.ts'
import { loadClient } from '../stores/sqlite-clients.ts'
import { sqliteHarness } from '../stores/sqlite-harness.ts'
import { redisUrl } from '../support/redis.ts'

/** A store under test; the engine has no use for its transactions here. */
export interface Ground extends Pick<StoreHarness, 'advance'>, Disposable {
  readonly store: Store
  readonly peer: Store
}

/** Every kind of store, with two clients of Redis side by side. */
export function grounds(): readonly { name: string; make: () => Promise<Ground> }[] {
  const url = redisUrl()
  const redis = { name: 'Redis', make: () => onRedis(url ?? '') }
  return [
    { name: 'memory', make: onMemory },
    { name: 'PostgreSQL', make: async () => withoutTransactions(await pgHarness()) },
    ...(url === undefined ? [] : [redis]),
    {
      name: 'SQLite',
      make: async () => withoutTransactions(await sqliteHarness(loadClient('libsql'), 2)),
    },
  ]
}

async function onMemory(): Promise<Ground> {
  const clock = new FakeClock()
  const store = memoryStore({ clock })
  return { store, peer: store, advance: async (ms) => clock.advance(ms) }
}

async function onRedis(where: string): Promise<Ground> {
  const { open } = nodeRedisDriver
  return withoutTransactions(await redisHarness({ where, open, openPeer: ioredisDriver.open }))
}

/** Lease mode works on any store; what its transactions are made of does not matter. */
function withoutTransactions(harness: object): Ground {
  return harness as Ground
}
