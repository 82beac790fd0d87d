/**
 * How large a file or a function may grow.
 *
 * @module
 */

import ts from 'typescript'
import { type Breach, childrenOf, type Source, walk } from './source.ts'

const FILE_LINES_MAX = 300
const FUNCTION_LINES_MAX = 60
const PARAMETERS_MAX = 3

/** A file has at most 300 lines. */
export function* fileLines({ tree, text }: Source): Iterable<Breach> {
  const lines = text.trimEnd().split('\n').length
  if (lines > FILE_LINES_MAX) yield { node: tree, subject: 'file' }
}

/** A function has at most 60 lines of its own. */
export function* functionLines({ tree }: Source): Iterable<Breach> {
  for (const node of walk(tree)) {
    if (!ts.isFunctionLike(node)) continue
    if (ownLines(node, tree) > FUNCTION_LINES_MAX) yield { node, subject: nameOf(node) }
  }
}

/** A function takes at most 3 parameters; more become one object. What drivers take is theirs. */
export function* parameters({ tree }: Source): Iterable<Breach> {
  for (const node of walk(tree)) {
    if (!ts.isFunctionLike(node) || !('body' in node)) continue
    const count = node.parameters.filter(({ name }) => name.getText(tree) !== 'this').length
    if (count > PARAMETERS_MAX) yield { node, subject: nameOf(node) }
  }
}

/** Lines of a function without those between the first and the last line of functions within. */
function ownLines(node: ts.Node, tree: ts.SourceFile): number {
  const inner = nested(node).map((child) => Math.max(0, linesOf(child, tree) - 2))
  return inner.reduce((own, lines) => own - lines, linesOf(node, tree))
}

/** The functions directly inside a node, not those inside of these. */
function nested(node: ts.Node): ts.Node[] {
  return childrenOf(node).flatMap((child) => (ts.isFunctionLike(child) ? [child] : nested(child)))
}

function linesOf(node: ts.Node, tree: ts.SourceFile): number {
  const first = tree.getLineAndCharacterOfPosition(node.getStart(tree)).line
  return tree.getLineAndCharacterOfPosition(node.getEnd()).line - first + 1
}

/** A function's own name, or that of what it is assigned to. */
function nameOf(node: ts.SignatureDeclaration): string {
  if (ts.isConstructorDeclaration(node)) return 'constructor'
  const named = node.name ?? (ts.isVariableDeclaration(node.parent) ? node.parent.name : undefined)
  return named?.getText() ?? '(anonymous)'
}
