/**
 * Writes down which tests reach which functions.
 *
 * @module
 */

import { Lane, LaneLost } from './lanes.ts'
import { hashOf, type Reaching, readReach, testFiles, writeReach } from './reach.ts'

/** So many files are run at once, and what is known of them is kept. */
const CHUNK = 6

/** How long the tests of one chunk may take. */
const CHUNK_MS = 120_000

/** Every test, and what it reaches; test files that are as they were are not run again. */
export async function recordReach(say: (line: string) => void): Promise<readonly Reaching[]> {
  const cache = { ...readReach() }
  const files = testFiles()
  const missing = files.filter((file) => cache[file] === undefined)
  const lane = new Lane(true)
  for (let from = 0; from < missing.length; from += CHUNK) {
    const chunk = missing.slice(from, from + CHUNK)
    say(`Looking at what ${from + chunk.length} of ${missing.length} test files reach`)
    const tests = await recorded(lane, chunk)
    for (const file of chunk) {
      cache[file] = { hash: hashOf(file), tests: tests.filter((test) => test.file === file) }
    }
    writeReach(cache)
  }
  await lane.end()
  return files.flatMap((file) => cache[file]?.tests ?? [])
}

/** A file that hangs is no use, and must not take its neighbours along. */
async function recorded(lane: Lane, files: readonly string[]): Promise<readonly Reaching[]> {
  try {
    const answer = await lane.ask({ kind: 'record', files }, CHUNK_MS)
    return answer.kind === 'recorded' ? answer.tests : []
  } catch (error) {
    if (!(error instanceof LaneLost)) throw error
    if (files.length === 1) return []
    const each: Reaching[] = []
    for (const file of files) each.push(...(await recorded(lane, [file])))
    return each
  }
}
