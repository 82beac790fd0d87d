/**
 * The client libraries of PostgreSQL, for sinks that deliver in the transaction of the store.
 *
 * @module
 */

import postgres from 'postgres'
import { onTestFinished } from 'vitest'
import { createReprise } from '../../src/engine/reprise.ts'
import { postgresStore } from '../../src/stores/postgres/index.ts'
import { stageAllOn } from '../workers/world.ts'
import type { World } from './contract.ts'

/** The same world with the store on postgres.js. */
export function onPostgresJs(world: World): World {
  const sql = postgres(world.database.url, { max: 8, onnotice: () => {} })
  const store = postgresStore(sql)
  const reprise = createReprise({ store })
  onTestFinished(async () => {
    await reprise.close()
    // A transaction whose connection was ended on purpose would be waited for.
    await sql.end({ timeout: 1 })
  })
  // Only the handle is another one, which no test here touches.
  return { ...world, store, reprise, stageAll: stageAllOn(reprise) } as unknown as World
}
