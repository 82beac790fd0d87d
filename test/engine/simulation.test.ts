import { describe, expect, it } from 'vitest'
import { atLength } from '../support/at-length.ts'
import { Simulation } from './simulation.ts'

/** `SIMULATION_SEEDS=100000` plays more; `SIMULATION_FIRST` begins with another than the first. */
const SEEDS = Number(process.env['SIMULATION_SEEDS'] ?? atLength(60, 200))
const FIRST = Number(process.env['SIMULATION_FIRST'] ?? 1)

const ENDS = [
  ...['executed', 'resumed', 'replayed', 'in_progress', 'mismatch', 'unknown', 'thrown'],
  ...['forgotten', 'suspended', 'not_stored'],
  ...['idempotency-store-unavailable', 'reprise-lease-lost'],
]

describe('random histories of processes that crash and freeze over a network that fails', () => {
  const ends = new Map<string, number>()

  it('never contradict what clients are told, and leave nothing behind', async () => {
    for (let seed = FIRST; seed < FIRST + SEEDS; seed++) {
      const simulation = new Simulation(seed)
      await simulation.play().catch((cause: unknown) => {
        throw new Error(`SIMULATION_SEEDS=1 SIMULATION_FIRST=${seed}: ${String(cause)}`, { cause })
      })
      for (const [end, count] of simulation.ledger.ends) ends.set(end, (ends.get(end) ?? 0) + count)
    }
    expect(ends.size).toBeGreaterThan(0)
  }, 3_600_000)

  it.skipIf(SEEDS < 200)('come to every end that there is', () => {
    expect(ENDS.filter((end) => !ends.has(end))).toEqual([])
  })
})
