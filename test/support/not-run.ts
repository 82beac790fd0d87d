/**
 * What does not run on this machine is said aloud: a list at the end of the run names each suite
 * that was left out and why. In CI (`CI` is set) that fails the run, unless the limit is a declared
 * one.
 *
 * @module
 */

import { appendFileSync } from 'node:fs'
import { inject } from 'vitest'

/** A suite that does not run, and why. */
export interface NotRun {
  readonly suite: string
  /** What is missing here, in words. */
  readonly reason: string
  /**
   * Whether the limit is declared, such as a driver that needs a newer Node, so that CI passes.
   *
   * @default false
   */
  readonly allowedInCi?: boolean
}

/**
 * Puts a suite on the list. Returns `true`, to stand in a condition:
 * `describe.skipIf(isMissing && notRun({ … }))`.
 */
export function notRun({ suite, reason, allowedInCi = false }: NotRun): true {
  appendFileSync(inject('notRunFile'), `${JSON.stringify({ suite, reason, allowedInCi })}\n`)
  return true
}
