/** Texts that nobody meant to send: pieces of real ones, cut, joined and damaged, by chance. */

import type { Chance } from '../engine/chance.ts'

/** What breaks parsers, in texts of any kind. */
const PIECES: readonly string[] = [
  ...[
    '"',
    '\\',
    '\\"',
    '\\\\',
    ',',
    ';',
    '=',
    ':',
    '{',
    '}',
    '[',
    ']',
    '%',
    '%00',
    '%zz',
    '+',
    '&',
  ],
  ...[' ', '\t', '\u0000', '\u0001', '\u001f', '\u007f', '\u0080', '\u00e9', '\u00ff', '\ufeff'],
  ...[
    '\ud800',
    '\udc00',
    '\u{1f600}',
    '\u2028',
    '%"%c3"',
    ':YQ==:',
    '?1',
    '@1',
    '1.5',
    '-0',
    '1e999',
  ],
  ...['__proto__', 'constructor', 'prototype', 'toString', 'null', 'undefined', 'NaN', '{}', '[]'],
  ...[
    '\\u0000',
    '\\ud800',
    '${7*7}',
    "' or 1=1 --",
    '../../etc/passwd',
    '<script>',
    '%0d%0a',
    '\r\n',
  ],
]

/** A whole number from 0 to below `most`. */
export function below(chance: Chance, most: number): number {
  return Math.floor(chance.fraction() * most)
}

/** One of a list that is not empty. */
export function among<T>(chance: Chance, list: readonly T[]): T {
  const found = list[below(chance, list.length)]
  if (found === undefined) throw new TypeError('There is nothing to choose from.')
  return found
}

/** One to five changes of a text; what comes out may have grown, but not without end. */
export function mutated(chance: Chance, corpus: readonly string[]): string {
  let text = among(chance, corpus)
  for (let left = among(chance, [1, 1, 1, 2, 3, 5]); left > 0; left--)
    text = change(chance, text, corpus)
  return text.slice(0, 4096)
}

function change(chance: Chance, text: string, corpus: readonly string[]): string {
  const from = below(chance, text.length + 1)
  const to = from + below(chance, 6)
  const [before, cut, after] = [text.slice(0, from), text.slice(from, to), text.slice(to)]
  switch (below(chance, 7)) {
    case 0:
      return before + after
    case 1:
      return before + among(chance, PIECES) + cut + after
    case 2:
      return before + cut.repeat(2 + below(chance, 40)) + after
    case 3:
      return before + String.fromCharCode(below(chance, 256)) + after
    case 4:
      return before + among(chance, corpus) + after
    case 5:
      return before
    default:
      return before + cut.toUpperCase() + after
  }
}
