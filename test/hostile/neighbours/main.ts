/**
 * `npm run neighbours -- [--seeds 1..2000] [--seed 7]`
 *
 * @module
 */

import { parseArgs } from 'node:util'
import { missingPackages } from './packages.ts'

const { values } = parseArgs({
  options: { seeds: { type: 'string', default: '1..1000' }, seed: { type: 'string' } },
})
const [from = '', to = from] = (values.seed ?? values.seeds).split('..')

const missing = await missingPackages()
if (missing !== undefined) {
  console.error(`NOT RUN:\n  test/hostile/neighbours: ${missing}`)
  process.exit(1)
}

const { playSeed, told } = await import('./play.ts')
let found = 0
for (let seed = Number(from); seed <= Number(to); seed++) {
  const finding = await playSeed(seed)
  if (finding === undefined) continue
  found++
  console.log(told(finding))
}
console.log(`worlds ${Number(to) - Number(from) + 1}, violations ${found}`)
process.exit(found === 0 ? 0 : 1)
