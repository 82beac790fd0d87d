import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { PLANTED } from './planted.ts'
import { Playground } from './run.ts'

describe('hostile servers find planted bugs', () => {
  let sound: Playground
  beforeAll(async () => {
    sound = await Playground.open()
  })
  afterAll(() => sound.close())

  for (const { what, changes, seeds } of PLANTED) {
    it(`within ${seeds} seeds: ${what}`, { timeout: 1_800_000 }, async () => {
      const playground = await Playground.open(changes)
      onTestFinished(() => playground.close())
      let found: number | undefined
      for (let seed = 1; found === undefined && seed <= seeds; seed++) {
        const { violations } = await playground.playSeed(seed)
        if (violations.length > 0) found = seed
      }
      console.info(`${what}: seed ${found}`)
      expect(found).toEqual(expect.any(Number))
      // The bug is what was found: the same world holds without it.
      expect((await sound.playSeed(found ?? 0)).violations).toEqual([])
    })
  }
})
