/**
 * The handler's side of a run in lease mode: what it is given, and what it can say about its effect
 * and its answer.
 *
 * @module
 */

import { checkResource } from '../core/kept-text.ts'
import type { ResolvedRunOptions } from '../core/options.ts'
import {
  type Effect,
  type Ending,
  judge,
  type Verdict,
  type VerdictOverride,
} from '../core/policy.ts'
import type { Resource } from '../core/record.ts'
import type { CapturedResponse } from '../core/response.ts'
import type { Lease } from './lease.ts'
import { PendingWork } from './pending-work.ts'
import type { Granted } from './store.ts'

/** What a handler is given. */
export interface Run {
  /** Grows with each run for the same record; hand it to systems that can check it. */
  readonly fence: number
  /** Aborted when the lease is lost: another run may have taken over. */
  readonly signal: AbortSignal
  /**
   * Notes what the request makes, for look-ups later. Type and id have at most 1,024 characters, and no
   * NUL character.
   *
   * @throws TypeError
   */
  setResource(resource: Resource): void
  /**
   * Says that the effect begins. From here on a failure no longer frees the key. With the option
   * `marksEffect` this is stored before it resolves, so that it is known after a crash as well.
   */
  markEffect(): Promise<void>
  /** Has this answer stored, whatever the policy says. */
  store(): void
  /** Frees the key after this answer, whatever the policy says: nothing took effect. */
  release(): void
  /**
   * Says that the handler goes on until `work` settles, whatever it answers before. Until then no
   * answer that is not stored ends the run: the lease is renewed, and repetitions are told that the
   * request is in progress. The adapters say it of the promise that a handler returns.
   */
  holdUntil(work: PromiseLike<unknown>): void
}

/** Does what the request asks for. */
export type Handler = (run: Run) => Promise<CapturedResponse>

/** What a run is made of, besides its options. */
export interface LeaseRunParts {
  readonly granted: Granted
  readonly lease: Pick<Lease, 'signal'>
  /** Stores that the effect begins. */
  readonly mark: () => Promise<void>
}

/** The handler's side of one run. */
export class LeaseRun implements Run {
  readonly fence: number
  /** What the handler still does, whatever it has answered. */
  readonly pending: PendingWork = new PendingWork()
  resource: Resource | null = null
  readonly #lease: Pick<Lease, 'signal'>
  readonly #options: Pick<ResolvedRunOptions, 'policy' | 'marksEffect' | 'afterCrash'>
  readonly #mark: () => Promise<void>
  #effect: Effect
  #override: VerdictOverride | undefined
  /** Whether this run repeats one that may have taken effect; what it says holds for itself only. */
  readonly #repeats: boolean
  #keeps = false

  constructor(
    options: Pick<ResolvedRunOptions, 'policy' | 'marksEffect' | 'afterCrash'>,
    { granted, lease, mark }: LeaseRunParts,
  ) {
    this.fence = granted.claim.fence
    this.#repeats = granted.outcome === 'recover' && options.afterCrash === 'rerun'
    this.#lease = lease
    this.#options = options
    this.#mark = mark
    this.#effect = options.marksEffect ? 'none' : 'unknown'
  }

  get signal(): AbortSignal {
    return this.#lease.signal
  }

  setResource(resource: Resource): void {
    checkResource(resource)
    this.resource = resource
  }

  async markEffect(): Promise<void> {
    if (this.#effect === 'begun') return
    if (this.#options.marksEffect) await this.#mark()
    this.#effect = 'begun'
  }

  store(): void {
    this.#override = 'store'
  }

  release(): void {
    this.#override = 'forget'
  }

  holdUntil(work: PromiseLike<unknown>): void {
    this.pending.add(work)
  }

  /** Whether a failure now must leave the record as it is, whatever the policy says. */
  keepOnFailure(keep: boolean): void {
    this.#keeps = keep
  }

  /** What becomes of the record. */
  verdict(ending: Ending): Verdict {
    if (this.#keeps) return 'suspend'
    const verdict = this.#override ?? judge(this.#options.policy, ending, this.#effect)
    return verdict === 'forget' && this.#repeats ? 'suspend' : verdict
  }
}
