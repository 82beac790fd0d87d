/**
 * What the reference server gives to each of its five APIs.
 *
 * @module
 */

import type { Pool, PoolClient } from 'pg'
import type { Reprise } from 'reprise'

/** The named points at which `Demo-Fault: crash=…` ends the process. */
export type CrashPoint =
  | 'after-claim'
  | 'before-commit'
  | 'after-commit'
  | 'ride_created'
  | 'before-charge'
  | 'after-charge'
  | 'charge_created'

/** Faults of the request at hand, by its `Demo-Fault` header; without `REPRISE_DEMO` they do nothing. */
export interface Faults {
  /** Ends the process with SIGKILL if the request asks for it at this point. */
  reach(point: CrashPoint): void
  /** To be awaited before the effect: takes as long as `slow=…` says; throws on `fail-before`. */
  before(): Promise<void>
  /** To be called after the effect: throws on `fail-after`. */
  after(): void
}

/** What an API is made with. */
export interface ExampleContext {
  readonly pool: Pool
  readonly reprise: Reprise<PoolClient>
  readonly faults: Faults
  /** Where clients reach the server, without a slash at its end. */
  readonly url: string
  /**
   * Told of errors of which clients are only told that there was one.
   *
   * @default nobody is told
   */
  readonly report?: (error: unknown) => void
}
