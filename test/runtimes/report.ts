/**
 * What a runtime under test is told, and what it tells.
 *
 * @module
 */

/** What a runtime is to do. */
export interface Job {
  /** What `inject` answers inside. */
  readonly provided: Readonly<Record<string, unknown>>
  /** By file: regular expressions for the full names of tests that are not run. */
  readonly left: Readonly<Record<string, readonly string[]>>
}

/** One line of what it tells. */
export type Line =
  | {
      readonly kind: 'test'
      readonly file: string
      readonly name: string
      readonly result: 'passed' | 'failed' | 'skipped' | 'left'
      readonly error?: string
    }
  /** All tests of a file have been told: how many there are, and how long they took. */
  | { readonly kind: 'file'; readonly file: string; readonly tests: number; readonly ms: number }
  | { readonly kind: 'end'; readonly files: number }
