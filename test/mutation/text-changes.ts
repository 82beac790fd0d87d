/**
 * Mistakes in SQL and Lua, which stand in texts: conditions that are left out, comparisons,
 * assignments, locks and order.
 *
 * @module
 */

import ts from 'typescript'
import type { Change } from './mutants.ts'
import { nodesOf, type Source } from './source.ts'

/** A change within a piece of text. */
interface Cut {
  readonly kind: string
  readonly at: number
  readonly length: number
  readonly replacement: string
}

/** Folders whose texts are SQL or Lua. */
const LANGUAGES = [
  { folder: 'src/stores/postgres', cuts: sqlCuts },
  { folder: 'src/stores/sqlite', cuts: sqlCuts },
  { folder: 'src/stores/redis', cuts: luaCuts },
]

const SQL =
  /\b(select|insert into|update|delete from|where|create (or replace )?function|case when|perform)\s/
const LUA = /redis\.p?call|\blocal\b|\bthen\b/

/** Every change of the file's texts. */
export function* textChanges(source: Source): Iterable<Change> {
  const language = LANGUAGES.find(({ folder }) => source.folder === folder)
  if (language === undefined) return
  for (const node of nodesOf(source.tree)) {
    if (!ts.isTemplateLiteral(node) && !ts.isStringLiteral(node)) continue
    const whole = node.getText()
    if (!(language.cuts === luaCuts ? LUA : SQL).test(whole)) continue
    const start = node.getStart()
    for (const { kind, at, length, replacement } of language.cuts(plain(whole))) {
      yield { kind, start: start + at, end: start + at + length, replacement }
    }
  }
}

/** The text with its comments and TypeScript made blank, at the same places. */
function plain(text: string): string {
  const blank = (part: string) => part.replaceAll(/[^\n]/g, ' ')
  return text.replaceAll(/--[^\n]*/g, blank)
}

function* sqlCuts(text: string): Iterable<Cut> {
  yield* leftOut(text, /\b(and|or(?! replace))\s+/g, 'condition')
  yield* swaps(text, / (<=|>=|<>|<|>) /g, SQL_COMPARED)
  yield* swaps(text, /(?<=\b(?:where|and|or|on|when|if)\b[^\n=,;]*) (=) /g, SQL_COMPARED)
  yield* swaps(text, /\b(is not null|is null|not exists|exists|greatest|least)\b/g, SQL_WORDS)
  yield* swaps(text, /\b(is not distinct from|is distinct from|not in|desc)\b/g, SQL_WORDS)
  yield* swaps(
    text,
    /(?<=\bnow\(\)|_timestamp\(\)|\bmoment\b|\bnow\b|_at\b|\bfence\b) ([+-]) /g,
    SIGNS,
  )
  yield* removals(text, /\b(for update|for share|skip locked|order by [^\n)]+)/g, 'leave out')
  yield* removals(text, /^\s*(perform [^;]+;|delete from [^;]+;|insert into [^;]+;)/gm, 'statement')
  yield* assignments(text)
}

function* luaCuts(text: string): Iterable<Cut> {
  yield* swaps(text, /\s(<=|>=|~=|==|<|>)\s/g, LUA_COMPARED)
  yield* swaps(text, /\b(and|or|math\.max|math\.min)\b/g, LUA_WORDS)
  yield* removals(text, /\b(not )(?=\w)/g, 'not')
  yield* swaps(text, /\bnow ([+-]) /g, SIGNS)
  yield* removals(text, /^\s*(redis\.p?call\([^\n]*\)|[a-z]\w*\([^\n]*\))$/gim, 'statement')
  yield* removals(text, /^\s*(if [^\n]+ then return [^\n]* end)$/gm, 'guard')
}

const SQL_COMPARED = new Map([
  ...([
    ['<', '<='],
    ['<=', '<'],
    ['>', '>='],
    ['>=', '>'],
    ['=', '<>'],
    ['<>', '='],
  ] as const),
])
const LUA_COMPARED = new Map([
  ...([
    ['<', '<='],
    ['<=', '<'],
    ['>', '>='],
    ['>=', '>'],
    ['==', '~='],
    ['~=', '=='],
  ] as const),
])
const SQL_WORDS = new Map([
  ...([
    ['is null', 'is not null'],
    ['is not null', 'is null'],
  ] as const),
  ...([
    ['exists', 'not exists'],
    ['not exists', 'exists'],
  ] as const),
  ...([
    ['greatest', 'least'],
    ['least', 'greatest'],
    ['not in', 'in'],
    ['desc', ''],
  ] as const),
  ...([['is distinct from', 'is not distinct from']] as const),
  ...([['is not distinct from', 'is distinct from']] as const),
])
const LUA_WORDS = new Map([
  ...([
    ['and', 'or'],
    ['or', 'and'],
    ['math.max', 'math.min'],
    ['math.min', 'math.max'],
  ] as const),
])
const SIGNS = new Map([
  ['+', '-'],
  ['-', '+'],
])

function* swaps(text: string, pattern: RegExp, table: ReadonlyMap<string, string>): Iterable<Cut> {
  for (const match of text.matchAll(pattern)) {
    const [whole, found = ''] = match
    const replacement = table.get(found)
    if (replacement === undefined) continue
    const at = match.index + whole.indexOf(found)
    yield { kind: 'swap', at, length: found.length, replacement }
  }
}

function* removals(text: string, pattern: RegExp, kind: string): Iterable<Cut> {
  for (const match of text.matchAll(pattern)) {
    const [whole, found = ''] = match
    const at = match.index + whole.indexOf(found)
    yield { kind, at, length: found.length, replacement: '' }
  }
}

/** Leaves out a condition, with the word that joins it. */
function* leftOut(text: string, pattern: RegExp, kind: string): Iterable<Cut> {
  for (const { index, 0: word } of text.matchAll(pattern)) {
    // The second half of `between x and y`.
    if (/\bbetween\s+\S+\s+$/.test(text.slice(0, index))) continue
    const length = endOf(text, index + word.length) - index
    yield { kind, at: index, length, replacement: '' }
  }
}

const ENDS =
  /^(\s+(and|or|then|order|group|returning|limit|for|union|when|else|end|loop|as|on|do)\b|\s*[;`,]|\s*\n\s*\n)/

/** Where the condition that starts there ends. */
function endOf(text: string, start: number): number {
  let depth = 0
  for (let at = start; at < text.length; at++) {
    const sign = text[at]
    if (sign === '(' || sign === '{') depth++
    if (sign === ')' || sign === '}') depth--
    if (depth < 0) return at
    if (depth === 0 && ENDS.test(text.slice(at, at + 40))) return at
  }
  return text.length
}

/** Leaves out one assignment of several of an `update`. */
function* assignments(text: string): Iterable<Cut> {
  for (const { index, 0: word } of text.matchAll(/\bset\s+(?=\w+\s*=)/g)) {
    const parts = commaParts(text, index + word.length)
    if (parts.length < 2) continue
    for (const [place, { start, end }] of parts.entries()) {
      const isLast = place === parts.length - 1
      const from = isLast ? (parts[place - 1]?.end ?? start) : start
      const to = isLast ? end : (parts[place + 1]?.start ?? end)
      yield { kind: 'assignment', at: from, length: to - from, replacement: '' }
    }
  }
}

const SET_ENDS = /^(\s+(where|from|returning)\b|\s*[;`)])/

function commaParts(text: string, begin: number): readonly { start: number; end: number }[] {
  const parts: { start: number; end: number }[] = []
  let depth = 0
  let start = begin
  for (let at = begin; at < text.length; at++) {
    const sign = text[at] ?? ''
    if ('({'.includes(sign)) depth++
    if (depth === 0 && SET_ENDS.test(text.slice(at, at + 40))) {
      return [...parts, { start, end: at }]
    }
    if (')}'.includes(sign)) depth--
    if (depth === 0 && sign === ',') {
      parts.push({ start, end: at })
      start = at + 1 + (/^\s*/.exec(text.slice(at + 1))?.[0].length ?? 0)
    }
  }
  return []
}
