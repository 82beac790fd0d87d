/**
 * Which tests may notice a mistake: those that reach its function, those of the same subject first.
 *
 * @module
 */

import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import ts from 'typescript'
import type { Chosen } from './lane.ts'
import { definedIn, type Mutant } from './mutants.ts'
import { functionKey, type Reaching } from './reach.ts'
import { type Folder, functionAround, nodeAt, nodesOf, ROOT, type Source } from './source.ts'

/** Where the tests of a folder's own lie. */
const NEAR: Readonly<Record<Folder, RegExp>> = {
  'src/core': /^test\/(core|engine)\/|\/(memory|differential)/,
  'src/engine': /^test\/(engine|holes|behaviour|integration)\/|first-statement/,
  'src/phases': /^test\/phases\//,
  'src/workers': /^test\/(workers|phases)\//,
  'src/stores/postgres': /postgres|^test\/(phases|workers|integration)\//,
  'src/stores/redis': /redis/,
  'src/stores/sqlite': /sqlite/,
  'src/stores/memory': /memory|^test\/engine\//,
  'src/client': /^test\/client\//,
}

/** How long the tests of a mistake may take together, by themselves, in milliseconds. */
const NEAR_MS = 30_000
const FAR_MS = 3_000

/** No file takes all of the time from the others. */
const FILE_MS = 4_000

/** Files have costs of their own: databases, servers. */
const NEAR_FILES = 30
const FAR_FILES = 3

/** Chooses tests for mistakes. */
export class Chooser {
  readonly #reaching: readonly Reaching[]
  readonly #sources: readonly Source[]
  readonly #byFunction = new Map<string, Reaching[]>()
  readonly #byFile = new Map<string, Set<Reaching>>()
  readonly #texts = new Map<string, string>()
  readonly #mentions = new Map<string, readonly Mention[]>()

  constructor(reaching: readonly Reaching[], sources: readonly Source[]) {
    this.#reaching = reaching
    this.#sources = sources
    for (const test of reaching) {
      for (const key of test.reached) {
        const path = key.slice(0, key.indexOf(' '))
        this.#byFunction.set(key, [...(this.#byFunction.get(key) ?? []), test])
        this.#byFile.set(path, (this.#byFile.get(path) ?? new Set()).add(test))
      }
    }
  }

  /** The tests, by file, in the order in which they are to run. */
  choose(mutant: Mutant): readonly Chosen[] {
    const { folder } = mutant.source
    const tests = this.#reachingTests(mutant)
    const near = tests.filter(({ file }) => NEAR[folder].test(file))
    const far = tests.filter(({ file }) => !NEAR[folder].test(file))
    // Those that import the file itself are about it.
    const own = near.filter(({ file }) => this.#imports(file, mutant.source))
    const others = near.filter((test) => !own.includes(test))
    return [
      ...within(own, NEAR_MS, NEAR_FILES),
      ...within(others, NEAR_MS, NEAR_FILES),
      ...within(far, FAR_MS, FAR_FILES),
    ]
  }

  #reachingTests(mutant: Mutant): readonly Reaching[] {
    const { source } = mutant
    const node = nodeAt(source.tree, mutant.start)
    const around = functionAround(node)
    if (around !== undefined && !mutant.isText) {
      return this.#byFunction.get(functionKey(source, around)) ?? []
    }
    const users = this.#usersOf(mutant, node)
    const tests = new Set([...users].flatMap((key) => this.#byFunction.get(key) ?? []))
    for (const test of this.#reaching) if (this.#imports(test.file, source)) tests.add(test)
    if (tests.size > 0) return [...tests]
    const inFile = this.#byFile.get(source.path)
    return inFile === undefined
      ? this.#reaching.filter(({ file }) => NEAR[source.folder].test(file))
      : [...inFile]
  }

  /** Whether the test file imports the source itself. */
  #imports(file: string, { path }: Source): boolean {
    const text = this.#texts.get(file) ?? readFileSync(join(ROOT, file), 'utf8')
    this.#texts.set(file, text)
    return text.includes(`/${path}'`)
  }

  /** The functions that use what is declared around the place, through other declarations. */
  #usersOf(mutant: Mutant, node: ts.Node): ReadonlySet<string> {
    const { folder } = mutant.source
    const users = new Set<string>()
    const seen = new Set<string>()
    const names = [...namesAround(node), ...sqlNamesAround(mutant)]
    for (let name = names.shift(); name !== undefined; name = names.shift()) {
      if (seen.has(name)) continue
      seen.add(name)
      for (const mention of this.#mentionsIn(folder)) {
        if (!mention.names.has(name) || mention.declared.includes(name)) continue
        if (mention.user === undefined) names.push(...mention.declared)
        else users.add(mention.user)
      }
    }
    return users
  }

  #mentionsIn(folder: Folder): readonly Mention[] {
    const known = this.#mentions.get(folder)
    if (known !== undefined) return known
    const inFolder = this.#sources.filter((source) => source.folder === folder)
    const made = inFolder.flatMap((source) => [...mentionsOf(source)])
    this.#mentions.set(folder, made)
    return made
  }
}

/** A place that names things: a function that does something with them, or a declaration of more. */
interface Mention {
  readonly names: ReadonlySet<string>
  /** What is declared there, where it is only a text or a table of texts. */
  readonly declared: readonly string[]
  /** The function, where it is one that does something. */
  readonly user: string | undefined
}

/** Files that only hold texts. */
const TEXTS = /queries|\/migrations\/|\/scan\.ts$/

function* mentionsOf(source: Source): Iterable<Mention> {
  const isTexts = TEXTS.test(source.path)
  for (const node of nodesOf(source.tree)) {
    const isName = ts.isIdentifier(node) && !ts.isImportSpecifier(node.parent)
    const isText = ts.isStringLiteralLike(node) || ts.isTemplateHead(node) || isMiddle(node)
    if (!isName && !isText) continue
    const names = new Set(isName ? [node.text] : calledIn(node.getText()))
    // Statements are also asked for by name.
    if (ts.isStringLiteral(node)) names.add(node.text)
    const around = functionAround(node)
    const declared = namesAround(node)
    const user = isTexts || around === undefined ? undefined : functionKey(source, around)
    yield { names, declared: isText ? [...declared, ...sqlNames(node.getText())] : declared, user }
  }
}

function isMiddle(node: ts.Node): boolean {
  return ts.isTemplateMiddle(node) || ts.isTemplateTail(node)
}

/** The nearest property and the outermost declaration around the node. */
function namesAround(node: ts.Node): readonly string[] {
  const names: string[] = []
  for (let at = node; at !== undefined; at = at.parent) {
    if (ts.isPropertyAssignment(at)) return [at.name.getText()]
    if (ts.isVariableDeclaration(at) && ts.isSourceFile(at.parent.parent.parent)) {
      names.push(at.name.getText())
    }
    if (ts.isFunctionDeclaration(at)) names.push(at.name?.getText() ?? '')
  }
  return names
}

const CALLED = /\b(?:reprise|\$\{[^}]*\})\.(\w+)\s*\(|^\.(\w+)\s*\(/g

function sqlNames(text: string): readonly string[] {
  return definedIn(text).map((name) => `sql ${name}`)
}

function calledIn(text: string): readonly string[] {
  const inside = text.replaceAll(/function reprise\.\w+/g, '').replace(/^\}/, '')
  return [...inside.matchAll(CALLED)].map(([, name, other]) => `sql ${name ?? other ?? ''}`)
}

/** The function of SQL that the place is in. */
function sqlNamesAround({ isText, source, start }: Mutant): readonly string[] {
  if (!isText) return []
  return sqlNames(source.text.slice(0, start)).slice(-1)
}

/** As many as there is time for: the cheapest of each file, then the cheapest files. */
function within(tests: readonly Reaching[], ms: number, filesMax: number): readonly Chosen[] {
  const byFile = new Map<string, Reaching[]>()
  for (const test of tests) byFile.set(test.file, [...(byFile.get(test.file) ?? []), test])
  const files = [...byFile].map(([file, all]) => {
    const cheapest = all.toSorted((a, b) => a.ms - b.ms)
    return { file, cheapest, cost: cheapest.reduce((sum, test) => sum + test.ms, 0) }
  })
  let left = ms
  const chosen: Chosen[] = []
  for (const { file, cheapest } of files.toSorted((a, b) => a.cost - b.cost).slice(0, filesMax)) {
    const ids: string[] = []
    let leftHere = Math.min(left, FILE_MS)
    for (const test of cheapest) {
      if (test.ms > leftHere) break
      leftHere -= test.ms
      left -= test.ms
      ids.push(test.id)
    }
    if (ids.length > 0) chosen.push({ file, ids })
  }
  return chosen
}
