/**
 * What a world can have beyond the plain one. Each seed draws some of them for an operation of a shape of
 * its own (`plan.ts`); the run prints how often each came about.
 *
 * @module
 */

import type { Chance } from '../engine/chance.ts'

/** Every feature, in the order in which a seed draws them. */
export const FEATURES = [
  /** The provider denies a call that reaches it later. */
  'late calls',
  /** `reconcile` answers "unknown", garbage or with an error. */
  'odd answers',
  /** Calls and `reconcile` do not answer. */
  'hanging calls',
  /** Phases with a time limit do not answer. */
  'hanging phases',
  /** Phases without a time limit of their own do not answer. */
  'unlimited phases',
  /** The operation begins with a call. */
  'call first',
  /** Of two calls one is made, depending on the request. */
  'branches',
  /** A deploy gives points other names; `migrate` knows both. */
  'renames',
  /** A deploy puts a phase before the one that was the first. */
  'moved start',
  /** A deploy adds a phase or a call. */
  'additions',
  /** A deploy removes one. */
  'removals',
  /** A deploy changes the order. */
  'reorders',
  /** A deploy raises `version`. */
  'versions',
  /** A deploy accepts less input than the version before it. */
  'tightened input',
  /** The clock of the database steps, both ways. */
  'database clock',
  /** The wall clocks of processes step, both ways. */
  'process clocks',
  /** The operation keeps its records for another time than the engine. */
  'own retention',
  /** Operators decide without a look at the ledger. */
  'careless operators',
] as const

/** One of them. */
export type Feature = (typeof FEATURES)[number]

/**
 * Those that no seed draws, because today's code is known to fail with them. A phase without a time limit of
 * its own that hangs holds its key in its process for ten minutes, longer than clients here insist.
 */
export const SWITCHED_OFF: ReadonlySet<Feature> = new Set<Feature>(['unlimited phases'])

/** What a seed draws: of each, about a half. */
export function drawFeatures(chance: Chance, without: ReadonlySet<Feature>): ReadonlySet<Feature> {
  const drawn = FEATURES.filter(() => chance.happens(0.45))
  return new Set(drawn.filter((feature) => !without.has(feature)))
}
