/**
 * The files that mistakes are planted in, as syntax trees, and names for the places in them.
 *
 * @module
 */

import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import ts from 'typescript'

/** The folder of the repository. */
export const ROOT: string = join(import.meta.dirname, '..', '..')

/** Where mistakes are planted. */
export const FOLDERS = [
  'src/core',
  'src/engine',
  'src/phases',
  'src/workers',
  'src/stores/postgres',
  'src/stores/redis',
  'src/stores/sqlite',
  'src/stores/memory',
  'src/client',
] as const

/** One of the folders. */
export type Folder = (typeof FOLDERS)[number]

/** A file below `src`. */
export interface Source {
  /** Its path from the root of the repository. */
  readonly path: string
  readonly folder: Folder
  readonly text: string
  readonly tree: ts.SourceFile
}

/**
 * Files without mistakes to plant. Tables of texts and versions, which tests compare as a whole; what only
 * an operator's pages ask for, which changes no record; wrappers of client libraries and ORMs, which
 * `npm run orms` and the handlers' programs try.
 */
const LEFT_OUT =
  /core\/(error-table|error-code|versions)\.ts$|postgres\/(admin|handles|clients|access)\/|memory\/(desk|batches|counts)\.ts$|redis\/clients\//

/** Every file of the folders. */
export function readSources(): readonly Source[] {
  return FOLDERS.flatMap((folder) => {
    const names = readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' })
    const paths = names.map((name) => `${folder}/${name}`).sort()
    return paths
      .filter((path) => path.endsWith('.ts') && !LEFT_OUT.test(path))
      .map((path) => readSource(path, folder))
  })
}

function readSource(path: string, folder: Folder): Source {
  const text = readFileSync(join(ROOT, path), 'utf8')
  return { path, folder, text, tree: ts.createSourceFile(path, text, ts.ScriptTarget.ES2022, true) }
}

/** A function with a body. */
export type FunctionNode = ts.FunctionLikeDeclaration & { readonly body: ts.ConciseBody }

/** Whether the node is a function that does something. */
export function isFunction(node: ts.Node): node is FunctionNode {
  return ts.isFunctionLike(node) && 'body' in node && node.body !== undefined
}

/** The innermost function around the node, if there is one. */
export function functionAround(node: ts.Node): FunctionNode | undefined {
  for (let { parent } = node; parent !== undefined; parent = parent.parent) {
    if (isFunction(parent)) return parent
  }
  return undefined
}

/**
 * A name for the place of a node: the declarations around it, as in `Lease.#renew`. It stays the same
 * when lines are put before it.
 */
export function placeOf(node: ts.Node): string {
  const names: string[] = []
  for (let at: ts.Node = node; at.parent !== undefined; at = at.parent) {
    const name = declaredName(at)
    if (name !== undefined) names.unshift(name)
  }
  return names.join('.')
}

function declaredName(node: ts.Node): string | undefined {
  if (ts.isConstructorDeclaration(node)) return 'constructor'
  if (ts.isVariableDeclaration(node)) return ts.isIdentifier(node.name) ? node.name.text : undefined
  const isNamed = ts.isFunctionDeclaration(node) || ts.isClassLike(node) || ts.isClassElement(node)
  return isNamed ? node.name?.getText() : undefined
}

/** Every node below the node, itself first. */
export function* nodesOf(node: ts.Node): Iterable<ts.Node> {
  yield node
  const children: ts.Node[] = []
  ts.forEachChild(node, (child) => void children.push(child))
  for (const child of children) yield* nodesOf(child)
}

/** The text on one line, for a name or a list. */
export function oneLine(text: string): string {
  return text.replaceAll(/\s+/g, ' ').trim()
}

/** The innermost node at a place of the text. */
export function nodeAt(tree: ts.SourceFile, place: number): ts.Node {
  let found: ts.Node = tree
  const isInside = (node: ts.Node) => node.getStart(tree) <= place && place < node.end
  for (let inner: ts.Node | undefined = tree; inner !== undefined; ) {
    found = inner
    inner = ts.forEachChild(found, (child) => (isInside(child) ? child : undefined))
  }
  return found
}
