/**
 * `npm run clients -- --seed 7 | --seeds 1..20000`
 *
 * @module
 */

import { parseArgs } from 'node:util'
import { memoryStore } from '../../../src/stores/memory/index.ts'
import { isHttp2 } from './plan.ts'
import { Playground, reportOf } from './run.ts'

const USAGE = `npm run clients -- --seed 7           one client
npm run clients -- --seeds 1..20000  many clients`

/** A command line that can not be understood. */
class UsageError extends Error {}

function rangeOf(): { from: number; to: number } {
  const { values } = parseArgs({ options: { seed: { type: 'string' }, seeds: { type: 'string' } } })
  const [, from, to = from] = /^(\d+)(?:\.\.(\d+))?$/.exec(values.seeds ?? values.seed ?? '') ?? []
  if (from === undefined) throw new UsageError(USAGE)
  return { from: Number(from), to: Number(to) }
}

async function main(): Promise<number> {
  const { from, to } = rangeOf()
  const playground = new Playground(() => memoryStore())
  const counts = new Map<string, number>()
  const count = (name: string) => counts.set(name, (counts.get(name) ?? 0) + 1)
  const begun = performance.now()
  for (let seed = from; seed <= to; seed++) {
    const outcome = await playground.playSeed(seed)
    const { plan, violations } = outcome
    count('clients')
    if (plan.departure !== 'stays') count('disconnects')
    count(isHttp2(plan.app) ? 'over HTTP/2' : 'over HTTP/1.1')
    count(`on ${plan.app}`)
    count(`at ${plan.moment}`)
    if (violations.length > 0) {
      count('violations')
      console.log(reportOf(seed, outcome))
      console.log(`smallest: ${reportOf(seed, await playground.shrink(outcome))}`)
    }
    if (seed % 1000 === 0 || seed === to) {
      const seconds = Math.round((performance.now() - begun) / 1000)
      console.log(`seed ${seed}, ${seconds} s: ${JSON.stringify(Object.fromEntries(counts))}`)
    }
  }
  await playground.close()
  return counts.get('violations') ?? 0
}

try {
  const violations = await main()
  process.exit(violations === 0 ? 0 : 1)
} catch (error) {
  console.error(error instanceof UsageError ? error.message : error)
  process.exit(1)
}
