/**
 * An operation in phases, as adapters see it.
 *
 * @module
 */

import type { ReadBody } from '../core/body-value.ts'
import type { CanonicalOptions } from '../core/json.ts'
import type { Occurrence } from '../core/problem.ts'
import type { RunRequest } from './job.ts'
import type { Reprise } from './reprise.ts'
import type { RunResult } from './result.ts'

/** The input is refused, before anything was started. */
export interface Rejected {
  readonly outcome: 'rejected'
  /** What the client is told. */
  readonly occurrence: Occurrence
}

/** Something that answers requests by itself. */
export interface Servable {
  /** Name of the operation. */
  readonly name: string
  /** The engine that it runs on, with its options. */
  readonly reprise: Reprise<unknown>
  /** Whether an answer is given once, and not kept. */
  readonly isSensitive: boolean
  /** What a body says, as the input. */
  read(body: ReadBody, options: CanonicalOptions): unknown
  /**
   * Takes a request through all phases, or as far as they get.
   *
   * @param read - gives the input; what it throws is thrown where no record stands for the request
   */
  serve(request: Omit<RunRequest, 'operation'>, read: () => unknown): Promise<RunResult | Rejected>
}
