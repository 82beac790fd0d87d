import { EventEmitter } from 'node:events'
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest'
import type { Store } from '../../../src/engine/store.ts'
import { isDisconnected } from '../../../src/stores/postgres/faults.ts'
import { type TemporaryDatabase, temporaryDatabase } from '../../support/postgres.ts'
import { countDeaths } from './deaths.ts'
import { play } from './play.ts'
import { type Library, programOf } from './program.ts'
import type { Plant } from './subject.ts'
import { World } from './world.ts'

/** Within so many seeds a planted bug is found. */
const SEEDS_MAX = 60

const TEST_MS = 900_000

interface Planted {
  readonly name: string
  readonly libraries: readonly Library[]
  /** What is said of it. */
  readonly violation: RegExp
  readonly plant: Plant
}

const ON_PG: readonly Library[] = ['pg', 'pg-pipeline']

const PLANTED: readonly Planted[] = [
  {
    name: 'nobody listens while a new connection is handed over',
    libraries: ON_PG,
    violation: /the process died/,
    plant: ({ pool }) => {
      if (pool instanceof EventEmitter) pool.removeAllListeners('acquire')
    },
  },
  {
    name: 'a commit whose answer was cut counts as a commit',
    libraries: ON_PG,
    violation: /201 for an effect that is not there/,
    plant: ({ store }) =>
      onBegun(store, (open) => {
        const { commit } = open
        open.commit = (finish) =>
          commit.call(open, finish).catch((error: unknown) => {
            if (!isDisconnected(error)) throw error
          })
      }),
  },
  {
    name: 'a connection that was lost at the commit is not recognised',
    libraries: ON_PG,
    violation: /a bare error/,
    plant: ({ store: { transactions } }) => {
      if (transactions !== undefined) transactions.classify = () => 'other'
    },
  },
  {
    name: 'a transaction of postgres.js goes on when its connection is lost',
    libraries: ['postgres.js'],
    violation: /the process died|took more than/,
    plant: ({ pool }) => {
      // What the library is recognised by is not to be found, so nothing of it is replaced.
      if (typeof pool !== 'function') return
      const unsafe: unknown = Reflect.get(pool, 'unsafe')
      if (typeof unsafe !== 'function') return
      Object.assign(pool, {
        unsafe: (text: string, ...rest: readonly unknown[]): unknown =>
          text === 'select' ? {} : unsafe(text, ...rest),
      })
    },
  },
]

type Open = NonNullable<Awaited<ReturnType<NonNullable<Store<unknown>['transactions']>['begin']>>>

function onBegun(
  { transactions }: Store<unknown>,
  change: (open: Extract<Open, { tx: unknown }>) => void,
): void {
  if (transactions === undefined) return
  const begin = transactions.begin.bind(transactions)
  transactions.begin = async (request) => {
    const open = await begin(request)
    if ('commit' in open) change(open)
    return open
  }
}

describe('programs on hostile wires find a planted bug', () => {
  let database: TemporaryDatabase
  let world: World

  beforeAll(async () => {
    database = await temporaryDatabase()
    const redis = inject('redis')
    const servers = { postgres: database.url, redis: 'url' in redis ? redis.url : undefined }
    world = await World.open(servers)
  })
  afterAll(async () => {
    await world.close()
    await database.drop()
  })

  it.each(PLANTED)('$name', { timeout: TEST_MS }, async ({ libraries, violation, plant }) => {
    const deaths = countDeaths()
    try {
      let found: number | undefined
      for (let seed = 1; seed <= SEEDS_MAX && found === undefined; seed++) {
        const { violations } = await play(programOf(seed, libraries), { world, deaths, plant })
        if (violations.some((one) => violation.test(one))) found = seed
      }
      expect(found).toBeDefined()
      console.log(`found by seed ${found}`)
    } finally {
      deaths.restore()
    }
  })
})
