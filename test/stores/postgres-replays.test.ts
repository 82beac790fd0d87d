import type pg from 'pg'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createReprise, type Reprise } from '../../src/index.ts'
import { postgresStore } from '../../src/stores/postgres/index.ts'
import { poolOf } from '../conformance/postgres.harness.ts'
import { REQUEST, response } from '../engine/world.ts'
import { atLength } from '../support/at-length.ts'
import { type TemporaryDatabase, temporaryDatabase } from '../support/postgres.ts'

const KEYS = atLength(200, 3_000)
/** How many replays of each key are sent at once. */
const AT_ONCE = 6

let database: TemporaryDatabase
const pools: pg.Pool[] = []

/** An engine of a process of its own, which knows nothing of what others have stored. */
function engine(): Reprise<pg.PoolClient> {
  const pool = poolOf(database.url, { max: 8, pipeline: true })
  pools.push(pool)
  return createReprise({ store: postgresStore(pool), replayCache: false })
}

beforeAll(async () => {
  database = await temporaryDatabase()
})

afterAll(async () => {
  await Promise.all(pools.map((pool) => pool.end()))
  await database.drop()
})

describe.each(['first', 'with-first-statement'] as const)('with the claim %s', (claim) => {
  it('a finished request is never in progress, however many replays come at once', async () => {
    const [writer, one, two] = [engine(), engine(), engine()]
    const keys = Array.from({ length: KEYS }, (_, index) => `${claim}-${index}`)
    const send = (reprise: Reprise<pg.PoolClient>, key: string) =>
      reprise.runInTransaction(
        { ...REQUEST, key },
        async ({ tx }) => {
          await tx.query('select $1::text', [key])
          return response()
        },
        { claim },
      )
    for (const reprise of [writer, one, two]) await send(reprise, `${claim}-warm-up`)
    await Promise.all(keys.map((key) => send(writer, key)))

    const outcomes = new Map<string, number>()
    for (let at = 0; at < keys.length; at += 10) {
      const some = keys.slice(at, at + 10)
      const sent = some.flatMap((key) =>
        Array.from({ length: AT_ONCE }, (_, index) => send(index % 2 === 0 ? one : two, key)),
      )
      for (const { outcome } of await Promise.all(sent)) {
        outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1)
      }
    }
    expect(Object.fromEntries(outcomes)).toEqual({ replayed: KEYS * AT_ONCE })
  })
})
