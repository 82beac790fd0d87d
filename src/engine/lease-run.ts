/**
 * Lease mode: claim, run the handler, store the answer. For effects that live outside the store.
 *
 * ```
 * claim ──granted──► handler ──answers──► finish ──► executed
 *   │                   │ throws             ├─ refused: another run took over ──► its answer
 *   └─refused─► result  └► forget / suspend  └─ fails: answer given, stored in the background
 * ```
 *
 * An answer that is not to be stored, or a throw, can come while the handler is known to go on. The
 * request gets it at once; the record stays in progress until the handler is over.
 *
 * @module
 */

import { LEASE_LOST } from '../core/error-table.ts'
import { RepriseError } from '../core/errors.ts'
import { isLater } from '../core/later.ts'
import type { Fate, Verdict } from '../core/policy.ts'
import type { Resource } from '../core/record.ts'
import type { CapturedResponse } from '../core/response.ts'
import { isGranted, lookAt, takeClaim } from './claiming.ts'
import type { Clock } from './clock.ts'
import type { Context } from './context.ts'
import { BegunFlight, EarlyResult, type Flight } from './flights.ts'
import type { Job } from './job.ts'
import { Lease, type LeaseKeeping } from './lease.ts'
import type { Burial } from './letters.ts'
import { type Persisted, persist } from './persist.ts'
import { type Executed, type RunResult, unstored } from './result.ts'
import { type Handler, LeaseRun } from './run.ts'
import type { Claim, Finish, Granted, Store } from './store.ts'

/** Flights of lease mode. */
export class LeaseRuns<Tx> {
  readonly #context: Context<Tx>

  constructor(context: Context<Tx>) {
    this.#context = context
  }

  /** Begins a flight: claims, and runs the handler if the claim is granted. */
  start(job: Job, handler: Handler): Flight {
    const context = this.#context
    const claiming = takeClaim(context, job)
    const early = new EarlyResult()
    const ended = claiming.then((result) => {
      return isGranted(result)
        ? this.#run(job, { granted: result, handler, early })
        : context.refused(job, result)
    })
    const startedAt = context.clock.now()
    return new BegunFlight({ job, begun: claiming, isGranted, ended, startedAt, early })
  }

  async #run(job: Job, { granted, handler, early }: Running): Promise<RunResult> {
    const { claim, outcome, recoveryPoint } = granted
    const context = this.#context
    job.trace.point = recoveryPoint
    if (granted.abandoned) context.emit('abandoned', job)
    if (outcome === 'recover') context.emit('recovering', job)
    const lease = new Lease(new Keeping(context, job, claim))
    const mark = job.options.marksEffect ? () => this.#mark(job, claim) : unmarked
    const run = new LeaseRun(job.options, { granted, lease, mark })
    try {
      const recovered =
        outcome === 'recover' ? await this.#recover(job, { granted, run }) : undefined
      if (recovered === 'refuse') {
        lease.settle()
        return await this.#refuse(job, claim)
      }
      const response = recovered ?? (await context.timed(job, 'handlerMs', () => handler(run)))
      const how = outcome === 'resume' ? 'resumed' : 'executed'
      const isPending = run.pending.isPending && (await run.pending.goesOn())
      if (isPending && run.verdict(response) !== 'store') {
        early.resolve(unstored({ outcome: how, response, fate: 'suspended' }))
        await run.pending.over()
      }
      // From here on only the end is written, and it is fenced.
      lease.settle()
      const verdict = run.verdict(response)
      const askedAt = context.clock.now()
      const ended = await (verdict === 'store'
        ? this.#finish(job, claim, { response, resource: run.resource })
        : this.#release(job, claim, verdict))
      return ended === 'done' && verdict === 'store'
        ? context.executed(job, { outcome: how, response, askedAt })
        : await this.#unstored(job, { outcome: how, response, verdict, ended })
    } catch (error) {
      if (await run.pending.goesOn()) {
        early.reject(error)
        await run.pending.over()
      }
      lease.settle()
      await this.#release(job, claim, verdictOnThrow(run, error))
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
    if (!isHeld) throw new RepriseError(LEASE_LOST)
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
    const crashed = { caller, operation, key, signal: run.signal }
    const found = await this.#context.timed(job, 'handlerMs', async () => afterCrash(crashed))
    run.keepOnFailure(false)
    // Whoever took over meanwhile decides; and an answer that is none decides nothing.
    if (run.signal.aborted || typeof found !== 'object' || found === null) {
      return found === 'rerun' && !run.signal.aborted ? undefined : 'refuse'
    }
    run.store()
    return found
  }

  /**
   * `recover()` could not tell: the record waits for a person, or another run has it. Where letters
   * are kept, it is put before that person here: the claim has withdrawn the letter that there was,
   * and who waits for a record to rest before burying it waits for as long as clients ask again.
   */
  async #refuse(job: Job, claim: Claim): Promise<RunResult> {
    const letters = this.#context.store.work?.letters
    const released =
      letters === undefined
        ? await this.#release(job, claim, 'suspend')
        : await persist(this.#context, job, () => letters.bury(claim, burialOf(job)))
    if (letters !== undefined && released === 'done') this.#context.emit('dead_letter', job)
    return (released === 'lost' ? await this.#winner(job) : undefined) ?? { outcome: 'unknown' }
  }

  /** The end of a run whose answer is not kept, or at least not known to be. */
  async #unstored(job: Job, { outcome, response, verdict, ended }: Ended): Promise<RunResult> {
    if (ended === 'done') return unstored({ outcome, response, fate: FATES[verdict] })
    const winner = ended === 'lost' ? await this.#winner(job) : undefined
    if (winner !== undefined) return winner
    // A release whose first reply was lost finds nothing left to release: it was carried out.
    const isReleased = ended === 'lost' && verdict !== 'store'
    if (verdict === 'store') this.#context.emit('not_stored', job)
    return unstored({ outcome, response, fate: isReleased ? FATES[verdict] : 'not_stored' })
  }

  /** Never throws. */
  #finish(job: Job, claim: Claim, answer: Answer): Promise<Persisted> {
    const context = this.#context
    try {
      const finish = context.finish(job, answer.response, answer)
      if (isLater(finish)) return this.#finishLater(job, claim, finish)
      return persist(context, job, () => context.store.finish(claim, finish))
    } catch (error) {
      return Promise.resolve(this.#unsealed(job, error))
    }
  }

  async #finishLater(job: Job, claim: Claim, later: PromiseLike<Finish>): Promise<Persisted> {
    const context = this.#context
    try {
      const finish = await later
      return await persist(context, job, () => context.store.finish(claim, finish))
    } catch (error) {
      return this.#unsealed(job, error)
    }
  }

  /** It could not be sealed; the effect is real all the same, and the client gets its answer. */
  #unsealed(job: Job, error: unknown): Persisted {
    this.#context.emit('store_error', job, error)
    return 'failed'
  }

  #release(job: Job, claim: Claim, verdict: Verdict): Promise<Persisted> {
    const { store } = this.#context
    const mode = verdict === 'forget' ? 'forget' : 'suspend'
    return persist(this.#context, job, () => store.release(claim, mode))
  }

  /** What the run that took over has to say, so that all who ask are told the same. */
  async #winner(job: Job): Promise<RunResult | undefined> {
    try {
      const found = await lookAt(this.#context, job)
      return found && (await this.#context.refused(job, found))
    } catch {
      return undefined
    }
  }
}

/** What a verdict comes to when it was carried out. */
const FATES: Readonly<Record<Verdict, Fate>> = {
  store: 'stored',
  forget: 'forgotten',
  suspend: 'suspended',
}

/** A run that was granted. */
interface Running {
  readonly granted: Granted
  readonly handler: Handler
  /** What the request gets before the run is over. */
  readonly early: EarlyResult
}

interface Ended {
  readonly outcome: Executed['outcome']
  readonly response: CapturedResponse
  readonly verdict: Verdict
  readonly ended: Persisted
}

interface Answer {
  readonly response: CapturedResponse
  readonly resource: Resource | null
}

/** What the lease of a run is kept with: every run has one, so it is one object and no functions. */
class Keeping<Tx> implements LeaseKeeping {
  readonly claim: Claim
  readonly #context: Context<Tx>
  readonly #job: Job

  constructor(context: Context<Tx>, job: Job, claim: Claim) {
    this.claim = claim
    this.#context = context
    this.#job = job
  }

  get store(): Store<Tx> {
    return this.#context.store
  }

  get clock(): Clock {
    return this.#context.clock
  }

  get leaseMs(): number {
    return this.#job.options.leaseMs
  }

  onError(error: unknown): void {
    this.#context.emit('store_error', this.#job, error)
  }

  onLost(): void {
    this.#context.emit('lease_lost', this.#job)
  }
}

async function unmarked(): Promise<void> {}

function burialOf({ retentionMs }: Job): Burial {
  const error = 'recover() could not tell what became of it'
  return { cause: 'outcome_unknown', error, retentionMs }
}

/** A policy that throws knows nothing of the effect: the record stays as after a crash. */
function verdictOnThrow(run: LeaseRun, error: unknown): Verdict {
  try {
    return run.verdict({ thrown: error })
  } catch {
    return 'suspend'
  }
}
