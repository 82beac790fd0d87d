/**
 * An operation in phases, as adapters see it.
 *
 * @module
 */

import type { RunRequest } from './job.ts'
import type { Reprise } from './reprise.ts'
import type { RunResult } from './result.ts'

/** What is wrong with an input. */
export interface InvalidInput {
  readonly outcome: 'invalid'
  readonly issues: readonly { readonly path: string; readonly message: string }[]
}

/** Something that answers requests by itself. */
export interface Servable {
  /** Name of the operation. */
  readonly name: string
  /** The engine that it runs on, with its options. */
  readonly reprise: Reprise<unknown>
  /** Takes a request through all phases, or as far as they get. */
  serve(request: Omit<RunRequest, 'operation'>, input: unknown): Promise<RunResult | InvalidInput>
}
