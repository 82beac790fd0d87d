import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { query } from '../../scripts/servers/postgres.ts'
import { useProgram } from '../support/children.ts'
import { type TemporaryDatabase, temporaryDatabase } from '../support/postgres.ts'
import type { DuplicatesMessage, DuplicatesTask } from './duplicates-program.ts'

const PROCESSES = 4
const COPIES = 1000

describe.each(['lease', 'transaction'] as const)('%s mode on PostgreSQL', (mode) => {
  const start = useProgram<DuplicatesTask, DuplicatesMessage>(
    join(import.meta.dirname, 'duplicates-program.ts'),
  )
  let database: TemporaryDatabase
  beforeAll(async () => {
    database = await temporaryDatabase()
    await query(database.url, 'create table effects (pid integer)')
  })
  afterAll(() => database.drop())

  it(`answers ${COPIES} duplicates of ${PROCESSES} processes with one execution`, async () => {
    const task = { url: database.url, mode, copies: COPIES / PROCESSES, handlerMs: 1000 }
    const processes = Array.from({ length: PROCESSES }, () => start(task))
    for (const process of processes) expect(await process.message()).toBe('ready')

    for (const process of processes) process.send('go')
    const reports = await Promise.all(processes.map((process) => process.message()))

    const effects = await query(database.url, 'select pid from effects')
    expect(effects.rows).toHaveLength(1)
    const outcomes: Record<string, number> = {}
    const bodies = new Set<string>()
    for (const report of reports) {
      if (report === 'ready') throw new Error('A report was expected.')
      for (const [outcome, count] of Object.entries(report.outcomes)) {
        outcomes[outcome] = (outcomes[outcome] ?? 0) + count
      }
      for (const body of report.bodies) bodies.add(body)
      // The one who listens, the one who runs, the one who looks: no waiter has its own.
      expect(report.connectionsBusy).toBeLessThanOrEqual(4)
    }
    expect(outcomes).toEqual({ executed: 1, replayed: COPIES - 1 })
    expect(bodies.size).toBe(1)
  })
})
