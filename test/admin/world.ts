/** What tests of the admin API share: a store of each kind that has a desk, and requests in every state. */

import pg from 'pg'
import { type Admin, type AdminOptions, createAdmin } from '../../src/admin/index.ts'
import type { Claim, Store } from '../../src/engine/store.ts'
import { createReprise, type Reprise } from '../../src/index.ts'
import { memoryDesk, memoryStore } from '../../src/stores/memory/index.ts'
import { postgresStore } from '../../src/stores/postgres/index.ts'
import { sampleFinish, sampleRequest, take } from '../../src/testing/contract/sample.ts'
import { FakeClock } from '../../src/testing/fake-clock.ts'
import { poolOf } from '../conformance/postgres.harness.ts'
import { temporaryDatabase } from '../support/postgres.ts'

/** A store with its operators. */
export interface AdminWorld {
  readonly store: Store<unknown>
  readonly reprise: Reprise<unknown>
  readonly hasWork: boolean
  admin(options?: AdminOptions): Admin
  /** Moves the store's time on. */
  advance(ms: number): Promise<void>
  /** Forgets everything but the audit. */
  clear(): Promise<void>
  dispose(): Promise<void>
  /** The database, where there is one. */
  readonly pool: pg.Pool | undefined
}

/** On PostgreSQL, with pg. */
export async function postgresWorld(): Promise<AdminWorld> {
  const database = await temporaryDatabase()
  const pool = poolOf(database.url, { max: 8 })
  const store: Store<unknown> = postgresStore(pool)
  await store.ready()
  const reprise = createReprise({ store })
  const by = `$1::double precision * interval '1 millisecond'`
  return {
    ...{ store, reprise, pool, hasWork: true },
    admin: (options) => createAdmin(reprise, options),
    async advance(ms) {
      await pool.query(
        `update reprise.records
            set created_at = created_at - ${by}, expires_at = expires_at - ${by},
                lease_until = lease_until - ${by}, tried_at = tried_at - ${by},
                finished_at = finished_at - ${by}`,
        [ms],
      )
      await pool.query(
        `update reprise.attempts set began_at = began_at - ${by}, made = made - ${by}`,
        [ms],
      )
      await pool.query(`update reprise.dead_letters set created_at = created_at - ${by}`, [ms])
    },
    async clear() {
      await pool.query(
        `truncate reprise.records, reprise.attempts, reprise.dead_letters, reprise.staged_jobs,
                  reprise.duplicates, reprise.duplicate_counts, reprise.workers,
                  reprise.worker_orders, reprise.batches, reprise.batch_items, reprise.stats,
                  reprise.stats_writers`,
      )
    },
    async dispose() {
      await reprise.close()
      await pool.end()
      await database.drop()
    },
  }
}

/** In memory. */
export async function memoryWorld(): Promise<AdminWorld> {
  const clock = new FakeClock(1_700_000_000_000)
  const store: Store<unknown> = memoryStore({ clock, desk: memoryDesk })
  const reprise = createReprise({ store })
  return {
    ...{ store, reprise, pool: undefined, hasWork: false },
    admin: (options) => createAdmin(reprise, options),
    async advance(ms) {
      clock.advance(ms)
    },
    clear: () => store.close(),
    dispose: () => reprise.close(),
  }
}

/** How a request can stand. */
export type Standing =
  | 'running'
  | 'running at a point'
  | 'recovering'
  | 'unfinished'
  | 'unfinished and unknown'
  | 'stuck'
  | 'stuck and unknown'
  | 'finished'
  | 'failed'
  | 'needs_person'
  | 'expired'
  | 'expired unfinished'

/** The last four characters of every key of {@link put}. */
export const CONFIRM = 'last'

let made = 0

/** Makes a request that stands so; gives the claim it was made under. */
export async function put(
  { store, advance }: Pick<AdminWorld, 'store' | 'advance'>,
  standing: Standing,
  request: Partial<Parameters<Store['claim']>[0]> = {},
): Promise<Claim> {
  const isUnknown = standing.endsWith('unknown') || standing === 'running'
  const recoveryPoint = isUnknown || standing === 'needs_person' ? null : 'started'
  const key = `key-${++made}-${CONFIRM}`
  const asked = { key, recoveryPoint, leaseMs: 3_600_000, retentionMs: 86_400_000, ...request }
  const { claim } = await take(store, sampleRequest(asked))
  if (standing.startsWith('running')) return claim
  if (standing === 'finished' || standing === 'failed' || standing === 'expired') {
    const status = standing === 'failed' ? 402 : 201
    const response = { status, sealed: new Uint8Array(20) }
    const retentionMs = standing === 'expired' ? 0 : 86_400_000
    await store.finish(claim, sampleFinish({ response, retentionMs }))
    return claim
  }
  await store.release(claim, 'suspend')
  if (standing.startsWith('stuck')) await advance(300_001)
  if (standing === 'expired unfinished') await advance(86_400_001)
  if (standing === 'needs_person') await bury(store)
  return standing === 'recovering' ? retake(store, asked.operation ?? 'POST /charges') : claim
}

async function bury({ work }: Store<unknown>): Promise<void> {
  await work?.letters.buryUnknown({ limit: 100, graceMs: 0, retentionMs: 86_400_000 })
}

async function retake({ work }: Store<unknown>, operation: string): Promise<Claim> {
  const request = { owner: 'completer', leaseMs: 3_600_000, retentionMs: 3_600_000 }
  const patience = { graceMs: 0, retryMs: 0, retryMsMax: 0 }
  const edition = { operation, version: '1', otherVersionMs: 0 }
  const taken = await work?.phases.takeUnfinished(edition, request, patience)
  if (taken === undefined) throw new Error('Nothing was taken.')
  return taken.claim
}

/** An order of Ada's. */
export const ADA = { author: 'ada', reason: 'Looked at the ledger.', ip: '192.0.2.7' }
