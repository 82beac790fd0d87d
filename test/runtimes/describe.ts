/**
 * Makes tests of what a runtime told about its own.
 *
 * @module
 */

import { beforeAll, describe, expect, inject, it } from 'vitest'
import { adapterContract, storeContract, transactionContract } from '../../src/testing/index.ts'
import { notRun } from '../support/not-run.ts'
import type { TestFiles } from './inside/runner.ts'
import { left } from './left.ts'
import type { Program, RuntimeName } from './programs.ts'
import type { Job, Line } from './report.ts'
import type { Report } from './run.ts'

type TestLine = Extract<Line, { readonly kind: 'test' }>

/** A runtime under test. */
export interface Runtime {
  readonly name: RuntimeName
  readonly program: Program
  readonly files: TestFiles
  run(program: string, job: Job): Promise<Report>
}

/** Where the program is; without one, the test file goes on the list of what did not run. */
function pathOf(name: RuntimeName, program: Program): string | undefined {
  if ('path' in program) return program.path
  notRun({ suite: `test/runtimes/${name}.test.ts`, reason: program.missing })
  return undefined
}

/** The contracts, and how the suites that keep them are called. */
const CONTRACTS = [
  [' keeps the contract of an adapter: ', adapterContract],
  [' keeps the contract of a store: ', storeContract],
  [' keeps the contract of transactions: ', transactionContract],
] as const

/** How many checks of the contract do not apply to the adapter for `fetch`, on Node as elsewhere. */
const SKIPPED_BY_FETCH = 4

/** Runs the files of a runtime inside it: one test for each, and some for all together. */
export function describeRuntime({ name, program, files, run }: Runtime): void {
  const path = pathOf(name, program)
  describe.skipIf(path === undefined)(`inside ${name}`, () => {
    let report: Report = { lines: [], written: '' }
    const tests = () => report.lines.filter((line) => line.kind === 'test')
    beforeAll(async () => {
      report = await run(path ?? '', jobOf(name))
    })

    it.each(Object.keys(files))('%s passes', (file) => {
      expect(problemsOf(report, file)).toEqual([])
    })

    it('ends by itself', () => {
      const end = { kind: 'end', files: Object.keys(files).length }
      expect(report.lines.at(-1), report.written).toEqual(end)
    })

    it('leaves out what does not apply, and nothing else', () => {
      const own = tests().filter(({ result }) => result === 'left')
      for (const { file, tests, count, reason } of left[name]) {
        const these = own.filter((test) => test.file === file && tests.test(test.name))
        expect(these, `${file}: ${reason}`).toHaveLength(count)
      }
      const counted = left[name].reduce((sum, { count }) => sum + count, 0)
      expect(own).toHaveLength(counted)
    })

    it.each(CONTRACTS)('is asked for the whole contract:%s', (title, checks) => {
      const suites = suitesOf(tests(), title)
      for (const names of suites.values()) expect(names).toEqual(checks.map(({ name }) => name))
      if (checks !== transactionContract || name !== 'workerd')
        expect(suites.size).toBeGreaterThan(0)
    })
  })
}

/** By suite, the names of its tests. */
function suitesOf(tests: readonly TestLine[], title: string): Map<string, string[]> {
  const suites = new Map<string, string[]>()
  for (const { file, name } of tests) {
    const at = name.indexOf(title)
    if (at < 0) continue
    const suite = `${file} ${name.slice(0, at)}`
    suites.set(suite, [...(suites.get(suite) ?? []), name.slice(at + title.length)])
  }
  return suites
}

function jobOf(name: RuntimeName): Job {
  const patterns: Record<string, string[]> = {}
  for (const { file, tests } of left[name]) (patterns[file] ??= []).push(tests.source)
  const [postgres, redis, notRunFile] = [inject('postgres'), inject('redis'), inject('notRunFile')]
  return { provided: { postgres, redis, notRunFile }, left: patterns }
}

/** What is wrong with a file. */
function problemsOf({ lines, written }: Report, file: string): readonly string[] {
  const own = lines.filter((line): line is TestLine => line.kind === 'test' && line.file === file)
  const end = lines.find((line) => line.kind === 'file' && line.file === file)
  const failed = own.filter(({ result }) => result === 'failed')
  const problems = failed.map(({ name, error }) => `${name}: ${error}`)
  if (end?.kind !== 'file') return [...problems, `It did not come to its end.\n${written}`]
  if (end.tests === 0) problems.push('It has no tests.')
  const skipped = own.filter(({ result }) => result === 'skipped').length
  if (skipped !== skippedIn(file, end.tests)) problems.push(`It skipped ${skipped} tests.`)
  return problems
}

/** How many tests a file may skip: what it skips because a server is missing, it has put on the list of what did not run. */
function skippedIn(file: string, tests: number): number {
  if (file.includes('/redis.') && 'missing' in inject('redis')) return tests
  return file.endsWith('-serve.ts') ? SKIPPED_BY_FETCH : 0
}
