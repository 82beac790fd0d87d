/**
 * What the source does not contain, and what goes with everything that it exports.
 *
 * @module
 */

import ts from 'typescript'
import { type Breach, type Source, walk } from './source.ts'

/**
 * The ports of time and chance: what they wrap is touched nowhere else. The client has its own,
 * because the engine's lie on Node's modules, which browsers do not have, and what only Node has lies
 * with its adapters.
 */
const PORTS = new Set(['engine/clock.ts', 'client/clock.ts', 'adapters/node-clock.ts'])
const PORT_NAMES = new Set([
  ...['setTimeout', 'setInterval', 'setImmediate'],
  ...['randomBytes', 'randomUUID', 'randomInt', 'randomFill', 'getRandomValues'],
])
const PORT_MEMBERS = new Set([
  ...['Date.now', 'Math.random', 'performance.now', 'process.hrtime', 'AbortSignal.timeout'],
])

/** Names of files that say nothing about what is in them. */
const BUCKETS = /(^|\/)(utils?|helpers?|common|misc|shared|types|interfaces|manager)(\.ts$|\/)/

const SQL =
  /^\s*(select\s|insert\s+into\s|update\s+\S+\s+set\s|delete\s+from\s|(create|alter|drop)\s+(table|index|schema|function|type|unique)\s|with\s+\w+\s+as\s*\()/i

/** Where SQL may stand. */
const SQL_FILES =
  /^(stores\/[^/]+\/((work|admin)\/)?(queries|transactions?|migrate|migrations)(\.ts|\/.+\.ts)|(sinks|cli)\/queries\.ts)$/

/** Time and chance come through the ports. */
export function* ports({ path, tree }: Source): Iterable<Breach> {
  if (PORTS.has(path)) return
  for (const node of walk(tree)) {
    if (ts.isIdentifier(node) && PORT_NAMES.has(node.text)) yield { node, subject: node.text }
    if (ts.isPropertyAccessExpression(node) && PORT_MEMBERS.has(node.getText(tree))) {
      yield { node, subject: node.getText(tree) }
    }
    const isClock = ts.isNewExpression(node) && node.expression.getText(tree) === 'Date'
    if (isClock && !node.arguments?.length) yield { node, subject: 'new Date()' }
    if (ts.isStringLiteral(node) && node.text.startsWith('node:timers')) {
      yield { node, subject: node.text }
    }
  }
}

/** No `any`, no `!`, no enum, no default export. */
export function* banned({ tree }: Source): Iterable<Breach> {
  for (const node of walk(tree)) {
    const subject = bannedSubject(node)
    if (subject !== undefined) yield { node, subject }
  }
}

function bannedSubject(node: ts.Node): string | undefined {
  if (node.kind === ts.SyntaxKind.AnyKeyword) return 'any'
  if (ts.isNonNullExpression(node)) return '!'
  if ((ts.isPropertyDeclaration(node) || ts.isVariableDeclaration(node)) && node.exclamationToken) {
    return '!'
  }
  if (ts.isEnumDeclaration(node)) return 'enum'
  if (ts.isExportAssignment(node) || node.kind === ts.SyntaxKind.DefaultKeyword) {
    return ts.isDefaultClause(node.parent) ? undefined : 'default export'
  }
  return undefined
}

/** `as` stands beside a comment that says why it holds. `as const` asserts nothing. */
export function* assertions({ tree, text }: Source): Iterable<Breach> {
  const lines = text.split('\n')
  for (const node of walk(tree)) {
    if (!ts.isAsExpression(node) && !ts.isTypeAssertionExpression(node)) continue
    if (ts.isConstTypeReference(node.type)) continue
    if (!hasComment(node, lines, tree)) yield { node, subject: node.type.getText(tree) }
  }
}

/** Whether a comment stands on or above a line on which the node, or what it is part of, begins. */
function hasComment(node: ts.Node, lines: readonly string[], tree: ts.SourceFile): boolean {
  const { line } = tree.getLineAndCharacterOfPosition(node.getStart(tree))
  const end = tree.getLineAndCharacterOfPosition(node.getEnd()).line
  if (/\/\/|\*\//.test(lines[line] ?? '') || /\/\/|\*\//.test(lines[end] ?? '')) return true
  if (/^\s*(\/\/|\*)|\*\/\s*$/.test(lines[line - 1] ?? '')) return true
  return !ts.isStatement(node) && !ts.isClassElement(node) && hasComment(node.parent, lines, tree)
}

/** Everything that is exported has a doc comment. */
export function* documentation({ tree }: Source): Iterable<Breach> {
  const seen = new Set<string>()
  for (const node of tree.statements) {
    if (!ts.canHaveModifiers(node)) continue
    const exported = ts.getModifiers(node)?.some(({ kind }) => kind === ts.SyntaxKind.ExportKeyword)
    if (!exported) continue
    const name = exportedName(node, tree)
    // The first of several overloads speaks for all.
    if (!seen.has(name) && !node.getFullText(tree).trimStart().startsWith('/**')) {
      yield { node, subject: name }
    }
    seen.add(name)
  }
}

function exportedName(node: ts.Node, tree: ts.SourceFile): string {
  if (ts.isVariableStatement(node)) {
    return node.declarationList.declarations.map(({ name }) => name.getText(tree)).join(', ')
  }
  // Whatever else has modifiers is a declaration.
  return ts.getNameOfDeclaration(node as ts.Declaration)?.getText(tree) ?? '(anonymous)'
}

/** SQL stands in the files that are made for it. */
export function* sql({ path, tree }: Source): Iterable<Breach> {
  if (SQL_FILES.test(path)) return
  for (const node of walk(tree)) {
    const isText = ts.isStringLiteral(node) || ts.isNoSubstitutionTemplateLiteral(node)
    const text = isText || ts.isTemplateHead(node) ? node.text : ''
    // Prose that begins like a statement has a capital letter.
    if (SQL.test(text) && !/^\s*[A-Z][a-z]/.test(text))
      yield { node, subject: text.trim().slice(0, 30) }
  }
}

/** Files have names in kebab-case that say what they hold. */
export function* names({ path, tree }: Source): Iterable<Breach> {
  const isKebab = /^([a-z0-9]+(-[a-z0-9]+)*\/)*[a-z0-9]+([-.][a-z0-9]+)*\.ts$/.test(path)
  if (!isKebab || BUCKETS.test(path)) yield { node: tree, subject: path }
}

/** Nothing is left for later, and no check is switched off. */
export function* leftovers({ tree, text }: Source): Iterable<Breach> {
  const found =
    /\b(TODO|FIXME|XXX|HACK)\b|@ts-(ignore|nocheck|expect-error)|(oxlint|eslint|biome)-(disable|ignore)/.exec(
      text,
    )
  if (found) yield { node: tree, subject: found[0] }
}
