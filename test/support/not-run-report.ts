import { readFile } from 'node:fs/promises'
import type { NotRun } from './not-run.ts'

/** Prints the list of suites that did not run. Answers whether the run fails for it. */
export async function reportNotRun(file: string, ci: boolean): Promise<boolean> {
  const text = await readFile(file, 'utf8').catch(() => '')
  const lines = [...new Set(text.split('\n').filter((line) => line !== ''))].sort()
  if (lines.length === 0) return false

  // Each line was written by `notRun`.
  const entries = lines.map((line) => JSON.parse(line) as NotRun)
  console.error('\nNOT RUN:')
  for (const { suite, reason } of entries) console.error(`  ${suite}: ${reason}`)
  const fails = ci && entries.some(({ allowedInCi }) => !allowedInCi)
  if (fails) console.error('In CI everything has to run: this run fails.')
  return fails
}
