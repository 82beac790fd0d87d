import { describe, expect, it } from 'vitest'
import type { Flaw } from './flaws.ts'
import { SMALL } from './model/configs.ts'
import { explore } from './model/explore.ts'
import type { Model, ModelConfig } from './model/model.ts'

describe('every order of events', () => {
  for (const config of SMALL) {
    it(`holds every promise: ${config.name}`, { timeout: 3_600_000 }, async () => {
      const { violation, isComplete, states } = await explore(config)

      expect(violation).toBeUndefined()
      expect(isComplete).toBe(true)
      expect(states).toBeGreaterThan(50)
    })
  }

  const COMPARED = [
    'lease: 2 on 1 key; crash, lapse',
    'transaction: 3 on 1 key, another body; crash',
    'phases: 1 on 1 key; crash, lapse',
    'lease: 1 on 1 key; crash, lapse, completer, person',
  ]
  for (const name of COMPARED) {
    it(`loses nothing by what it leaves out: ${name}`, { timeout: 3_600_000 }, async () => {
      const [less, all] = [await outcomesOf(name, false), await outcomesOf(name, true)]

      expect(less.outcomes).toEqual(all.outcomes)
      expect(less.states).toBeLessThan(all.states)
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
      const { violation } = await explore(configOf(name), { flaws: new Set([flaw]) })

      expect(violation?.message).toEqual(expect.any(String))
    })
  }
})

/** All that can come of a configuration outside of its processes. */
async function outcomesOf(name: string, isThorough: boolean) {
  const outcomes = new Set<string>()
  const onState = (model: Model) => void outcomes.add(model.outcome())
  const { states } = await explore(configOf(name), { isThorough, onState })
  return { states, outcomes }
}

function configOf(name: string): ModelConfig {
  const [config] = SMALL.filter((one) => one.name === name)
  if (config === undefined) throw new Error(`There is no configuration ${name}.`)
  return config
}
