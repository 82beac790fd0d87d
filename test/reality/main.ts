/**
 * `npm run reality -- [--mode transaction,first-statement,hostile,phases,deploys,lease,redis] [--kills 500] [--zombies 50]
 * [--restarts 20] [--cuts 50] [--shortages 10] [--fulls 10] [--steps 50] [--minutes 10]`: that many faults in each
 * mode, and a row of a table for each.
 *
 * @module
 */

import { parseArgs } from 'node:util'
import { namesOf, runCommand, wholeNumber } from '../support/command-line.ts'
import type { Mode } from './node.ts'
import { type Report, runReality } from './run.ts'

const MODES: readonly Mode[] = [
  ...([
    'transaction',
    'first-statement',
    'hostile',
    'phases',
    'deploys',
    'lease',
    'redis',
  ] as const),
]
/** Only where they are asked for, because the ORMs are installed apart: `npm run orms`. */
const ORM_MODES: readonly Mode[] = ['hostile-drizzle', 'hostile-kysely']
const COLUMNS: readonly (keyof Report)[] = [
  ...(['mode', 'requests', 'kills', 'zombies', 'restarts', 'cuts'] as const),
  ...(['shortages', 'fulls', 'steps', 'unknown', 'marked'] as const),
  ...(['duplicates', 'lost', 'stuck', 'changed', 'seconds'] as const),
]

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      mode: { type: 'string', default: MODES.join() },
      kills: { type: 'string', default: '20' },
      zombies: { type: 'string', default: '3' },
      restarts: { type: 'string', default: '2' },
      cuts: { type: 'string', default: '5' },
      shortages: { type: 'string', default: '2' },
      fulls: { type: 'string', default: '0' },
      steps: { type: 'string', default: '0' },
      minutes: { type: 'string', default: '600' },
    },
  })
  const faults = {
    kills: wholeNumber('--kills', values.kills),
    zombies: wholeNumber('--zombies', values.zombies),
    restarts: wholeNumber('--restarts', values.restarts),
    cuts: wholeNumber('--cuts', values.cuts),
    shortages: wholeNumber('--shortages', values.shortages),
    fulls: wholeNumber('--fulls', values.fulls),
    steps: wholeNumber('--steps', values.steps),
  }
  const minutes = wholeNumber('--minutes', values.minutes)
  const modes = namesOf('--mode', values.mode, [...MODES, ...ORM_MODES])
  console.log(`| ${COLUMNS.join(' | ')} |\n|${'---|'.repeat(COLUMNS.length)}`)
  for (const mode of modes) {
    const report = await runReality(mode, faults, minutes)
    console.log(`| ${COLUMNS.map((column) => report[column]).join(' | ')} |`)
    const { duplicates, lost, stuck, changed } = report
    if (duplicates + lost + stuck + changed > 0) process.exitCode = 1
  }
}

// Servers and nodes go with us.
await runCommand(main)
