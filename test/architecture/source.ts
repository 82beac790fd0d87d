/**
 * Source files as the architecture rules see them: parsed, not type-checked.
 *
 * @module
 */

import { readdirSync, readFileSync } from 'node:fs'
import { join, posix, sep } from 'node:path'
import ts from 'typescript'

/** A parsed source file. */
export interface Source {
  /** Path below `src`, with forward slashes. */
  readonly path: string
  readonly text: string
  readonly tree: ts.SourceFile
}

/** One import or re-export. */
export interface Import {
  readonly node: ts.Node
  readonly specifier: string
  /** Whether it is gone at run time. `import { type A }` is not: its module is still loaded. */
  readonly typeOnly: boolean
  /** The file that a relative import names, as a path below `src`. */
  readonly target: string | undefined
}

/** A breach of a rule. */
export interface Violation {
  readonly rule: string
  readonly path: string
  readonly line: number
  /** What the breach is about: a name, a specifier. Exceptions are granted by it. */
  readonly subject: string
}

/** A rule about one file. Yields the places that breach it. */
export type Rule = (source: Source) => Iterable<Breach>

/** A place in a file that breaches a rule. */
export interface Breach {
  readonly node: ts.Node
  readonly subject: string
}

/** Parses a file. */
export function parse(path: string, text: string): Source {
  return { path, text, tree: ts.createSourceFile(path, text, ts.ScriptTarget.Latest, true) }
}

/** Parses every source file below a folder, except generated ones. */
export function parseFolder(folder: string): Source[] {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.ts') && !file.endsWith('.generated.ts'))
    .sort()
    .map((file) => parse(file.split(sep).join('/'), readFileSync(join(folder, file), 'utf8')))
}

/** Every node of a tree, parents first. */
export function* walk(node: ts.Node): Generator<ts.Node> {
  yield node
  for (const child of childrenOf(node)) yield* walk(child)
}

/** The syntactic children of a node. */
function childrenOf(node: ts.Node): readonly ts.Node[] {
  const children: ts.Node[] = []
  ts.forEachChild(node, (child) => {
    children.push(child)
  })
  return children
}

/** The line of a node, from 1. */
export function lineOf(node: ts.Node, tree: ts.SourceFile): number {
  return tree.getLineAndCharacterOfPosition(node.getStart(tree)).line + 1
}

/** Every import of a file: static, dynamic, re-exported, and in types. */
export function importsOf({ path, tree }: Source): Import[] {
  return [...walk(tree)].flatMap((node) => {
    const found = specifierOf(node)
    if (found === undefined) return []
    const [specifier, typeOnly] = found
    const target = specifier.startsWith('.')
      ? posix.join(posix.dirname(path), specifier)
      : undefined
    return [{ node, specifier, typeOnly, target }]
  })
}

function specifierOf(node: ts.Node): [specifier: string, typeOnly: boolean] | undefined {
  if (ts.isImportDeclaration(node) && ts.isStringLiteral(node.moduleSpecifier)) {
    const typeOnly = node.importClause?.phaseModifier === ts.SyntaxKind.TypeKeyword
    return [node.moduleSpecifier.text, typeOnly]
  }
  if (
    ts.isExportDeclaration(node) &&
    node.moduleSpecifier &&
    ts.isStringLiteral(node.moduleSpecifier)
  ) {
    return [node.moduleSpecifier.text, node.isTypeOnly]
  }
  if (ts.isImportTypeNode(node) && ts.isLiteralTypeNode(node.argument)) {
    const { literal } = node.argument
    return ts.isStringLiteral(literal) ? [literal.text, true] : undefined
  }
  if (ts.isCallExpression(node) && node.expression.kind === ts.SyntaxKind.ImportKeyword) {
    const [argument] = node.arguments
    return [argument && ts.isStringLiteral(argument) ? argument.text : '(computed)', false]
  }
  return undefined
}
