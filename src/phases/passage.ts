/**
 * One run over one record: what its parts share.
 *
 * @module
 */

import { lookAt } from '../engine/claiming.ts'
import type { Context } from '../engine/context.ts'
import type { Job } from '../engine/job.ts'
import { persist } from '../engine/persist.ts'
import type { RunResult } from '../engine/result.ts'
import type { Claim } from '../engine/store.ts'
import type { Isolation } from '../engine/transactions.ts'
import type { Actor, Attempt, Edition, Stop, Work } from '../engine/work.ts'
import { Envelope } from './envelope.ts'
import type { CallWork } from './foreign-call.ts'
import type { PhaseWork } from './node.ts'

/** What was stored by another version of the operation. */
export interface Stored {
  readonly version: number
  /** Whether there are other phases now, by name or kind. */
  readonly graphChanged: boolean
  readonly point: string
  readonly state: unknown
  readonly input: unknown
  /**
   * The foreign call that starts from this point, which an earlier run may have made under this key;
   * `null` where the point was a phase on the database.
   */
  readonly call: { readonly key: string } | null
}

/** Where a record goes on that another version stored. */
export interface Moved {
  /**
   * A phase of this version. A foreign call that the record was moved from is carried on by the call at
   * this point: with its key, and with what is known of its attempts.
   */
  readonly point: string
  readonly state?: unknown
  /**
   * Says that the call that the record is moved from took no effect and never will, or that its effect
   * counts: the point is a phase on the database, which knows nothing of it.
   *
   * @default a call is carried on by a call, and is never just dropped
   */
  readonly call?: 'settled'
}

/**
 * Where an operation of this version takes up what another version stored; `null` when it can not. Asked
 * by each run until one commits, and never about a version that is newer than this.
 */
export type Migrate = (stored: Stored) => Moved | null | Promise<Moved | null>

/** An operation with nothing left open. */
export interface Blueprint {
  readonly name: string
  readonly version: number
  /** Digest of the phases. */
  readonly graph: string
  readonly nodes: ReadonlyMap<string, PhaseWork | CallWork>
  /** What other nodes know this version by. */
  readonly edition: Edition
  readonly migrate: Migrate | undefined
  readonly isolation: Isolation
  /** How often a transaction is run before a serialization failure or deadlock is reported. */
  readonly attemptsMax: number
  /** What a client is told when a phase says "later", in milliseconds. */
  readonly retryAfterMs: number
}

/** What {@link Passage} is made of. */
export interface PassageParts<Tx> {
  readonly context: Context<Tx>
  readonly work: Work<Tx>
  readonly blueprint: Blueprint
  readonly job: Job
  readonly claim: Claim
  readonly actor: Actor
  /** How the result is called when the operation responds. */
  readonly outcome: 'executed' | 'resumed'
}

/** What the parts of one run share. */
export class Passage<Tx> {
  readonly context: Context<Tx>
  readonly work: Work<Tx>
  readonly blueprint: Blueprint
  readonly job: Job
  readonly claim: Claim
  readonly actor: Actor
  readonly outcome: 'executed' | 'resumed'
  readonly envelope: Envelope
  #beganAt: number

  constructor(parts: PassageParts<Tx>) {
    this.context = parts.context
    this.work = parts.work
    this.blueprint = parts.blueprint
    this.job = parts.job
    this.claim = parts.claim
    this.actor = parts.actor
    this.outcome = parts.outcome
    this.envelope = new Envelope(parts.job.options, parts.claim.id)
    this.#beganAt = parts.context.clock.now()
  }

  /** A phase begins. */
  begin(): void {
    this.#beganAt = this.context.clock.now()
  }

  /** The phase at hand, for the history. */
  attempt(point: string, callKey: string | null): Attempt {
    const tookMs = Math.max(0, this.context.clock.now() - this.#beganAt)
    return { point, actor: this.actor, tookMs, callKey }
  }

  /**
   * Gives the lease up, so that whoever is next need not wait for it to lapse. Where there is none to
   * give up, what the run that took over has to say: that counts, and not how this one ended. Never
   * throws.
   */
  async stop(
    point: string,
    { ending, error, callKey = null }: Stop & { readonly callKey?: string | null },
  ): Promise<RunResult | undefined> {
    const { context, job, work, claim } = this
    const attempt = this.attempt(point, callKey)
    const write = () => work.phases.stop(claim, attempt, { ending, error })
    return (await persist(context, job, write)) === 'lost' ? this.#successor() : undefined
  }

  /** What the run that took over has to say, so that all who ask are told the same. */
  async winner(otherwise?: RunResult): Promise<RunResult> {
    return (await this.#successor()) ?? otherwise ?? this.context.running(this.job, 0)
  }

  async #successor(): Promise<RunResult | undefined> {
    const { context, job } = this
    try {
      const found = await lookAt(context, job)
      return found && (await context.refused(job, found))
    } catch {
      return undefined
    }
  }
}
