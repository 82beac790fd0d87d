/**
 * The single mistakes that are planted: each changes one place of one file.
 *
 * @module
 */

import { codeChanges } from './code-changes.ts'
import { nodeAt, oneLine, placeOf, readSources, type Source } from './source.ts'
import { textChanges } from './text-changes.ts'

/** A change of the text of a file. */
export interface Change {
  /** What is done, in a few words. */
  readonly kind: string
  readonly start: number
  readonly end: number
  readonly replacement: string
}

/** A change with a name. */
export interface Mutant extends Change {
  /** File, place, kind and text: the same for as long as the line itself is the same. */
  readonly name: string
  readonly source: Source
  /** Whether a text of SQL or Lua is changed. */
  readonly isText: boolean
  /** Whether a later migration replaces the function of SQL that it is in, so that nothing runs it. */
  readonly isReplaced: boolean
}

/** The functions of SQL that a text defines, in order. */
export function definedIn(text: string): readonly string[] {
  const found = text.matchAll(/create (?:or replace )?function reprise\.(\w+)/g)
  return [...found].map(([, name = '']) => name)
}

/** Every mistake, in the order of the files. */
export function allMutants(sources: readonly Source[] = readSources()): readonly Mutant[] {
  // Migrations are sorted by their number.
  const lastIn = new Map<string, string>()
  for (const { path, text } of sources) {
    for (const name of definedIn(text)) lastIn.set(name, path)
  }
  return sources.flatMap((source) => mutantsOf(source, lastIn))
}

function mutantsOf(source: Source, lastIn: ReadonlyMap<string, string>): readonly Mutant[] {
  const code = [...codeChanges(source)].map((change) => ({ ...change, isText: false }))
  const texts = [...textChanges(source)].map((change) => ({ ...change, isText: true }))
  const seen = new Map<string, number>()
  return [...code, ...texts]
    .sort((a, b) => a.start - b.start || a.end - b.end)
    .map((change) => {
      const name = nameOf(source, change)
      const count = (seen.get(name) ?? 0) + 1
      seen.set(name, count)
      const around = change.isText
        ? definedIn(source.text.slice(0, change.start)).at(-1)
        : undefined
      const isReplaced = around !== undefined && lastIn.get(around) !== source.path
      return { ...change, source, isReplaced, name: count === 1 ? name : `${name} (${count})` }
    })
}

/** How much of a text stands in a name. */
const SHOWN_MAX = 90

/** Shorter texts are shown with their line. */
const WHOLE_MIN = 24

function nameOf({ path, text, tree }: Source, { kind, start, end, replacement }: Change): string {
  const place = placeOf(nodeAt(tree, start))
  const shown = oneLine(text.slice(start, end)).slice(0, SHOWN_MAX)
  const instead = oneLine(replacement).slice(0, SHOWN_MAX)
  const line = oneLine(lineAt(text, start)).slice(0, SHOWN_MAX)
  const around = shown.length < WHOLE_MIN ? ` in ${line}` : ''
  return `${path} ${place}: ${kind}: ${shown}${around} → ${instead}`.trim()
}

function lineAt(text: string, place: number): string {
  const start = text.lastIndexOf('\n', place - 1) + 1
  const end = text.indexOf('\n', place)
  return text.slice(start, end === -1 ? undefined : end)
}

/** The text of the mutant's file, with the mistake in it. */
export function withMistake({ source, start, end, replacement }: Mutant): string {
  return source.text.slice(0, start) + replacement + source.text.slice(end)
}
