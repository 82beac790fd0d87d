import { describe, expect, it } from 'vitest'
import { notRun } from '../../support/not-run.ts'
import { missingPackages } from './packages.ts'
import { MISTAKES, withMistake } from './planted.ts'

const missing = await missingPackages()
const isMissing = missing !== undefined
const skip = isMissing && notRun({ suite: 'test/hostile/neighbours (planted)', reason: missing })

describe.skipIf(skip)('planted mistakes', () => {
  for (const mistake of MISTAKES) {
    it(`are found within ${mistake.seeds} seeds: ${mistake.what}`, {
      timeout: 1_800_000,
    }, async () => {
      const { playSeed } = await import('./play.ts')
      const adapters = await withMistake(mistake)
      let found: number | undefined
      for (let seed = 1; seed <= mistake.seeds && found === undefined; seed++) {
        found = (await playSeed(seed, adapters))?.seed
      }
      expect(found).toEqual(expect.any(Number))
    })
  }
})
