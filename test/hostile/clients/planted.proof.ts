import { describe, expect, it, onTestFinished } from 'vitest'
import { memoryStore } from '../../../src/stores/memory/index.ts'
import { PLANTED, withPlanted } from './planted.ts'

describe('hostile clients find planted bugs', () => {
  for (const planted of PLANTED) {
    it(`within ${planted.seeds} seeds: ${planted.what}`, async () => {
      const Playground = await withPlanted(planted)
      const playground = new Playground(() => memoryStore())
      onTestFinished(() => playground.close())
      let found: number | undefined
      for (let seed = 1; found === undefined && seed <= planted.seeds; seed++) {
        const { violations } = await playground.playSeed(seed)
        if (violations.length > 0) found = seed
      }
      expect(found).toEqual(expect.any(Number))
    })
  }
})
