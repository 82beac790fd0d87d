import type pg from 'pg'
import { afterAll, describe } from 'vitest'
import type { Store } from '../../src/engine/store.ts'
import { postgresStore } from '../../src/stores/postgres/index.ts'
import type { AdapterHarness, TransactionalStore } from '../../src/testing/adapter-contract.ts'
import { poolOf } from '../conformance/postgres.harness.ts'
import { temporaryDatabase } from '../support/postgres.ts'
import { CHECK_TIMEOUT_MS, testContract } from './contract.ts'

/** What a framework's own test says; the store with transactions is the same for all. */
export type FrameworkHarness = Omit<AdapterHarness, 'openTransactional'>

/**
 * Runs the contract of an adapter.
 *
 * @param left - checks that can not be kept, by name
 */
export function describeAdapter(name: string, framework: FrameworkHarness, left = /^$/): void {
  describe(`${name} keeps the contract of an adapter:`, () => {
    const database = new EffectsDatabase()
    afterAll(() => database.drop(), CHECK_TIMEOUT_MS)
    testContract({ ...framework, openTransactional: () => database.open() }, left)
  })
}

/** A database with the records of stores and the effects of handlers, made when first needed. */
class EffectsDatabase {
  #made: Promise<{ pool: pg.Pool; drop(): Promise<void> }> | undefined

  async open(): Promise<TransactionalStore> {
    this.#made ??= this.#make()
    const { pool } = await this.#made
    // The contract's handlers hand on what they are given, whatever it is.
    const store = postgresStore(pool) as unknown as Store<unknown>
    await store.ready()
    await pool.query('truncate effects, reprise.records')
    return {
      store,
      async addEffect(tx) {
        // What this store gives to handlers.
        await (tx as pg.PoolClient).query('insert into effects values (1)')
      },
      async countEffects() {
        const { rowCount } = await pool.query('select from effects')
        return rowCount ?? 0
      },
      dispose: () => store.close(),
    }
  }

  async drop(): Promise<void> {
    const made = await this.#made
    await made?.pool.end()
    await made?.drop()
  }

  async #make(): Promise<{ pool: pg.Pool; drop(): Promise<void> }> {
    const { url, drop } = await temporaryDatabase()
    const pool = poolOf(url)
    await pool.query('create table effects (n integer)')
    return { pool, drop }
  }
}
