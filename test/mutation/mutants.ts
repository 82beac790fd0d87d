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
}

/** Every mistake, in the order of the files. */
export function allMutants(sources: readonly Source[] = readSources()): readonly Mutant[] {
  return sources.flatMap(mutantsOf)
}

function mutantsOf(source: Source): readonly Mutant[] {
  const code = [...codeChanges(source)].map((change) => ({ ...change, isText: false }))
  const texts = [...textChanges(source)].map((change) => ({ ...change, isText: true }))
  const seen = new Map<string, number>()
  return [...code, ...texts]
    .sort((a, b) => a.start - b.start || a.end - b.end)
    .map((change) => {
      const name = nameOf(source, change)
      const count = (seen.get(name) ?? 0) + 1
      seen.set(name, count)
      return { ...change, source, name: count === 1 ? name : `${name} (${count})` }
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
