/**
 * A process that dies in the middle of a request, at the point it is told, by SIGKILL: nothing of it
 * runs on, no handler, no `finally`. Or one that says `inside` there and waits for a word, so that it
 * can be frozen meanwhile.
 */

import pg from 'pg'
import { createReprise } from '../../src/engine/reprise.ts'
import type { CapturedResponse } from '../../src/index.ts'
import { postgresStore } from '../../src/stores/postgres/index.ts'

/** Where the process dies; `none` lives. */
export type CrashPoint = 'after-claim' | 'after-effect' | 'after-finish' | 'none'

export interface CrashTask {
  readonly url: string
  readonly mode: 'lease' | 'transaction'
  readonly point: CrashPoint
  /** Waits at the point instead of dying. */
  readonly isZombie: boolean
  readonly key: string
  readonly leaseMs: number
  readonly afterCrash: 'refuse' | 'rerun'
}

export interface CrashMessage {
  /** Outcome of the run; `inside` when the zombie is at its point, `failed` when the run threw. */
  readonly outcome: string
}

const { url, mode, point, isZombie, key, leaseMs, afterCrash } = JSON.parse(
  process.argv[2] ?? '',
) as CrashTask

/** Dies or waits here if this is the point. */
async function reach(here: CrashPoint): Promise<void> {
  if (here !== point) return
  if (!isZombie) process.kill(process.pid, 'SIGKILL')
  tell('inside')
  await new Promise((resolve) => process.once('message', resolve))
}

function tell(outcome: string): void {
  process.send?.({ outcome } satisfies CrashMessage)
}

/** The effect, on whichever connection the mode gives. */
async function effect(client: {
  query(sql: string, values: string[]): Promise<unknown>
}): Promise<CapturedResponse> {
  await reach('after-claim')
  await client.query('insert into effects (key) values ($1)', [key])
  await reach('after-effect')
  return { status: 201, headers: [], body: new TextEncoder().encode('done') }
}

const pool = new pg.Pool({ connectionString: url, max: 4 })
const reprise = createReprise({
  ...{ store: postgresStore(pool), leaseMs, waitMs: 20_000, afterCrash },
  onEvent: ({ type }) => {
    if (type === 'executed') void reach('after-finish')
  },
})
const request = { caller: 'acct', operation: 'POST /charges', key, fingerprints: ['f'] }
try {
  const result =
    mode === 'lease'
      ? await reprise.run(request, () => effect(pool))
      : await reprise.runInTransaction(request, ({ tx }) => effect(tx))
  tell(result.outcome)
} catch {
  tell('failed')
}
await reprise.close()
await pool.end()
process.disconnect?.()
