/**
 * Popular middleware of each framework before and behind the protection, by seed: the answer without
 * protection, the first answer and the replay are the same, and the handler runs once.
 *
 * @module
 */

import { describe, expect, it } from 'vitest'
import { atLength } from '../../support/at-length.ts'
import { notRun } from '../../support/not-run.ts'
import { missingPackages } from './packages.ts'

const missing = await missingPackages()
const isMissing = missing !== undefined
const skip = isMissing && notRun({ suite: 'test/hostile/neighbours', reason: missing })

/** Seeds of one test. */
const SHARE = 25

describe.skipIf(skip)('neighbours of the protection', () => {
  for (let share = 0; share < atLength(4, 80); share++) {
    const from = share * SHARE + 1
    it(`change nothing about an answer and its replay: seeds ${from} to ${from + SHARE - 1}`, async () => {
      const { playSeed, told } = await import('./play.ts')
      const findings: string[] = []
      for (let seed = from; seed < from + SHARE; seed++) {
        const finding = await playSeed(seed)
        if (finding !== undefined) findings.push(told(finding))
      }
      expect(findings.join('\n')).toBe('')
    })
  }
})
