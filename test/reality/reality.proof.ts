import { describe, expect, it } from 'vitest'
import { isRedisMissing } from '../stores/redis-servers.ts'
import { type Faults, runReality } from './run.ts'

/** `npm run reality` takes larger numbers. */
const FAULTS: Faults = {
  kills: 3,
  zombies: 1,
  restarts: 1,
  cuts: 1,
  shortages: 1,
  fulls: 0,
  steps: 0,
}
const MINUTES = 60
const TIMEOUT_MS = 600_000

const NONE = { duplicates: 0, lost: 0, stuck: 0, changed: 0 }

describe('three nodes under load, killed, frozen, cut off, and the store restarted', () => {
  for (const mode of ['transaction', 'first-statement', 'hostile'] as const) {
    it(
      `repeat nothing, lose nothing and leave nothing stuck in transactions: ${mode}`,
      async () => {
        expect(await runReality(mode, FAULTS, MINUTES)).toMatchObject({ ...NONE, unknown: 0 })
      },
      TIMEOUT_MS,
    )
  }

  it(
    'repeat nothing, lose nothing and leave nothing stuck in phases',
    async () => {
      expect(await runReality('phases', FAULTS, MINUTES)).toMatchObject({ ...NONE, unknown: 0 })
    },
    TIMEOUT_MS,
  )

  it(
    'repeat nothing and leave nothing stuck while two versions with other points run',
    async () => {
      expect(await runReality('deploys', { ...FAULTS, steps: 3 }, MINUTES)).toMatchObject(NONE)
    },
    TIMEOUT_MS,
  )

  it(
    'repeat nothing under leases in PostgreSQL',
    async () => {
      expect(await runReality('lease', FAULTS, MINUTES)).toMatchObject(NONE)
    },
    TIMEOUT_MS,
  )

  it.skipIf(isRedisMissing())(
    'repeat nothing under leases in Redis',
    async () => {
      expect(await runReality('redis', FAULTS, MINUTES)).toMatchObject(NONE)
    },
    TIMEOUT_MS,
  )
})
