/** A pool of one connection, as apps on functions have it: nothing may hold on to that one. */

import pg from 'pg'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createReprise } from '../../src/index.ts'
import { advance, operation, phase, respond } from '../../src/phases/index.ts'
import { functionSink } from '../../src/sinks/function.ts'
import { postgresStore } from '../../src/stores/postgres/index.ts'
import { createWorkers } from '../../src/workers/index.ts'
import { anything, request, seen } from '../phases/phases-world.ts'
import { type TemporaryDatabase, temporaryDatabase } from '../support/postgres.ts'

describe('a pool of one connection', () => {
  let database: TemporaryDatabase
  let pool: pg.Pool
  beforeAll(async () => {
    database = await temporaryDatabase()
    pool = new pg.Pool({ connectionString: database.url, max: 1 })
  })
  afterAll(async () => {
    await pool.end()
    await database.drop()
  })

  it('carries requests, requests that wait for them, and all workers', async () => {
    const reprise = createReprise({ store: postgresStore(pool), storeTimeoutMs: 60_000 })
    const op = operation(
      'make',
      { reprise, input: anything },
      {
        started: phase(async ({ stage }) => {
          await stage('mail', { n: 1 })
          return advance('second')
        }),
        second: phase(async () => respond(201)),
      },
    )
    const mails: unknown[] = []
    let mailed = () => {}
    const hasMail = new Promise<void>((resolve) => {
      mailed = resolve
    })
    const sink = functionSink(async ({ args }) => {
      mails.push(args)
      mailed()
    })
    const workers = createWorkers(reprise, { operations: [op], sink })
    workers.start()
    const other = postgresStore(pool)
    const unwatch = await other.watch?.('a record that somebody waits for', () => {})
    expect(seen(await op.run(request('k')))).toEqual(['executed', 201, ''])
    await hasMail
    expect(mails).toEqual([{ n: 1 }])
    unwatch?.()
    await workers.stop()
    await Promise.all([reprise.close(), other.close()])
  }, 120_000)
})
