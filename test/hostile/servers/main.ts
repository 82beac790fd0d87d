/**
 * `npm run servers -- --seed 7 | --seeds 1..20000`
 *
 * @module
 */

import { parseArgs } from 'node:util'
import { Playground, reportOf } from './run.ts'

const { values } = parseArgs({
  options: { seeds: { type: 'string', default: '1..1000' }, seed: { type: 'string' } },
})
const [from = '', to = from] = (values.seed ?? values.seeds).split('..')

const playground = await Playground.open()
const begun = performance.now()
let found = 0
for (let seed = Number(from); seed <= Number(to); seed++) {
  const outcome = await playground.playSeed(seed)
  if (outcome.violations.length > 0) {
    found++
    console.log(reportOf(seed, outcome))
    console.log(`smallest: ${reportOf(seed, await playground.shrink(outcome))}`)
  }
  if (seed % 500 === 0 || seed === Number(to)) {
    const seconds = Math.round((performance.now() - begun) / 1000)
    console.log(`seed ${seed}, ${seconds} s, violations ${found}`)
  }
}
await playground.close()
process.exit(found === 0 ? 0 : 1)
