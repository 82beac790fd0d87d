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
import type { Verdict } from '../core/policy.ts'
import { isFinished, type Resource, STARTED } from '../core/record.ts'
import type { CapturedResponse } from '../core/response.ts'
import { pause } from './bounded.ts'
import type { Context } from './context.ts'
import type { Flight } from './flights.ts'
import type { Job } from './job.ts'
import { Lease } from './lease.ts'
import { type RunResult, unstored } from './result.ts'
import { type Handler, LeaseRun } from './run.ts'
import type { Claim, ClaimResult, Finish, Granted } from './store.ts'

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
    const mark = () => this.#mark(job, claim)
    const run = new LeaseRun(job.options, { fence: claim.fence, signal: lease.signal, mark })
    try {
      const recovered = await this.#recover(job, { granted, run })
      if (recovered === 'refuse') return await this.#refuse(job, claim)
      const response = recovered ?? (await handler(run))
      return await this.#conclude(job, { claim, run, response, resumed: outcome === 'resume' })
    } catch (error) {
      await this.#giveUp(job, { claim, verdict: verdictOnThrow(run, error) })
      throw error
    } finally {
      lease.stop()
    }
  }

  /** Stores that the effect begins: from here on a crash leaves the outcome unknown. */
  async #mark(job: Job, claim: Claim): Promise<void> {
    const { store } = this.#context
    const step = { recoveryPoint: null, state: null, leaseMs: job.options.leaseMs }
    const isHeld = await this.#context.call(job, () => store.advance(claim, step))
    if (!isHeld) throw new RepriseError('reprise-lease-lost')
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
    if (verdict !== 'store') {
      await this.#giveUp(job, { claim, verdict })
      const fate = verdict === 'forget' ? 'forgotten' : 'suspended'
      return unstored({ outcome, response, fate })
    }

    const askedAt = context.clock.now()
    const stored = await this.#finish(job, claim, { response, resource: run.resource })
    if (stored === true) return context.executed(job, { outcome, response, askedAt })
    const winner = stored === 'failed' ? undefined : await this.#winner(job)
    return winner ?? unstored({ outcome, response, fate: 'not_stored' })
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

/** A policy that throws knows nothing of the effect: the record stays as after a crash. */
function verdictOnThrow(run: LeaseRun, error: unknown): Verdict {
  try {
    return run.verdict({ thrown: error })
  } catch {
    return 'suspend'
  }
}

/** Narrows the answer of a claim that was not refused. */
function granted(result: ClaimResult): Granted {
  if ('claim' in result) return result
  throw new TypeError(`A refusal (${result.outcome}) was taken for a grant.`)
}
