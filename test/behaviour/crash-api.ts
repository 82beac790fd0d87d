/**
 * A charges API on PostgreSQL whose process can be made to die inside of a request.
 *
 * @module
 */

import express, { type Express, type Request, type Response } from 'express'
import pg from 'pg'
import { idempotent, runOf, txOf } from '../../src/adapters/express.ts'
import { createReprise, type LeaseReprise } from '../../src/engine/reprise.ts'
import type { Recover } from '../../src/index.ts'
import { postgresStore } from '../../src/stores/postgres/index.ts'

/** Where something can happen to a request. */
export type Point = 'before-effect' | 'after-effect' | 'after-commit'

/** What parent and child have in common. */
export interface CrashSettings {
  readonly url: string
  /**
   * - `transaction`: the effect is a row, committed with the record.
   * - `marked`: the effect is a charge at the provider, announced by `markEffect()`.
   * - `plain`: the same, not announced.
   */
  readonly mode: 'transaction' | 'marked' | 'plain'
  /** Where the provider listens. */
  readonly provider: string
  readonly leaseMs: number
}

/** What is done at each point, and after a crash. */
export interface CrashHooks {
  readonly reach?: (point: Point) => Promise<void>
  readonly afterCrash?: 'refuse' | 'rerun' | Recover
}

/** The API, and what has to be closed. */
export interface CrashApi {
  readonly app: Express
  readonly reprise: LeaseReprise
  readonly pool: pg.Pool
}

export function crashApi(
  { url, mode, provider, leaseMs }: CrashSettings,
  { reach = async () => {}, afterCrash = 'refuse' }: CrashHooks = {},
): CrashApi {
  const pool = new pg.Pool({ connectionString: url, max: 4 })
  const reprise = createReprise({
    ...{ store: postgresStore(pool), leaseMs, afterCrash, marksEffect: mode === 'marked' },
    onEvent: ({ type }) => {
      if (type === 'executed') void reach('after-commit')
    },
  })
  const charge = async (key: string, request: object) => {
    if (mode === 'transaction') {
      await txOf<pg.PoolClient>(request).query('insert into effects (key) values ($1)', [key])
      return
    }
    const run = runOf(request)
    if (mode === 'marked' && run !== undefined && 'markEffect' in run) await run.markEffect()
    await fetch(`${provider}/${key}`, { method: 'POST' })
  }
  const handle = async (request: Request, response: Response) => {
    const key = request.get('Idempotency-Key') ?? ''
    await reach('before-effect')
    await charge(key, request)
    await reach('after-effect')
    response.status(201).json({ charged: key })
  }
  const transaction = mode === 'transaction'
  const app = express()
  // Express 5 takes care of a promise that is rejected.
  const handlers = [idempotent(reprise, { caller: () => 'acct_1', transaction }), handle]
  app.post('/charges', ...handlers)
  return { app, reprise, pool }
}
