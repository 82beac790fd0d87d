/**
 * A Vitest that stays warm: it runs tests again and again, each time with another mistake planted.
 * One process, which `lanes.ts` starts and ends.
 *
 * @module
 */

import { join } from 'node:path'
import type { TestCase, TestModule, TestSpecification, Vitest } from 'vitest/node'
import { createVitest } from 'vitest/node'
import { instrumented, type Reaching } from './reach.ts'
import { ROOT, readSources } from './source.ts'

/** What a lane is told. */
export type Order =
  | { readonly kind: 'record'; readonly files: readonly string[] }
  | {
      readonly kind: 'try'
      readonly planted: Planted | undefined
      readonly tests: readonly Chosen[]
    }
  | { readonly kind: 'end' }

/** A file with a mistake in it. */
export interface Planted {
  readonly path: string
  readonly text: string
}

/** Tests of one file. */
export interface Chosen {
  readonly file: string
  /** All of them where none is named. */
  readonly ids: readonly string[] | undefined
}

/** What a lane answers. */
export type Answer =
  | { readonly kind: 'ready' }
  | { readonly kind: 'recorded'; readonly tests: readonly Reaching[] }
  | { readonly kind: 'tried'; readonly failure: Failure | undefined; readonly ms: number }

/** The first thing that went wrong. */
export interface Failure {
  readonly file: string
  /** The test's id; empty when the file or a hook failed. */
  readonly id: string
  readonly title: string
  readonly message: string
}

/** A test that hangs has noticed; none takes this long without a mistake. */
const TEST_TIMEOUT_MS = 25_000

let planted: Planted | undefined
let vitest: Vitest

process.on('message', (order: Order) => void carryOut(order))
process.on('disconnect', () => process.exit(1))

async function carryOut(order: Order): Promise<void> {
  if (order.kind === 'end') return end()
  if (order.kind === 'record') return answer({ kind: 'recorded', tests: await record(order.files) })
  const started = performance.now()
  const failure = await tried(order.planted, order.tests)
  answer({ kind: 'tried', failure, ms: performance.now() - started })
}

function answer(message: Answer): void {
  process.send?.(message)
}

async function end(): Promise<void> {
  await vitest.close()
  process.exit(0)
}

async function start(isRecording: boolean): Promise<void> {
  const sources = new Map(readSources().map((source) => [join(ROOT, source.path), source]))
  const setupFiles = ['test/support/own-globals.ts']
  vitest = await createVitest(
    'test',
    {
      root: ROOT,
      watch: false,
      bail: isRecording ? 0 : 1,
      reporters: [{}],
      pool: 'threads',
      maxWorkers: isRecording ? 2 : 1,
      fileParallelism: isRecording,
      silent: true,
      testTimeout: isRecording ? 60_000 : TEST_TIMEOUT_MS,
      hookTimeout: isRecording ? 60_000 : TEST_TIMEOUT_MS,
      teardownTimeout: 2000,
      expect: { poll: { timeout: 10_000 } },
      sequence: { sequencer: InOrder },
      setupFiles: isRecording ? [...setupFiles, 'test/mutation/reach-setup.ts'] : setupFiles,
    },
    {
      plugins: [
        {
          name: 'planted mistake',
          enforce: 'pre',
          transform(_code, id) {
            const path = id.split('?')[0] ?? id
            if (planted !== undefined && path === join(ROOT, planted.path)) return planted.text
            const source = sources.get(path)
            return isRecording && source !== undefined ? instrumented(source) : undefined
          },
        },
      ],
    },
  )
}

/** Runs files in the order in which they were asked for. */
class InOrder {
  sort(files: TestSpecification[]): TestSpecification[] {
    return files
  }

  shard(files: TestSpecification[]): TestSpecification[] {
    return files
  }
}

function specification(file: string, ids?: readonly string[]): TestSpecification {
  const project = vitest.getRootProject()
  const options = ids === undefined ? undefined : { testIds: [...ids] }
  return project.createSpecification(join(ROOT, file), options)
}

async function record(files: readonly string[]): Promise<readonly Reaching[]> {
  const { testModules } = await vitest.runTestSpecifications(
    files.map((file) => specification(file)),
  )
  return testModules.flatMap((module) => {
    const passed = [...module.children.allTests('passed')]
    return passed.map((test) => ({
      file: module.relativeModuleId,
      id: test.id,
      title: test.fullName,
      ms: test.diagnostic()?.duration ?? 0,
      reached: test.meta().reached ?? [],
    }))
  })
}

async function tried(
  next: Planted | undefined,
  tests: readonly Chosen[],
): Promise<Failure | undefined> {
  const changed = [planted, next].flatMap((one) => (one === undefined ? [] : [one.path]))
  planted = next
  for (const path of changed) vitest.invalidateFile(join(ROOT, path))
  vitest.state.filesMap.clear()
  vitest.state.errorsSet.clear()
  const chosen = tests.map(({ file, ids }) => specification(file, ids))
  const { testModules, unhandledErrors } = await vitest.runTestSpecifications(chosen)
  return firstFailure(testModules, unhandledErrors)
}

function firstFailure(
  modules: readonly TestModule[],
  unhandled: readonly unknown[],
): Failure | undefined {
  for (const module of modules) {
    const [test] = module.children.allTests('failed')
    if (test !== undefined) return failureOf(module, test)
    const [error] = [
      ...module.errors(),
      ...[...module.children.allSuites()].flatMap((s) => s.errors()),
    ]
    if (error !== undefined) {
      return { file: module.relativeModuleId, id: '', title: '', message: error.message }
    }
  }
  const [error] = unhandled
  if (error === undefined) return undefined
  const message = error instanceof Error ? error.message : JSON.stringify(error)
  return { file: '', id: '', title: '', message }
}

function failureOf(module: TestModule, test: TestCase): Failure {
  const { errors } = test.result()
  const message = errors?.[0]?.message ?? ''
  return { file: module.relativeModuleId, id: test.id, title: test.fullName, message }
}

await start(process.argv.includes('--record'))
answer({ kind: 'ready' })
