import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { query } from '../../scripts/servers/postgres.ts'
import { useProgram } from '../support/children.ts'
import { type TemporaryDatabase, temporaryDatabase } from '../support/postgres.ts'
import type { CrashMessage, CrashPoint, CrashTask } from './crash-program.ts'

/** A retry right after the crash waits for this long, in milliseconds, then takes over. */
const LEASE_MS = 1000

/** The lease of a retry, in milliseconds: it is to finish, however long a busy machine lets it wait. */
const RETRY_LEASE_MS = 60_000

interface Case {
  readonly mode: 'lease' | 'transaction'
  readonly afterCrash: 'refuse' | 'rerun'
  readonly point: CrashPoint
  /** What the retry gets. */
  readonly retry: string
  readonly effects: number
}

const row = (
  mode: Case['mode'],
  afterCrash: Case['afterCrash'],
  [point, retry, effects]: [CrashPoint, string, number],
): Case => ({ mode, afterCrash, point, retry, effects })

const CASES: readonly Case[] = [
  // Whatever was not committed did not happen; whatever was is replayed.
  row('transaction', 'refuse', ['after-claim', 'executed', 1]),
  row('transaction', 'refuse', ['after-effect', 'executed', 1]),
  row('transaction', 'refuse', ['after-finish', 'replayed', 1]),
  // At most once: what may have happened is not repeated.
  row('lease', 'refuse', ['after-claim', 'unknown', 0]),
  row('lease', 'refuse', ['after-effect', 'unknown', 1]),
  row('lease', 'refuse', ['after-finish', 'replayed', 1]),
  // At least once, where the route says that this is harmless.
  row('lease', 'rerun', ['after-claim', 'executed', 1]),
  row('lease', 'rerun', ['after-effect', 'executed', 2]),
  row('lease', 'rerun', ['after-finish', 'replayed', 1]),
]

describe('hole 8: a process that is killed', () => {
  const start = useProgram<CrashTask, CrashMessage>(join(import.meta.dirname, 'crash-program.ts'))
  let database: TemporaryDatabase
  beforeAll(async () => {
    database = await temporaryDatabase()
    await query(database.url, 'create table effects (key text)')
  })
  afterAll(() => database.drop())

  it.each(CASES)(
    '$point in $mode mode ($afterCrash): the retry is $retry, effects $effects',
    async ({ mode, point, afterCrash, retry, effects }) => {
      const key = `${mode}-${afterCrash}-${point}`
      const task = { url: database.url, mode, afterCrash, key, leaseMs: LEASE_MS, isZombie: false }
      const killed = start({ ...task, point })
      expect(await killed.gone).toEqual([null, 'SIGKILL'])

      const living = { ...task, point: 'none' as const, leaseMs: RETRY_LEASE_MS }
      for (const outcome of [retry, retry === 'executed' ? 'replayed' : retry]) {
        expect((await start(living).message()).outcome).toBe(outcome)
      }

      const counted = await query(database.url, `select from effects where key = '${key}'`)
      expect(counted.rowCount).toBe(effects)
    },
  )
})

interface ZombieCase {
  readonly mode: 'lease' | 'transaction'
  readonly afterCrash: 'refuse' | 'rerun'
  readonly point: 'after-claim' | 'after-effect'
  /** What a retry gets while the zombie is frozen, what the zombie gets, and every retry after it. */
  readonly outcomes: readonly [retry: string, zombie: string, later: string]
}

const ZOMBIES: readonly ZombieCase[] = [
  // The database has ended the zombie's transaction: its commit can not come through.
  {
    ...{ mode: 'transaction', afterCrash: 'refuse', point: 'after-claim' },
    outcomes: ['executed', 'failed', 'replayed'],
  },
  {
    ...{ mode: 'transaction', afterCrash: 'refuse', point: 'after-effect' },
    outcomes: ['executed', 'failed', 'replayed'],
  },
  // Nobody took over, so the zombie may finish when it wakes.
  {
    ...{ mode: 'lease', afterCrash: 'refuse', point: 'after-claim' },
    outcomes: ['unknown', 'executed', 'replayed'],
  },
  {
    ...{ mode: 'lease', afterCrash: 'refuse', point: 'after-effect' },
    outcomes: ['unknown', 'executed', 'replayed'],
  },
]

describe('a process that is frozen for longer than its lease', () => {
  const start = useProgram<CrashTask, CrashMessage>(join(import.meta.dirname, 'crash-program.ts'))
  let database: TemporaryDatabase
  beforeAll(async () => {
    database = await temporaryDatabase()
    await query(database.url, 'create table effects (key text)')
  })
  afterAll(() => database.drop())

  it.each(ZOMBIES)(
    '$point in $mode mode ($afterCrash) leaves one effect',
    async ({ mode, afterCrash, point, outcomes: [retry, zombie, later] }) => {
      const key = `${mode}-${point}`
      const task = { url: database.url, mode, afterCrash, key, leaseMs: LEASE_MS, isZombie: false }
      const living = { ...task, point: 'none' as const, leaseMs: RETRY_LEASE_MS }
      const frozen = start({ ...task, point, isZombie: true })
      expect((await frozen.message()).outcome).toBe('inside')
      frozen.signal('SIGSTOP')

      expect((await start(living).message()).outcome).toBe(retry)
      frozen.signal('SIGCONT')
      frozen.send('go')
      expect((await frozen.message()).outcome).toBe(zombie)
      expect((await start(living).message()).outcome).toBe(later)

      const counted = await query(database.url, `select from effects where key = '${key}'`)
      expect(counted.rowCount).toBe(1)
    },
  )
})
