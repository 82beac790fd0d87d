import { expect, it } from 'vitest'
import { caseOf, printCase, type Step, smallerCases } from './program.ts'
import { ON_A_SERVER } from './world.ts'

it('makes the same case of the same seed', () => {
  const seeds = Array.from({ length: 200 }, (_, index) => index + 1)
  for (const seed of seeds) expect(caseOf(seed, ON_A_SERVER)).toEqual(caseOf(seed, ON_A_SERVER))
})

it('has every kind of step, adapter, mode and end among 2000 seeds', () => {
  const seen = new Set<string>()
  const note = (step: Step): void => {
    seen.add(step.do)
    if ('steps' in step) step.steps.forEach(note)
    if ('branches' in step) step.branches.flat().forEach(note)
  }
  for (let seed = 1; seed <= 2000; seed++) {
    const { adapter, mode, programs } = caseOf(seed, ON_A_SERVER)
    seen.add(adapter)
    seen.add(mode)
    for (const { steps } of programs) steps.forEach(note)
  }
  const steps = [
    ...['insert', 'fail', 'stage', 'pause', 'all', 'race', 'settled', 'throw', 'answer', 'cut'],
    ...['beside', 'nested', 'keep', 'use kept', 'later', 'run', 'end'],
  ]
  const places = ['run', 'fetch', 'express', 'fastify', 'koa', 'hono']
  expect([...seen]).toEqual(
    expect.arrayContaining([...steps, ...places, 'transaction', 'phases', 'lease']),
  )
})

it('makes a case smaller until nothing is left of it', () => {
  let one = caseOf(1, ON_A_SERVER)
  for (let rounds = 0; rounds < 1000; rounds++) {
    const [smaller] = smallerCases(one)
    if (smaller === undefined) break
    expect(printCase(smaller).length).toBeLessThanOrEqual(printCase(one).length)
    one = smaller
  }
  expect(one.programs.map(({ steps }) => steps)).toEqual([[]])
})
