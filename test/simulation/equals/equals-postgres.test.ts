import pg from 'pg'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { postgresStore } from '../../../src/stores/postgres/index.ts'
import { temporaryDatabase } from '../../support/postgres.ts'
import { Tables } from '../database/tables.ts'
import { directWire } from '../direct-wire.ts'
import { remoteStore } from '../remote-store.ts'
import { historyOf } from './history.ts'
import { Play } from './play.ts'

/** `REPRISE_HISTORIES=5000` plays more; `REPRISE_SEED` begins with another than the first. */
const HISTORIES = Number(process.env['REPRISE_HISTORIES'] ?? 30)
const FIRST = Number(process.env['REPRISE_SEED'] ?? 1)

const TABLES = ['records', 'attempts', 'staged_jobs', 'dead_letters']
const BACK = `$1 * interval '1 millisecond'`
/** Time can not be set on a server, so all instants go back instead. */
const SHIFTS = [
  `update reprise.records
      set created_at = created_at - ${BACK}, expires_at = expires_at - ${BACK},
          finished_at = finished_at - ${BACK}, lease_until = lease_until - ${BACK},
          tried_at = tried_at - ${BACK}, left_since = left_since - ${BACK}`,
  `update reprise.attempts
      set began_at = began_at - ${BACK}, ended_at = ended_at - ${BACK}, made = made - ${BACK}`,
  `update reprise.staged_jobs
      set staged_at = staged_at - ${BACK}, run_at = run_at - ${BACK},
          set_aside_at = set_aside_at - ${BACK}`,
  `update reprise.dead_letters
      set created_at = created_at - ${BACK}, buried_at = buried_at - ${BACK},
          settled_at = settled_at - ${BACK}`,
]

describe('the simulated database', () => {
  // Nothing here has to survive a crash of the server.
  const pool = new pg.Pool({ max: 6, options: '-c synchronous_commit=off' })
  pool.on('error', () => {})
  pool.on('connect', (client) => client.on('error', () => {}))
  const store = postgresStore(pool)
  let drop = async () => {}
  beforeAll(async () => {
    const database = await temporaryDatabase()
    pool.options.connectionString = database.url
    drop = database.drop
    await store.ready()
  })
  afterAll(async () => {
    await pool.end()
    await drop()
  })

  const advance = async (ms: number) => {
    for (const shift of SHIFTS) await pool.query(shift, [ms])
  }

  it(`answers as PostgreSQL does, in ${HISTORIES} histories of the work around records`, async () => {
    for (let seed = FIRST; seed < FIRST + HISTORIES; seed++) {
      for (const table of TABLES) await pool.query(`delete from reprise.${table}`)
      let now = 1_000_000
      const tables = new Tables({ now: () => (now += 0.001) })
      const memory = {
        store: remoteStore(tables, directWire),
        advance: async (ms: number) => void (now += ms),
      }
      const [one, other] = [new Play({ store, advance }, seed), new Play(memory, seed)]
      const history = historyOf(seed)
      for (const [place, command] of history.entries()) {
        const [real, simulated] = [await one.answer(command), await other.answer(command)]
        const where = { seed, place, ...command }
        expect({ ...where, answer: simulated }).toEqual({ ...where, answer: real })
      }
    }
  }, 3_600_000)
})
