/**
 * The sentences of the design on the reference server, from outside, on each kind of PostgreSQL that it
 * runs on. What needs a server of its own is elsewhere: its ports, its end and its data in `start`,
 * `end` and `embedded`, the playground in `playground`.
 *
 * @module
 */

import { afterAll, beforeAll, describe, vi } from 'vitest'
import { type TemporaryDatabase, temporaryDatabase } from '../support/postgres.ts'
import { type ReferenceServer, startServer } from './reference-server.ts'
import { describeAgents } from './sentences/agents.ts'
import { describeCharges } from './sentences/charges.ts'
import { describeRides } from './sentences/rides.ts'
import { describeFaults, describeSite } from './sentences/site.ts'
import { describeTasks } from './sentences/tasks.ts'
import { describeWorkflows } from './sentences/workflows.ts'

/** Checks every sentence, on the tests' PostgreSQL or on the one that the server brings. */
export function describeDesign(kind: 'external' | 'embedded'): void {
  // A server is started and killed, on a machine that may be busy.
  vi.setConfig({ testTimeout: 600_000, hookTimeout: 300_000 })

  describe(`on the ${kind} PostgreSQL`, () => {
    let database: TemporaryDatabase | undefined
    let started: ReferenceServer
    beforeAll(async () => {
      if (kind === 'external') database = await temporaryDatabase()
      const own = { REPRISE_DATABASE: 'postgres' }
      started = await startServer(database ? { DATABASE_URL: database.url } : own)
    })
    afterAll(async () => {
      await started?.stop()
      await database?.drop()
    })
    const server = () => started

    describeSite(server)
    describeTasks(server)
    describeRides(server)
    describeWorkflows(server)
    describeCharges(server)
    describeAgents(server)
    describeFaults(server)
  })
}
