/**
 * The rules together, and the exceptions from them.
 *
 * @module
 */

import { cycles, direction, extensions, packages, siblings } from './imports.ts'
import { parameters } from './parameters.ts'
import { lineOf, type Rule, type Source, type Violation } from './source.ts'
import { assertions, banned, documentation, leftovers, names, ports, sql } from './syntax.ts'

/** A breach that is allowed. */
export interface Exception extends Pick<Violation, 'rule' | 'path' | 'subject'> {
  readonly reason: string
}

/** The rules about single files, by what they demand. */
export const RULES: Readonly<Record<string, Rule>> = {
  'imports go one way': direction,
  'stores do not import each other': siblings,
  'no undeclared package at run time': packages,
  'relative imports end in .ts': extensions,
  'functions take at most 3 parameters': parameters,
  'time and chance come through the ports': ports,
  'no any, !, enum or default export': banned,
  'assertions have a comment': assertions,
  'exports have a doc comment': documentation,
  'SQL stands in queries and migrations': sql,
  'file names are kebab-case and say what is inside': names,
  'nothing is left for later or switched off': leftovers,
}

/** Every breach in the sources. */
export function violationsIn(sources: readonly Source[]): Violation[] {
  const perFile = sources.flatMap((source) =>
    Object.entries(RULES).flatMap(([rule, check]) =>
      [...check(source)].map(({ node, subject }) => ({
        ...{ rule, path: source.path, subject },
        line: lineOf(node, source.tree),
      })),
    ),
  )
  return [...perFile, ...cycles(sources)]
}

/** What breaches remain, and which exceptions excuse nothing any more. */
export function judge(violations: readonly Violation[], exceptions: readonly Exception[]) {
  const excuses = (exception: Exception, violation: Violation) =>
    exception.rule === violation.rule &&
    exception.path === violation.path &&
    exception.subject === violation.subject
  return {
    breaches: violations
      .filter((violation) => !exceptions.some((exception) => excuses(exception, violation)))
      .map(({ rule, path, line, subject }) => `src/${path}:${line} ${rule}: ${subject}`),
    stale: exceptions.filter(
      (exception) => !violations.some((violation) => excuses(exception, violation)),
    ),
  }
}
