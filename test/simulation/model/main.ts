/**
 * `npm run model`: every order of events, in each configuration; `-- small` for those that take
 * seconds, `-- phases` for those with that in their names.
 *
 * @module
 */

import { LARGE, SMALL } from './configs.ts'
import { explore } from './explore.ts'

const [filter = ''] = process.argv.slice(2)
const all = filter === 'small' ? SMALL : [...SMALL, ...LARGE]
const chosen = all.filter(({ name }) => filter === 'small' || name.includes(filter))
if (chosen.length === 0) {
  console.error(`No configuration has "${filter}" in its name.`)
  process.exitCode = 2
}
for (const config of chosen) {
  const began = performance.now()
  const { states, transitions, ends, depth, isComplete, violation } = await explore(config)
  const seconds = ((performance.now() - began) / 1000).toFixed(1)
  const end = isComplete ? 'no state left' : 'NOT COMPLETE'
  const counts = `${states} states, ${transitions} transitions, ${ends} ends, depth ${depth}`
  console.log(`${config.name}: ${counts}, ${seconds} s: ${end}`)
  if (violation === undefined) continue
  console.log(`${violation.message}\n  ${violation.acts.join('\n  ')}`)
  process.exitCode = 1
}
