/**
 * Which tests reach which functions. Each function of the sources says that it was called, and a hook
 * after each test writes down which were.
 *
 * @module
 */

import { createHash } from 'node:crypto'
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { FunctionNode, Source } from './source.ts'
import { isFunction, nodesOf, placeOf, ROOT } from './source.ts'

/** A test, and what it calls. */
export interface Reaching {
  readonly file: string
  /** Vitest's name for the test, the same in each run of the same file. */
  readonly id: string
  readonly title: string
  /** How long it takes, in milliseconds. */
  readonly ms: number
  /** Functions, as {@link functionKey} names them. */
  readonly reached: readonly string[]
}

/** A name for a function that stays when other places of the file change. */
export function functionKey({ path }: Source, node: FunctionNode): string {
  return `${path} ${placeOf(node.body)}`
}

/** The file's text, in which each function says that it was called. */
export function instrumented(source: Source): string {
  const inserts: { at: number; text: string }[] = []
  for (const node of nodesOf(source.tree)) {
    if (!isFunction(node)) continue
    const { body } = node
    const say = `globalThis.repriseReached?.add(${JSON.stringify(functionKey(source, node))})`
    if ('statements' in body) inserts.push({ at: body.getStart() + 1, text: `${say};` })
    else inserts.push({ at: body.getStart(), text: `(${say}, ` }, { at: body.end, text: ')' })
  }
  // Of two at one place the outer one was found first, and closes last.
  const sorted = inserts
    .map((insert, order) => ({ ...insert, order: insert.text === ')' ? -order : order }))
    .sort((a, b) => a.at - b.at || a.order - b.order)
  let text = ''
  let from = 0
  for (const insert of sorted) {
    text += source.text.slice(from, insert.at) + insert.text
    from = insert.at
  }
  return text + source.text.slice(from)
}

/** Folders of tests that may notice a mistake. */
const TEST_FOLDERS = [
  ...['core', 'engine', 'phases', 'workers', 'stores', 'conformance', 'client', 'admin', 'holes'],
  ...[
    'behaviour',
    'integration',
    'apis',
    'telemetry',
    'simulation',
    'mutation',
    'adapters',
    'hostile',
  ],
]

/** Files that need a browser, or that are long and look at nothing of their own. */
const LEFT_OUT = /browser|crash|duplicates|postgres-cost|postgres-plans|\/neighbours\/|fuzz\.test/

/** Every test file that may notice a mistake. */
export function testFiles(): readonly string[] {
  return TEST_FOLDERS.flatMap((folder) => {
    const names = readdirSync(join(ROOT, 'test', folder), { recursive: true, encoding: 'utf8' })
    return names.sort().map((name) => `test/${folder}/${name}`)
  })
    .filter((file) => file.endsWith('.test.ts') && !LEFT_OUT.test(file))
    .filter((file) => !file.includes('node_modules'))
}

/** Where results are kept between runs. */
export const CACHE: string = join(ROOT, 'node_modules', '.cache', 'reprise-mutation')

/** Which tests reach what, by the hash of each test file. */
export interface ReachCache {
  readonly [file: string]: { readonly hash: string; readonly tests: readonly Reaching[] }
}

const REACH_FILE = join(CACHE, 'reach.json')

/** What was written down by an earlier run, of test files that are as they were. */
export function readReach(): ReachCache {
  let known: ReachCache = {}
  try {
    known = JSON.parse(readFileSync(REACH_FILE, 'utf8'))
  } catch {
    // The first run.
  }
  return Object.fromEntries(
    Object.entries(known).filter(([file, { hash }]) => hash === hashOf(file)),
  )
}

/** Keeps it for the next run. */
export function writeReach(cache: ReachCache): void {
  mkdirSync(CACHE, { recursive: true })
  writeFileSync(REACH_FILE, JSON.stringify(cache))
}

/** The hash of a file of the repository; empty when there is none. */
export function hashOf(file: string): string {
  try {
    return createHash('sha256')
      .update(readFileSync(join(ROOT, file)))
      .digest('hex')
      .slice(0, 16)
  } catch {
    return ''
  }
}
