/**
 * Paths to the members of a body that the comparison leaves out.
 *
 * - `sentAt`: a member of the outermost object, or a field of a form
 * - `params._meta`: a member of a member; in a form, the field `params[_meta]`
 * - `items[].clientTime`: a member of each element of an array; in a form, `items[][clientTime]`
 * - `[].id`: the same, where the body itself is an array
 *
 * A backslash before `.`, `[`, `]` or `\` makes it a part of the name: `a\.b` is the member `a.b`.
 *
 * @module
 */

import { OPTIONS_INVALID } from './error-table.ts'
import { RepriseError } from './errors.ts'

/** What is left out of one value of a body. */
export interface Exclusion {
  /** Whether the whole value is left out. */
  isWhole: boolean
  /** What is left out of the members of an object, by their names. */
  readonly members: Map<string, Exclusion>
  /** What is left out of each element of an array. */
  elements: Exclusion | undefined
}

/** A name, or `null` for each element of an array. */
type Step = string | null

/**
 * What all these paths leave out together; `undefined` where there is no path.
 *
 * @throws RepriseError `reprise-options-invalid` when a path is malformed
 */
export function exclusionOf(paths: readonly string[]): Exclusion | undefined {
  if (paths.length === 0) return undefined
  const outermost = nothingExcluded()
  for (const path of paths) {
    let at = outermost
    for (const step of stepsOf(path)) at = enter(at, step)
    at.isWhole = true
  }
  return outermost
}

/** The path of a member of the outermost object, whatever characters its name has. */
export function pathOfName(name: string): string {
  return name.replace(/[\\.[\]]/g, '\\$&')
}

/**
 * Whether a field of a form is left out. The brackets of its name count as frameworks read them:
 * `items[0][id]` and `items[][id]` are the member `id` of an element of `items`.
 */
export function isFieldExcluded(name: string, exclusion: Exclusion | undefined): boolean {
  if (exclusion === undefined) return false
  let at = exclusion.members.get(rootOf(name))
  for (const [, inner = ''] of name.matchAll(/\[([^\]]*)\]/g)) {
    if (at === undefined || at.isWhole) break
    at = (/^\d*$/.test(inner) ? at.elements : undefined) ?? at.members.get(inner)
  }
  return at?.isWhole === true
}

/** The name of a form's field without its brackets. */
export function rootOf(name: string): string {
  const bracket = name.indexOf('[')
  return bracket === -1 ? name : name.slice(0, bracket)
}

function nothingExcluded(): Exclusion {
  return { isWhole: false, members: new Map(), elements: undefined }
}

function enter(at: Exclusion, step: Step): Exclusion {
  if (step === null) {
    at.elements ??= nothingExcluded()
    return at.elements
  }
  const member = at.members.get(step) ?? nothingExcluded()
  at.members.set(step, member)
  return member
}

/** A name with its escapes, or `[]`; each but the first name has a dot before it. */
const STEP = /(?<dot>\.)?(?<name>(?:[^\\.[\]]|\\[\\.[\]])+)|(?<each>\[\])/y

function stepsOf(path: string): readonly Step[] {
  const steps: Step[] = []
  STEP.lastIndex = 0
  while (STEP.lastIndex < path.length || steps.length === 0) {
    const { dot, name, each } = STEP.exec(path)?.groups ?? {}
    const isFirst = steps.length === 0
    if (each === undefined && (name === undefined || isFirst === (dot !== undefined))) {
      throw malformed(path)
    }
    steps.push(name === undefined ? null : name.replace(/\\(.)/g, '$1'))
  }
  return steps
}

function malformed(path: string): RepriseError {
  return new RepriseError(
    OPTIONS_INVALID,
    `exclude has ${JSON.stringify(path)}, which is no path: write names joined by dots, and [] for the elements of an array, such as "sentAt", "params._meta" or "items[].clientTime"; a backslash before a dot or bracket makes it a part of the name`,
  )
}
