/**
 * Runs test files inside a runtime, one test after another, and reports each.
 *
 * @module
 */

import type { Job, Line } from '../report.ts'
import { collect, type DeclaredTest, finish, provide, type Suite } from './vitest.ts'

/** Loads the test files, each by its path in the repository. */
export type TestFiles = Readonly<Record<string, () => Promise<unknown>>>

/** Runs the files, and tells what became of each test. */
export async function runFiles(
  files: TestFiles,
  { provided, left }: Job,
  report: (line: Line) => void,
): Promise<void> {
  provide(provided)
  for (const [file, load] of Object.entries(files)) {
    const since = performance.now()
    const run = new FileRun(file, left[file] ?? [], report)
    await run.suite(await collect(file, load), '')
    report({ kind: 'file', file, tests: run.tests, ms: Math.round(performance.now() - since) })
  }
  report({ kind: 'end', files: Object.keys(files).length })
}

class FileRun {
  tests = 0
  readonly #file: string
  readonly #left: readonly RegExp[]
  readonly #report: (line: Line) => void

  constructor(file: string, left: readonly string[], report: (line: Line) => void) {
    this.#file = file
    this.#left = left.map((pattern) => new RegExp(pattern))
    this.#report = report
  }

  /** Runs the tests of a suite; where what comes before them fails, each of them has failed. */
  async suite(suite: Suite, path: string): Promise<void> {
    let fault: unknown
    const works = !suite.isSkipped && hasTests(suite)
    if (works) fault = await faultOf(() => inOrder(suite.beforeAll))
    for (const part of suite.parts) {
      const name = path === '' ? part.name : `${path} ${part.name}`
      if ('parts' in part) await this.suite(part, name)
      else await this.#test(part, name, fault)
    }
    if (!works) return
    const end = await faultOf(() => inOrder(suite.afterAll))
    if (end !== undefined) this.#tell(`${path} (after all tests)`, 'failed', end)
  }

  async #test(test: DeclaredTest, name: string, earlier: unknown): Promise<void> {
    this.tests++
    if (this.#left.some((pattern) => pattern.test(name))) return this.#tell(name, 'left')
    if (test.isSkipped) return this.#tell(name, 'skipped')
    const fault = earlier ?? (await faultOf(() => limited(test))) ?? (await faultOf(finish))
    this.#tell(name, fault === undefined ? 'passed' : 'failed', fault)
  }

  #tell(name: string, result: 'passed' | 'failed' | 'skipped' | 'left', fault?: unknown): void {
    const error = fault === undefined ? undefined : textOf(fault)
    this.#report({ kind: 'test', file: this.#file, name, result, ...(error && { error }) })
  }
}

function hasTests({ parts }: Suite): boolean {
  return parts.some((part) => ('parts' in part ? hasTests(part) : !part.isSkipped))
}

async function inOrder(works: readonly (() => unknown)[]): Promise<void> {
  for (const work of works) await work()
}

async function limited({ work, timeoutMs }: DeclaredTest): Promise<void> {
  let timer: ReturnType<typeof setTimeout> | undefined
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`It took longer than ${timeoutMs} ms`)), timeoutMs)
  })
  try {
    await Promise.race([work(), late])
  } finally {
    clearTimeout(timer)
  }
}

/** What `work` throws; an error is made of what is thrown without a value. */
async function faultOf(work: () => unknown): Promise<unknown> {
  try {
    await work()
    return undefined
  } catch (error) {
    return error ?? new Error(`${String(error)} was thrown`)
  }
}

function textOf(fault: unknown): string {
  if (!(fault instanceof Error)) return String(fault)
  const { message, stack = '', cause } = fault
  // Not every runtime has the message in the stack.
  const text = stack.includes(message) ? stack : `${message}\n${stack}`
  return cause === undefined ? text : `${text}\nCause: ${textOf(cause)}`
}
