/**
 * Lease mode: claim, run the handler, store the answer. For effects that live outside the store.
 *
 * ```
 * claim ──granted──► handler ──answers──► finish ──► executed
 *   │                   │ throws             ├─ refused: another run took over ──► its answer
 *   └─refused─► result  └► forget / suspend  └─ fails: answer given, stored in the background
 * ```
 *
 * @module
 */

import { RepriseError } from '../core/errors.ts'
import {
  type Effect,
  type Ending,
  judge,
  type Verdict,
  type VerdictOverride,
} from '../core/policy.ts'
import { isFinished, type Resource, STARTED } from '../core/record.ts'
import type { CapturedResponse } from '../core/response.ts'
import { pause } from './bounded.ts'
import type { Context } from './context.ts'
import type { Flight } from './flights.ts'
import type { Job } from './job.ts'
import { Lease } from './lease.ts'
import type { Executed, RunResult } from './result.ts'
import type { Claim, ClaimResult, Finish, Granted } from './store.ts'

/** What a handler is given. */
export interface Run {
  /** Grows with each run for the same record; hand it to systems that can check it. */
  readonly fence: number
  /** Aborted when the lease is lost: another run may have taken over. */
  readonly signal: AbortSignal
  /** Notes what the request makes, for look-ups later. */
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
}

/** Does what the request asks for. */
export type Handler = (run: Run) => Promise<CapturedResponse>

/** A finish that fails is tried again at once, then in the background, a little later each time. */
const FINISH_ATTEMPTS_MAX = 2
const FINISH_RETRY_MS = 100

/** Flights of lease mode. */
export class LeaseRuns<Tx> {
  readonly #context: Context<Tx>

  constructor(context: Context<Tx>) {
    this.#context = context
  }

  /** Begins a flight: claims, and runs the handler if the claim is granted. */
  start(job: Job, handler: Handler): Flight {
    const context = this.#context
    const claiming = this.#claim(job)
    const decided = claiming.then((result) => {
      return 'claim' in result ? undefined : context.refused(job, result)
    })
    const ended = Promise.all([claiming, decided]).then(([result, refusal]) => {
      return refusal ?? this.#run(job, granted(result), handler)
    })
    return { job, decided, ended, startedAt: context.clock.now() }
  }

  /** Claims; sent again once under the same owner, so that a lost reply does not lose the claim. */
  async #claim(job: Job): Promise<ClaimResult> {
    const { store, clock } = this.#context
    const { options, fingerprints, ...rest } = job
    const { leaseMs, storeTimeoutMs, afterCrash, marksEffect } = options
    const request = {
      ...job.identity,
      ...{ fingerprint: rest.fingerprint, fingerprintsAccepted: fingerprints, owner: rest.owner },
      ...{ leaseMs, retentionMs: rest.retentionMs, origin: rest.origin, input: null },
      recoveryPoint: marksEffect ? STARTED : null,
      takesUnknown: afterCrash !== 'refuse',
    }
    const ask = async () => {
      await store.ready()
      return store.claim(request)
    }
    const askedAt = clock.now()
    try {
      return await this.#context.call(job, ask)
    } catch (error) {
      // Also bounded as a whole: a store that hangs is not asked twice.
      if (clock.now() - askedAt < storeTimeoutMs / 2) {
        try {
          return await this.#context.call(job, ask)
        } catch {
          // The first failure says more than the second.
        }
      }
      this.#context.background(this.#disown(job))
      throw error
    }
  }

  /** A claim that failed here may have taken effect there: without this it blocks the key. */
  async #disown(job: Job): Promise<void> {
    const { store } = this.#context
    for (let attempt = 1; attempt <= FINISH_ATTEMPTS_MAX; attempt++) {
      await pause(this.#context.clock, FINISH_RETRY_MS * 2 ** attempt)
      try {
        const found = await this.#context.call(job, () => store.find(job.identity.id))
        if (found?.record.owner !== job.owner) continue
        const { id, fence } = found.record
        const claim = { id, owner: job.owner, fence }
        // What was taken over from an earlier run keeps its history; what was made here has none.
        const mode = fence === 1 ? 'forget' : 'suspend'
        await this.#context.call(job, () => store.release(claim, mode))
        return
      } catch {
        // Told to the listener by `call`; the lease is the last resort.
      }
    }
  }

  async #run(job: Job, granted: Granted, handler: Handler): Promise<RunResult> {
    const { claim, outcome } = granted
    const context = this.#context
    if (granted.abandoned) context.emit('abandoned', job)
    if (outcome === 'recover') context.emit('recovering', job)
    const lease = new Lease({
      ...{ store: context.store, clock: context.clock, claim, leaseMs: job.options.leaseMs },
      onError: (error) => context.emit('store_error', job, error),
    })
    lease.signal.addEventListener('abort', () => context.emit('lease_lost', job))
    const run = new LeaseRun(context, { job, claim, signal: lease.signal })
    try {
      const recovered = await this.#recover(job, { granted, run })
      if (recovered === 'refuse') return await this.#refuse(job, claim)
      const response = recovered ?? (await handler(run))
      return await this.#conclude(job, { claim, run, response, resumed: outcome === 'resume' })
    } catch (error) {
      await this.#giveUp(job, { claim, verdict: run.verdict({ thrown: error }) })
      throw error
    } finally {
      lease.stop()
    }
  }

  /** Has `recover()` say what became of a run that stopped; `undefined` when the handler is to run. */
  async #recover(
    job: Job,
    { granted, run }: { granted: Granted; run: LeaseRun },
  ): Promise<CapturedResponse | 'refuse' | undefined> {
    const { afterCrash } = job.options
    if (granted.outcome !== 'recover' || typeof afterCrash !== 'function') return undefined

    const { caller, operation, key } = job.identity
    // Until it has answered, the earlier run may have taken effect: no failure frees the key.
    run.keepOnFailure(true)
    const found = await afterCrash({ caller, operation, key, signal: run.signal })
    run.keepOnFailure(false)
    if (found === 'rerun') return undefined
    if (found !== 'refuse') run.store()
    return found
  }

  /** `recover()` could not tell: the record waits for a person. */
  async #refuse(job: Job, claim: Claim): Promise<RunResult> {
    await this.#giveUp(job, { claim, verdict: 'suspend' })
    return { outcome: 'unknown' }
  }

  async #conclude(job: Job, { claim, run, response, resumed }: Concluding): Promise<RunResult> {
    const context = this.#context
    const outcome = resumed ? 'resumed' : 'executed'
    const verdict = run.verdict(response)
    const unstored: Executed = { outcome, response, stored: false, expiresInMs: null }
    if (verdict !== 'store') {
      await this.#giveUp(job, { claim, verdict })
      return unstored
    }

    const askedAt = context.clock.now()
    const stored = await this.#finish(job, claim, { response, resource: run.resource })
    if (stored === true) return context.executed(job, { outcome, response, askedAt })
    if (stored === 'failed') return unstored
    return (await this.#winner(job)) ?? unstored
  }

  /** `false` when another run has taken over; `'failed'` when the store could not be reached. */
  async #finish(
    job: Job,
    claim: Claim,
    answer: { response: CapturedResponse; resource: Resource | null },
  ): Promise<boolean | 'failed'> {
    const context = this.#context
    try {
      const finish = await context.finish(job, answer.response, { resource: answer.resource })
      for (let attempt = 1; attempt <= FINISH_ATTEMPTS_MAX; attempt++) {
        try {
          return await context.call(job, () => context.store.finish(claim, finish))
        } catch {
          // Told to the listener by `call`.
        }
      }
      context.background(this.#finishLater(job, claim, finish))
    } catch (error) {
      context.emit('store_error', job, error)
    }
    context.emit('not_stored', job)
    return 'failed'
  }

  /** The effect is real and the client has its answer: goes on trying for as long as the lease. */
  async #finishLater(job: Job, claim: Claim, finish: Finish): Promise<void> {
    const { clock, store } = this.#context
    const until = clock.now() + job.options.leaseMs
    for (let ms = FINISH_RETRY_MS; clock.now() < until; ms *= 2) {
      await pause(clock, Math.min(ms, until - clock.now()))
      try {
        await this.#context.call(job, () => store.finish(claim, finish))
        return
      } catch {
        // Told to the listener by `call`.
      }
    }
  }

  /** The answer of the run that took over, so that all who ask are told the same. */
  async #winner(job: Job): Promise<RunResult | undefined> {
    const context = this.#context
    const { id } = job.identity
    try {
      const found = await context.call(job, () => context.store.find(id))
      if (found === undefined || !job.fingerprints.includes(found.record.fingerprint))
        return undefined
      if (!isFinished(found.record)) return context.running(job, 0)
      const response = await context.sealer(job).openResponse(id, found.record.response)
      const { requestId } = found.record.origin
      const expiresInMs = found.record.expiresAt - found.record.finishedAt
      return { outcome: 'replayed', response, requestId, expiresInMs }
    } catch {
      return undefined
    }
  }

  async #giveUp(job: Job, { claim, verdict }: { claim: Claim; verdict: Verdict }): Promise<void> {
    const mode = verdict === 'forget' ? 'forget' : 'suspend'
    try {
      await this.#context.call(job, () => this.#context.store.release(claim, mode))
    } catch {
      // Told to the listener by `call`; the lease lapses on its own.
    }
  }
}

interface Concluding {
  readonly claim: Claim
  readonly run: LeaseRun
  readonly response: CapturedResponse
  readonly resumed: boolean
}

/** Narrows the answer of a claim that was not refused. */
function granted(result: ClaimResult): Granted {
  if ('claim' in result) return result
  throw new TypeError(`A refusal (${result.outcome}) was taken for a grant.`)
}

/** The handler's side of one run. */
class LeaseRun implements Run {
  readonly fence: number
  readonly signal: AbortSignal
  resource: Resource | null = null
  readonly #mark: () => Promise<void>
  readonly #job: Job
  #effect: Effect
  #override: VerdictOverride | undefined
  #keeps = false

  constructor(
    context: Pick<Context<never>, 'call'> & { store: Pick<Context<never>['store'], 'advance'> },
    { job, claim, signal }: { job: Job; claim: Claim; signal: AbortSignal },
  ) {
    this.fence = claim.fence
    this.signal = signal
    this.#job = job
    this.#effect = job.options.marksEffect ? 'none' : 'unknown'
    const step = { recoveryPoint: null, state: null, leaseMs: job.options.leaseMs }
    this.#mark = async () => {
      const held = await context.call(job, () => context.store.advance(claim, step))
      if (!held) throw new RepriseError('reprise-lease-lost')
    }
  }

  setResource(resource: Resource): void {
    this.resource = resource
  }

  async markEffect(): Promise<void> {
    if (this.#effect === 'begun') return
    if (this.#job.options.marksEffect) await this.#mark()
    this.#effect = 'begun'
  }

  store(): void {
    this.#override = 'store'
  }

  release(): void {
    this.#override = 'forget'
  }

  /** Whether a failure now must leave the record as it is, whatever the policy says. */
  keepOnFailure(keep: boolean): void {
    this.#keeps = keep
  }

  /** What becomes of the record. */
  verdict(ending: Ending): Verdict {
    if (this.#keeps) return 'suspend'
    return this.#override ?? judge(this.#job.options.policy, ending, this.#effect)
  }
}
