/**
 * The part of vitest that the test files use, for runtimes in which vitest itself does not run. The
 * bundler puts this module in the place of `vitest`. The matchers of `expect` are vitest's own.
 *
 * @module
 */

import { format } from 'node:util'
import { chai, JestAsymmetricMatchers, JestChaiExpect, JestExtend } from '@vitest/expect'

/** What a test or a hook does. */
type Work = () => unknown

/** A test that was declared. */
export interface DeclaredTest {
  readonly name: string
  readonly work: Work
  readonly isSkipped: boolean
  readonly timeoutMs: number
}

/** Tests that were declared together, and what is done around them. */
export interface Suite {
  readonly name: string
  readonly isSkipped: boolean
  readonly parts: (DeclaredTest | Suite)[]
  readonly beforeAll: Work[]
  readonly afterAll: Work[]
}

/** As vitest.config.ts has it. */
const POLL_MS = 90_000
const TIMEOUT_MS = 180_000

let current: Suite = suiteOf('', false)
let finishers: Work[] = []
let provided: Readonly<Record<string, unknown>> = {}

function suiteOf(name: string, isSkipped: boolean): Suite {
  return { name, isSkipped, parts: [], beforeAll: [], afterAll: [] }
}

/** Collects what a test file declares. */
export async function collect(file: string, load: () => Promise<unknown>): Promise<Suite> {
  const collected = suiteOf(file, false)
  current = collected
  await load()
  return collected
}

/** Says what {@link inject} answers. */
export function provide(values: Readonly<Record<string, unknown>>): void {
  provided = values
}

/** Does what the test that has just ended left to be done, the last first. */
export async function finish(): Promise<void> {
  const all = finishers.reverse()
  finishers = []
  for (const work of all) await work()
}

/** What comes after the title: the function, with its options before or its time limit behind. */
type Args = readonly unknown[]

function isWork(value: unknown): value is Work {
  return typeof value === 'function'
}

function timeoutOf(value: unknown): number | undefined {
  if (typeof value === 'number') return value
  if (typeof value !== 'object' || value === null || !('timeout' in value)) return undefined
  return Number(value.timeout)
}

function declareTest(name: string, isSkipped: boolean, args: Args): void {
  const work = args.find(isWork)
  if (work === undefined) throw new TypeError(`${name} has no function`)
  const timeoutMs = args.map(timeoutOf).find((ms) => ms !== undefined) ?? TIMEOUT_MS
  current.parts.push({ name, work, timeoutMs, isSkipped: isSkipped || current.isSkipped })
}

function declareSuite(name: string, isSkipped: boolean, args: Args): void {
  const outer = current
  current = suiteOf(name, isSkipped || outer.isSkipped)
  outer.parts.push(current)
  try {
    args.find(isWork)?.()
  } finally {
    current = outer
  }
}

type Declare = (name: string, isSkipped: boolean, args: Args) => void

/** `test` or `describe`, with the variants that the test files use. */
function declaring(declare: Declare) {
  const plain = (name: string, ...args: Args) => declare(name, false, args)
  const skip = (name: string, ...args: Args) => declare(name, true, args)
  const skipIf = (isSkipped: unknown) => (isSkipped ? skip : plain)
  const each =
    (rows: readonly unknown[]) =>
    (title: string, ...args: Args) => {
      for (const row of rows) {
        const values: readonly unknown[] = Array.isArray(row) ? row : [row]
        const own = args.map((arg) => (typeof arg === 'function' ? () => arg(...values) : arg))
        plain(titleOf(title, values), ...own)
      }
    }
  return Object.assign(plain, { skip, skipIf, each })
}

/** The title of one row: `$name` is a property of it, the rest is as `format` has it. */
function titleOf(title: string, values: readonly unknown[]): string {
  const [row] = values
  const named = title.replaceAll(/\$(\w+)/g, (_, name: string) => {
    return String(typeof row === 'object' && row !== null ? Reflect.get(row, name) : undefined)
  })
  const places = named.match(/%[sdifjoO]/g)?.length ?? 0
  return format(named, ...values.slice(0, places))
}

export const test = declaring(declareTest)
export const it = test
export const describe = declaring(declareSuite)
export const beforeAll = (work: Work): void => void current.beforeAll.push(work)
export const afterAll = (work: Work): void => void current.afterAll.push(work)
export const onTestFinished = (work: Work): void => void finishers.push(work)

/** What the run of vitest that started this runtime provides to its own test files. */
export function inject(name: string): unknown {
  if (!(name in provided)) throw new Error(`Nothing provides ${name} to this runtime`)
  return provided[name]
}

chai.use(JestExtend)
chai.use(JestChaiExpect)
chai.use(JestAsymmetricMatchers)

/** Demands the same of what `look` finds until it holds. */
function poll(look: Work): unknown {
  const until = performance.now() + POLL_MS
  const demand = async (matcher: string, values: readonly unknown[]): Promise<void> => {
    for (;;) {
      const found = await look()
      try {
        return Reflect.get(chai.expect(found), matcher).call(chai.expect(found), ...values)
      } catch (error) {
        if (performance.now() > until) throw error
      }
      await new Promise((resolve) => void setTimeout(resolve, 10))
    }
  }
  const get =
    (_: object, matcher: string) =>
    (...values: unknown[]) =>
      demand(matcher, values)
  return new Proxy({}, { get })
}

export const expect: unknown = Object.assign(
  (value: unknown, message?: string) => chai.expect(value, message),
  chai.expect,
  // What asks for it only wants to name the file.
  { poll, getState: () => ({ testPath: 'a runtime other than Node' }) },
)

/** Checks nothing here: the compiler has done so. */
export const expectTypeOf = (): unknown => {
  const anything: object = new Proxy(() => anything, { get: () => anything })
  return anything
}
