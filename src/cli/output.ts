/**
 * What goes where: results to stdout, as text or as exactly one JSON document; everything that is
 * said to a person on the way to stderr.
 *
 * @module
 */

import type { Result } from './command.ts'
import type { Io, TextOut } from './io.ts'

/** How results are printed. */
export type Format = 'table' | 'json' | 'ids'

/** What {@link Output} is made with. */
export interface OutputOptions {
  readonly format: Format
  /** Whether text may be coloured. */
  readonly isColored: boolean
}

const COLORS = { bold: 1, dim: 2, red: 31, green: 32, yellow: 33, cyan: 36 } as const

/** A colour that text may have. It never says anything that a word beside it does not. */
export type Color = keyof typeof COLORS

/** The printer of a command. */
export class Output {
  readonly format: Format
  readonly #io: Pick<Io, 'stdout' | 'stderr'>
  readonly #isColored: boolean
  #hasDocument = false

  constructor(io: Pick<Io, 'stdout' | 'stderr'>, { format, isColored }: OutputOptions) {
    this.format = format
    this.#io = io
    this.#isColored = isColored
  }

  get isJson(): boolean {
    return this.format === 'json'
  }

  /** Whether the document has been printed: what fails later is told on stderr. */
  get hasDocument(): boolean {
    return this.#hasDocument
  }

  /** Says something to a person. */
  note(text: string): void {
    this.#io.stderr.write(`${text}\n`)
  }

  /** Shows progress in place, where somebody can see it. */
  progress(text: string): void {
    if (this.#io.stderr.isTTY) this.#io.stderr.write(`\r\x1b[2K${text}`)
  }

  /** Prints what a command came to. */
  result({ document, text, ids }: Result): void {
    if (this.isJson) this.document(document)
    else if (this.format === 'ids' && ids !== undefined) this.#lines(ids.join('\n'))
    else this.#lines(text)
  }

  /** Prints the document. */
  document(document: unknown): void {
    if (this.#hasDocument) throw new TypeError('A command prints one document.')
    this.#hasDocument = true
    this.#io.stdout.write(`${printableJson(document, 2)}\n`)
  }

  /** One event of a stream: a line of JSON, or of text. */
  event(document: unknown, text: string): void {
    this.#hasDocument = true
    this.#io.stdout.write(`${this.isJson ? printableJson(document) : text}\n`)
  }

  /** Clears the terminal and prints a screen. */
  screen(text: string): void {
    this.#io.stdout.write(`\x1b[H\x1b[2J${text}\n`)
  }

  /** The text in a colour, where colours are wanted. */
  paint(color: Color, text: string): string {
    return this.#isColored ? `\x1b[${COLORS[color]}m${text}\x1b[0m` : text
  }

  #lines(text: string): void {
    if (text !== '') this.#io.stdout.write(`${text}\n`)
  }
}

/** Whether to colour what goes to `out`: `--color`, then NO_COLOR, FORCE_COLOR, then the terminal. */
export function wantsColor(choice: string | undefined, env: Io['env'], out: TextOut): boolean {
  if (choice === 'always') return true
  if (choice === 'never') return false
  if ((env['NO_COLOR'] ?? '') !== '') return false
  const forced = env['FORCE_COLOR']
  if (forced !== undefined) return forced !== '0' && forced !== 'false'
  return out.isTTY && env['TERM'] !== 'dumb'
}

/** Rows under their heads, as wide as their widest cell. */
export function table(heads: readonly string[], rows: readonly (readonly string[])[]): string {
  const lines = [heads, ...rows].map((row) => row.map(printable))
  const widths = heads.map((_, column) => Math.max(...lines.map((row) => row[column]?.length ?? 0)))
  return lines
    .map((row) =>
      row
        .map((cell, column) => cell.padEnd(widths[column] ?? 0))
        .join('  ')
        .trimEnd(),
    )
    .join('\n')
}

/** What a table may do to fit. */
export interface Fit {
  /** Columns of the terminal. */
  readonly width: number
  /** Heads of the columns that may be cut, in the middle. */
  readonly cut: readonly string[]
  /** Heads of the columns that are left out where cutting is not enough, the first first. */
  readonly drop: readonly string[]
}

/** No column is cut to less. */
const CUT_MIN = 12

/** The same in as many columns as the terminal has, where that can be done. */
export function fittedTable(
  heads: readonly string[],
  rows: readonly (readonly string[])[],
  fit: Fit,
): string {
  const widths = heads.map((head, column) =>
    Math.max(head.length, ...rows.map((row) => printable(row[column] ?? '').length)),
  )
  const sum = () => widths.reduce((all, width) => all + width + 2, -2)
  const canCut = (column: number) =>
    fit.cut.includes(heads[column] ?? '') && (widths[column] ?? 0) > CUT_MIN
  while (sum() > fit.width) {
    const [widest] = [...widths.keys()]
      .filter(canCut)
      .sort((one, other) => (widths[other] ?? 0) - (widths[one] ?? 0))
    if (widest === undefined) break
    widths[widest] = (widths[widest] ?? 0) - 1
  }
  const [dropped, ...drop] = fit.drop
  if (sum() > fit.width && dropped !== undefined) {
    const at = heads.indexOf(dropped)
    const without = <T>(list: readonly T[]) => list.filter((_, column) => column !== at)
    return fittedTable(without(heads), rows.map(without), { ...fit, drop })
  }
  const cells = rows.map((row) =>
    row.map((cell, column) => middleCut(printable(cell), widths[column] ?? 0)),
  )
  return table(heads, cells)
}

/** The beginning and the end of a text, which tell more than its middle. */
function middleCut(text: string, length: number): string {
  if (text.length <= length) return text
  const end = Math.floor((length - 1) / 2)
  return `${text.slice(0, length - 1 - end)}…${text.slice(text.length - end)}`
}

/** Names and values, one pair on each line. */
export function pairs(rows: readonly (readonly [name: string, value: string])[]): string {
  const width = Math.max(0, ...rows.map(([name]) => name.length))
  return rows
    .map(([name, value]) => `${name.padEnd(width)}  ${printable(value)}`.trimEnd())
    .join('\n')
}

/** What a client sent must not steer the terminal of whoever looks at it. */
export function printable(text: string): string {
  return text.replaceAll(/[\p{Cc}\p{Cf}]/gu, (char) => {
    const code = char.codePointAt(0) ?? 0
    return `\\u${code.toString(16).padStart(4, '0')}`
  })
}

/**
 * JSON that steers no terminal: what `JSON.stringify` leaves as it is (DEL, the control characters of
 * eight bits, marks that turn the direction of text) is written as escapes, which mean the same.
 *
 * @param indent - spaces for each level; without it, all is on one line
 */
export function printableJson(document: unknown, indent?: number): string {
  const json = JSON.stringify(document, undefined, indent)
  return json.replaceAll(/[\u007f-\u009f\p{Cf}]/gu, (char) =>
    // JSON escapes units of UTF-16, of which some characters have two.
    char
      .split('')
      .map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
      .join(''),
  )
}
