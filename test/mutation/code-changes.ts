/**
 * Mistakes in TypeScript: conditions, comparisons, calls that are left out, members that are lost.
 *
 * @module
 */

import ts from 'typescript'
import type { Change } from './mutants.ts'
import { nodesOf, type Source } from './source.ts'

/** What each operator is taken for. */
const SWAPPED = new Map<ts.SyntaxKind, string>([
  [ts.SyntaxKind.LessThanToken, '<='],
  [ts.SyntaxKind.LessThanEqualsToken, '<'],
  [ts.SyntaxKind.GreaterThanToken, '>='],
  [ts.SyntaxKind.GreaterThanEqualsToken, '>'],
  [ts.SyntaxKind.EqualsEqualsEqualsToken, '!=='],
  [ts.SyntaxKind.ExclamationEqualsEqualsToken, '==='],
  [ts.SyntaxKind.AmpersandAmpersandToken, '||'],
  [ts.SyntaxKind.BarBarToken, '&&'],
  [ts.SyntaxKind.PlusToken, '-'],
  [ts.SyntaxKind.MinusToken, '+'],
  [ts.SyntaxKind.AsteriskToken, '/'],
  [ts.SyntaxKind.SlashToken, '*'],
])

/** Larger numbers are durations and sizes, of which one more says nothing. */
const COUNT_MAX = 16

/** Every change of the file. */
export function* codeChanges({ tree }: Source): Iterable<Change> {
  for (const node of nodesOf(tree)) {
    if (isInType(node)) continue
    yield* changesOf(node)
  }
}

function* changesOf(node: ts.Node): Iterable<Change> {
  if (ts.isIfStatement(node)) yield* ofIf(node)
  else if (ts.isConditionalExpression(node)) yield* ofTernary(node)
  else if (ts.isBinaryExpression(node)) yield* ofBinary(node)
  else if (ts.isPrefixUnaryExpression(node)) yield* ofPrefix(node)
  else if (ts.isExpressionStatement(node)) yield* ofStatement(node)
  else if (ts.isReturnStatement(node)) yield* ofReturn(node)
  else if (ts.isObjectLiteralExpression(node)) yield* ofObject(node)
  else if (ts.isNumericLiteral(node)) yield* ofNumber(node)
}

function change(node: ts.Node, kind: string, replacement: string): Change {
  return { kind, start: node.getStart(), end: node.end, replacement }
}

function* ofIf(node: ts.IfStatement): Iterable<Change> {
  const { expression, elseStatement } = node
  // The swap of an equality negates it.
  if (!isEquality(expression)) yield change(expression, 'negate', `!(${expression.getText()})`)
  if (elseStatement === undefined) yield change(expression, 'never', 'false')
}

function isEquality(node: ts.Expression): boolean {
  return ts.isBinaryExpression(node) && /^[!=]==$/.test(node.operatorToken.getText())
}

function* ofTernary({ condition }: ts.ConditionalExpression): Iterable<Change> {
  if (!isEquality(condition)) yield change(condition, 'negate', `!(${condition.getText()})`)
}

function* ofBinary({ left, operatorToken, right }: ts.BinaryExpression): Iterable<Change> {
  if (operatorToken.kind === ts.SyntaxKind.QuestionQuestionToken) {
    const { parent } = operatorToken
    yield change(parent, 'no default', left.getText())
    return
  }
  const swapped = SWAPPED.get(operatorToken.kind)
  if (swapped === undefined) return
  // Texts are put together by the same sign, and no others can be taken apart.
  const isText = [left, right].some((side) => /^['"`]/.test(side.getText()))
  if (!isText) yield change(operatorToken, 'swap', swapped)
}

function* ofPrefix(node: ts.PrefixUnaryExpression): Iterable<Change> {
  if (node.operator !== ts.SyntaxKind.ExclamationToken) return
  // An `if` of it is negated already.
  if (ts.isIfStatement(node.parent)) return
  yield change(node, 'not', `(${node.operand.getText()})`)
}

function* ofStatement(node: ts.ExpressionStatement): Iterable<Change> {
  const { expression } = node
  const bare = withoutAwait(expression)
  const isCall = ts.isCallExpression(bare)
  if (isCall && bare.expression.kind === ts.SyntaxKind.SuperKeyword) return
  const isAssignment =
    ts.isBinaryExpression(bare) && bare.operatorToken.kind === ts.SyntaxKind.EqualsToken
  const isStep = ts.isPostfixUnaryExpression(bare)
  // As the body of an `if` or a loop, the statement can not be left out without a word.
  if (isCall || isAssignment || isStep) yield change(node, 'leave out', ';')
}

function withoutAwait(expression: ts.Expression): ts.Expression {
  if (ts.isAwaitExpression(expression) || ts.isVoidExpression(expression)) {
    return withoutAwait(expression.expression)
  }
  return expression
}

function* ofReturn({ expression }: ts.ReturnStatement): Iterable<Change> {
  if (expression?.kind === ts.SyntaxKind.TrueKeyword) yield change(expression, 'return', 'false')
  if (expression?.kind === ts.SyntaxKind.FalseKeyword) yield change(expression, 'return', 'true')
}

function* ofObject({ properties }: ts.ObjectLiteralExpression): Iterable<Change> {
  for (const property of properties) {
    const isValue = ts.isPropertyAssignment(property)
    if (!isValue && !ts.isShorthandPropertyAssignment(property)) continue
    const name = property.name.getText()
    const isFlag = isValue && /^(true|false|null|undefined)$/.test(property.initializer.getText())
    if (isFlag) continue
    yield change(property, 'lose', `${name}: undefined`)
  }
}

function* ofNumber(node: ts.NumericLiteral): Iterable<Change> {
  const number = Number(node.text)
  const isCount = Number.isInteger(number) && number > 0 && number <= COUNT_MAX
  if (!isCount || ts.isPropertyAssignment(node.parent)) return
  yield change(node, 'one more', String(number + 1))
}

/** Types do nothing, and imports have no values. */
function isInType(node: ts.Node): boolean {
  for (let at = node; at !== undefined; at = at.parent) {
    if (ts.isTypeNode(at) && !ts.isExpressionWithTypeArguments(at)) return true
    if (ts.isInterfaceDeclaration(at) || ts.isTypeAliasDeclaration(at)) return true
    if (ts.isImportDeclaration(at) || ts.isExportDeclaration(at)) return true
  }
  return false
}
