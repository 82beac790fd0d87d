import { describe, expect, it } from 'vitest'
import { memoryStore } from '../../src/stores/memory/index.ts'
import { FakeClock } from '../../src/testing/fake-clock.ts'
import { BROKEN_PARTS } from './broken-parts.ts'
import { describeDifferential } from './describe.ts'
import { runDifferential } from './differential.ts'
import { pliableHarness } from './mutants.ts'

describeDifferential(
  'the memory store',
  async () => {
    const clock = new FakeClock(1_700_000_000_000)
    const store = memoryStore({ clock })
    return { store, peer: store, advance: async (ms) => clock.advance(ms) }
  },
  { lanes: 1 },
)

describe('the differential test', () => {
  // Histories go step by step, do not watch, and have ids that differ in more than case.
  const outOfReach = new Set([
    'reads, waits, and writes',
    'tells ids apart in lower case',
    'wakes at a finish only',
    'wakes at a release only',
  ])
  const breaks = Object.entries(BROKEN_PARTS).filter(([name]) => !outOfReach.has(name))

  for (const [name, parts] of breaks) {
    it(`finds out a store that ${name}`, async () => {
      const run = runDifferential({
        harness: pliableHarness(parts),
        ...{ seed: 20_260_101, histories: 300, lanes: 1 },
      })

      await expect(run).rejects.toThrow(/REPRISE_SEED=20260101 .*the store answers/s)
    })
  }

  it('shows the shortest history that tells store and model apart', async () => {
    const harness = pliableHarness({ sweepable: (record) => record.response !== null })
    const run = runDifferential({ harness, seed: 1, histories: 150, lanes: 1 })

    await expect(run).rejects.toThrow(
      /:\n\n1\. claim, [^\n]*\n2\. finish, [^\n]*\n3\. sweep\n\nAt command 3 the store answers 1, the model 0\.$/,
    )
  })
})
