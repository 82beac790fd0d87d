import { expect, it } from 'vitest'
import { createReprise } from '../../../src/engine/reprise.ts'
import type { Store } from '../../../src/engine/store.ts'
import { memoryStore } from '../../../src/stores/memory/store.ts'
import { Theatre } from './play.ts'
import type { Case } from './program.ts'
import { ON_A_SERVER, type Tx, type World } from './world.ts'

const CASE: Case = {
  ...{ seed: 7, adapter: 'run', mode: 'lease', pool: 1, latencyMs: 0 },
  programs: [
    {
      ...{ hostileRuns: 1, copies: 1, patienceMs: null, front: null },
      steps: [
        { do: 'later', ms: 0, steps: [{ do: 'beside' }] },
        { do: 'answer', status: 201, body: 'text' },
      ],
    },
  ],
}

const never = () => new Promise<never>(() => {})

/** A theatre on an app without a database. */
function theatreOf(parts: Partial<World>): Theatre {
  const store = memoryStore() as unknown as Store<Tx> // Under a lease there is no transaction.
  const world: World = {
    reprise: createReprise<Tx>({ store }),
    statements: { insert: never, fail: never },
    beside: async () => {},
    committed: async () => ({ rows: [], jobs: [], records: new Map() }),
    openTransactions: async () => 0,
    close: async () => {},
    ...parts,
  }
  const source = {
    ...{ name: 'none', abilities: ON_A_SERVER, make: async () => world, close: async () => {} },
  }
  return new Theatre(source, 1, 6000)
}

it('takes a case that never ends for a violation, and says what it was about to do', async () => {
  const theatre = theatreOf({ committed: never })
  const violation = await theatre.play(CASE)
  await theatre.close()
  expect(violation?.found).toEqual(['the case did not end within 6000 ms: it was to read the rows'])
})

it('names a statement that is never answered', async () => {
  const theatre = theatreOf({ beside: never })
  const violation = await theatre.play(CASE)
  await theatre.close()
  expect(violation?.found).toContainEqual(
    expect.stringMatching(/never came to an end: beside, of run-\d+$/),
  )
})
