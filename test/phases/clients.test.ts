/**
 * Phases through every client library: the phase's rows commit with the recovery point, are rolled back
 * with it, and never commit under a fence that has moved on.
 */

import { PGlite } from '@electric-sql/pglite'
import pg from 'pg'
import postgres from 'postgres'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { z } from 'zod'
import type { Store } from '../../src/engine/store.ts'
import { createReprise, type Reprise } from '../../src/index.ts'
import { advance, operation, phase, respond } from '../../src/phases/index.ts'
import { postgresStore } from '../../src/stores/postgres/index.ts'
import { type TemporaryDatabase, temporaryDatabase } from '../support/postgres.ts'

/** A client library: its store, how a phase writes a deed, and how the test looks and meddles. */
interface Library<Tx> {
  readonly store: Store<Tx>
  write(tx: Tx, name: string): Promise<unknown>
  query(text: string): Promise<readonly object[]>
  end(): Promise<unknown>
}

const INSERT = 'insert into deeds (name) values ($1)'

function viaPg(url: string, pipeline: boolean): Library<pg.PoolClient> {
  const pool = new pg.Pool({ connectionString: url, pipeline })
  return {
    store: postgresStore(pool),
    write: (tx, name) => tx.query(INSERT, [name]),
    query: async (text) => (await pool.query<object>(text)).rows,
    end: () => pool.end(),
  }
}

function viaPostgresJs(url: string): Library<postgres.ReservedSql | postgres.TransactionSql> {
  const sql = postgres(url, { onnotice: () => {} })
  return {
    store: postgresStore(sql),
    write: async (tx, name) => tx.unsafe(INSERT, [name]),
    query: async (text) => [...(await sql.unsafe<object[]>(text))],
    end: () => sql.end(),
  }
}

const LIBRARIES: readonly (readonly [string, (url: string) => Library<never>])[] = [
  // Each is used with its own handles only.
  ['pg', (url) => viaPg(url, false) as unknown as Library<never>],
  ['pg, pipelined', (url) => viaPg(url, true) as unknown as Library<never>],
  ['postgres.js', (url) => viaPostgresJs(url) as unknown as Library<never>],
]

describe.each(LIBRARIES)('phases on %s', (_, open) => {
  let database: TemporaryDatabase
  let library: Library<unknown>
  let reprise: Reprise<unknown>

  beforeAll(async () => {
    database = await temporaryDatabase()
    library = open(database.url)
    reprise = createReprise({ store: library.store })
    await library.query('create table deeds (name text not null)')
  })

  afterAll(async () => {
    await reprise.close()
    await library.end()
    await database.drop()
  })

  beforeEach(() => library.query('delete from deeds'))

  const deeds = async () =>
    (await library.query('select name from deeds')).map((row) => ({ ...row }))

  function twoSteps(name: string, meanwhile: () => Promise<unknown>) {
    return operation(
      name,
      { reprise, input: z.object({}) },
      {
        started: phase(async ({ tx, stage }) => {
          await library.write(tx, 'first')
          await stage('job', { name })
          return advance('half_way', { steps: 1 })
        }),
        half_way: phase(async ({ tx }, { steps }: { steps: number }) => {
          await library.write(tx, `second after ${steps}`)
          await meanwhile()
          return respond(201, { steps })
        }),
      },
    )
  }

  test('commit with their recovery points and jobs', async () => {
    const op = twoSteps('commit', async () => {})

    const request = { caller: 'a', key: 'commit', input: {} }
    expect((await op.run(request)).outcome).toBe('executed')
    expect((await op.run(request)).outcome).toBe('replayed')

    expect(await deeds()).toEqual([{ name: 'first' }, { name: 'second after 1' }])
    const jobs = await library.query(
      `select args from reprise.staged_jobs where args like '%commit%'`,
    )
    expect(jobs).toHaveLength(1)
  })

  test('are rolled back when they throw, and go on from where they stood', async () => {
    let isBroken = true
    const op = twoSteps('rollback', async () => {
      if (isBroken) throw new Error('broken')
    })
    const request = { caller: 'a', key: 'rollback', input: {} }

    await expect(op.run(request)).rejects.toThrow('broken')
    expect(await deeds()).toEqual([{ name: 'first' }])
    isBroken = false

    expect((await op.run(request)).outcome).toBe('resumed')
    expect(await deeds()).toEqual([{ name: 'first' }, { name: 'second after 1' }])
  })

  test('can not commit when another run has taken over', async () => {
    let isFirst = true
    const op = twoSteps('fence', async () => {
      if (!isFirst) return
      isFirst = false
      // From outside the transaction, as the run that takes over would.
      await library.query(
        `update reprise.records set fence = fence + 1, lease_until = null, owner = null where operation = 'fence'`,
      )
    })
    const request = { caller: 'a', key: 'fence', input: {} }

    expect((await op.run(request)).outcome).toBe('in_progress')
    expect(await deeds()).toEqual([{ name: 'first' }])

    expect((await op.run(request)).outcome).toBe('resumed')
    expect(await deeds()).toEqual([{ name: 'first' }, { name: 'second after 1' }])
  })
})

// It takes its time to start where others are at work.
describe('phases on PGlite', { timeout: 180_000 }, () => {
  test('commit, roll back and go on', async () => {
    const database = await PGlite.create()
    const reprise = createReprise({ store: postgresStore(database) })
    await database.query('create table deeds (name text not null)')
    let isBroken = true
    const op = operation(
      'lite',
      { reprise, input: z.object({}) },
      {
        started: phase(async ({ tx }) => {
          await tx.query(INSERT, ['first'])
          return advance('half_way')
        }),
        half_way: phase(async ({ tx }) => {
          await tx.query(INSERT, ['second'])
          if (isBroken) throw new Error('broken')
          return respond(201)
        }),
      },
    )
    const request = { caller: 'a', key: 'k', input: {} }

    await expect(op.run(request)).rejects.toThrow('broken')
    isBroken = false
    expect((await op.run(request)).outcome).toBe('resumed')

    const { rows } = await database.query('select name from deeds')
    expect(rows).toEqual([{ name: 'first' }, { name: 'second' }])
    await reprise.close()
    await database.close()
  })
})
