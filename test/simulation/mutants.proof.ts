import { describe, expect, it } from 'vitest'
import { MUTANTS } from './mutants.ts'
import { hunt } from './mutate.ts'

/** Within so many seeds each planted bug is found. */
const SEEDS = 1000

describe('planted bugs', () => {
  it('are many, and no two of them have one name', () => {
    expect(new Set(MUTANTS.map(({ name }) => name)).size).toBe(MUTANTS.length)
    expect(MUTANTS.length).toBeGreaterThanOrEqual(25)
  })

  for (const mutant of MUTANTS) {
    it(`are found: ${mutant.what}`, { timeout: 3_600_000 }, async () => {
      const { violation } = await hunt(mutant, { from: 1, to: SEEDS })

      expect(violation).toEqual(expect.any(String))
    })
  }
})
