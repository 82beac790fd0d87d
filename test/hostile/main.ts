/**
 * `npm run fuzz -- [--headers 1000000] [--bodies 200000] [--keys 100000] [--seed 1]`
 *
 * @module
 */

import { parseArgs } from 'node:util'
import { fuzzBodies } from './bodies.ts'
import { flood } from './flood.ts'
import { fuzzHeaders } from './headers.ts'

const USAGE = 'npm run fuzz -- [--headers 1000000] [--bodies 200000] [--keys 100000] [--seed 1]'

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      headers: { type: 'string', default: '100000' },
      bodies: { type: 'string', default: '20000' },
      keys: { type: 'string', default: '10000' },
      seed: { type: 'string', default: '1' },
    },
  })
  const seed = wholeNumber('--seed', values.seed)
  const headers = await fuzzHeaders(seed, wholeNumber('--headers', values.headers))
  console.log(`headers ${JSON.stringify(headers)}`)
  const bodies = await fuzzBodies(seed, wholeNumber('--bodies', values.bodies))
  console.log(`bodies ${JSON.stringify(bodies)}`)
  console.log(`keys ${JSON.stringify(await flood(wholeNumber('--keys', values.keys)))}`)
}

function wholeNumber(name: string, text: string): number {
  const number = Number(text)
  if (Number.isSafeInteger(number) && number >= 0) return number
  throw new Error(`${name} takes a whole number, not ${text}. ${USAGE}`)
}

try {
  await main()
} catch (error) {
  console.error(error instanceof Error ? error.message : error)
  process.exitCode = 1
}
