/**
 * `npm run fuzz -- [--headers 1000000] [--bodies 200000] [--keys 100000] [--seed 1]`
 *
 * @module
 */

import { parseArgs } from 'node:util'
import { memoryStore } from '../../src/stores/memory/index.ts'
import { FakeClock } from '../../src/testing/fake-clock.ts'
import { fuzzBodies } from './bodies.ts'
import { flood } from './flood.ts'
import { fuzzHeaders } from './headers.ts'
import { floodQuota } from './quota.ts'

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
  await inPieces(seed, wholeNumber('--headers', values.headers), fuzzHeaders)
  await inPieces(seed, wholeNumber('--bodies', values.bodies), fuzzBodies)
  const keys = wholeNumber('--keys', values.keys)
  if (keys > 0) await floods(keys)
}

async function floods(keys: number): Promise<void> {
  console.log(`keys ${JSON.stringify(await flood(keys))}`)
  const clock = new FakeClock()
  const store = memoryStore({ clock })
  const ground = { store, peer: store, advance: async (ms: number) => clock.advance(ms) }
  const report = await floodQuota(ground, { keys, atOnce: 20, quota: 1000 })
  const heapMebibytes = Math.round(process.memoryUsage().heapUsed / 2 ** 20)
  console.log(`quota ${JSON.stringify({ ...report, heapMebibytes })}`)
}

/** Values of one seed; the next ones are of the next seed. */
const PIECE = 10_000

/** Says after each piece what there was so far. */
async function inPieces(
  seed: number,
  count: number,
  fuzz: (seed: number, count: number) => Promise<object>,
): Promise<void> {
  const sum = new Map<string, number>()
  for (let done = 0; done < count; done += PIECE) {
    const report = await fuzz(seed + done / PIECE, Math.min(PIECE, count - done))
    for (const [name, seen] of Object.entries(report)) {
      sum.set(name, (sum.get(name) ?? 0) + Number(seen))
    }
    console.log(`${fuzz.name} ${JSON.stringify(Object.fromEntries(sum))}`)
  }
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
