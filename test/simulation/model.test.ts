import { describe, expect, it } from 'vitest'
import type { Flaw } from './flaws.ts'
import { SMALL } from './model/configs.ts'
import { explore } from './model/explore.ts'

describe('every order of events', () => {
  for (const config of SMALL) {
    it(`holds every promise: ${config.name}`, { timeout: 3_600_000 }, async () => {
      const { violation, isComplete, states } = await explore(config)

      expect(violation).toBeUndefined()
      expect(isComplete).toBe(true)
      expect(states).toBeGreaterThan(50)
    })
  }

  const FLAWS: readonly (readonly [Flaw, string])[] = [
    ['lease-ignored', 'lease: 3 on 1 key; crash'],
    ['key-unreserved', 'transaction: 3 on 1 key, another body; crash'],
    ['point-forgotten', 'phases: 1 on 1 key; crash, lapse'],
    ['call-unnoted', 'phases: 1 on 1 key; crash, lapse'],
  ]
  for (const [flaw, name] of FLAWS) {
    it(`breaks with ${flaw}`, { timeout: 3_600_000 }, async () => {
      const [config] = SMALL.filter((one) => one.name === name)
      if (config === undefined) throw new Error(`There is no configuration ${name}.`)

      const { violation } = await explore(config, { flaws: new Set([flaw]) })
      expect(violation?.message).toEqual(expect.any(String))
    })
  }
})
