/**
 * Runs test files in a runtime that is a process: Bun and Deno.
 *
 * @module
 */

import { appendFileSync, readFileSync } from 'node:fs'
import type { Job } from '../report.ts'
import { runFiles, type TestFiles } from './runner.ts'

/** Takes the job from the file that is named first, and writes each line to the file that is named second. */
export async function runInProcess(files: TestFiles): Promise<never> {
  const [, , jobFile = '', lineFile = ''] = process.argv
  // The test that started this process wrote it.
  const job = JSON.parse(readFileSync(jobFile, 'utf8')) as Job
  await runFiles(files, job, (line) => appendFileSync(lineFile, `${JSON.stringify(line)}\n`))
  // Timers and connections that tests leave behind keep a process alive.
  process.exit(0)
}
