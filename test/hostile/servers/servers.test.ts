/**
 * The client among hostile servers, journals, users and processes, by seed.
 *
 * @module
 */

import { describe, expect, it, onTestFinished } from 'vitest'
import { atLength } from '../../support/at-length.ts'
import { planOf, smallerPlans } from './plan.ts'
import { Playground, reportOf } from './run.ts'

/** Seeds of one test. */
const SHARE = 20

describe('a client among hostile servers', () => {
  for (let share = 0; share < atLength(3, 75); share++) {
    const from = share * SHARE + 1
    const to = from + SHARE - 1
    it(`has one effect for each operation, and tells the truth about it: seeds ${from} to ${to}`, async () => {
      const playground = await Playground.open()
      onTestFinished(() => playground.close())
      for (let seed = from; seed <= to; seed++) {
        const outcome = await playground.playSeed(seed)
        if (outcome.violations.length === 0) continue
        const smallest = await playground.shrink(outcome)
        expect.fail(`${reportOf(seed, outcome)}\nsmallest: ${reportOf(seed, smallest)}`)
      }
    }, 600_000)
  }

  it('is the same for the same seed, and can be made smaller', () => {
    const plan = planOf(7)
    expect(planOf(7)).toEqual(plan)
    expect(smallerPlans(plan).length).toBeGreaterThan(0)
    for (const smaller of smallerPlans(plan)) {
      expect(JSON.stringify(smaller)).not.toBe(JSON.stringify(plan))
    }
  })
})
