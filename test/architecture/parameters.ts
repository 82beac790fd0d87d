/**
 * How many parameters a function may take.
 *
 * @module
 */

import ts from 'typescript'
import { type Breach, type Source, walk } from './source.ts'

const PARAMETERS_MAX = 3

/** A function takes at most 3 parameters; more become one object. What drivers take is theirs. */
export function* parameters({ tree }: Source): Iterable<Breach> {
  for (const node of walk(tree)) {
    if (!ts.isFunctionLike(node) || !('body' in node)) continue
    const count = node.parameters.filter(({ name }) => name.getText(tree) !== 'this').length
    if (count > PARAMETERS_MAX) yield { node, subject: nameOf(node) }
  }
}

/** A function's own name, or that of what it is assigned to. */
function nameOf(node: ts.SignatureDeclaration): string {
  if (ts.isConstructorDeclaration(node)) return 'constructor'
  const named = node.name ?? (ts.isVariableDeclaration(node.parent) ? node.parent.name : undefined)
  return named?.getText() ?? '(anonymous)'
}
