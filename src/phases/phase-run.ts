/**
 * One phase in one transaction: the work, the recovery point, the history and the check of the fence
 * commit together, or not at all.
 *
 * @module
 */

import { COMMIT_UNKNOWN, LEASE_LOST } from '../core/error-table.ts'
import { isRepriseError, RepriseError } from '../core/errors.ts'
import { pause, within } from '../engine/bounded.ts'
import type { Clock } from '../engine/clock.ts'
import { stageOn, TransactionEnded } from '../engine/stage.ts'
import type { Isolation } from '../engine/transactions.ts'
import type { OpenPhase } from '../engine/work.ts'
import { jsonOf } from './envelope.ts'
import { type Care, careOf } from './foreign-call.ts'
import type { PhaseContext } from './node.ts'
import type { Passage } from './passage.ts'
import type { Advanced, Step } from './step.ts'

/** Where an operation stands. */
export interface Place {
  readonly point: string
  /** What the record has as its recovery point: not `point` where that was moved by `migrate`. */
  readonly storedPoint: string
  /**
   * How the call from the stored point is made, by the version that stored it; `null` for a phase, and
   * for a call that `migrate` said is settled.
   */
  readonly care: Care | null
  /** The points of the calls that the record has made: no version leads back to one of them. */
  readonly calls: readonly string[]
  readonly state: unknown
  readonly input: unknown
  /** Of the record, for the keys of foreign calls. */
  readonly token: string
  /** Whether an earlier run may have begun what starts here. */
  readonly isResumed: boolean
}

/** Another run has taken over. */
export class LeaseLost extends RepriseError {
  constructor() {
    super(LEASE_LOST)
  }
}

/** How the transaction of a phase is run. */
export interface Transacting {
  readonly isolation: Isolation | undefined
  readonly callKey: string | null
  /** How long the work may take, in milliseconds. */
  readonly timeoutMs?: number | undefined
}

/** A phase that did not answer in time. It may still run, but no longer reaches its transaction. */
class Late extends Error {
  constructor({ point, ms }: { point: string; ms: number }) {
    super(`The phase ${point} took more than ${ms} ms.`)
  }
}

/** How long a phase may take unless it says otherwise, in milliseconds. */
const PHASE_TIMEOUT_MS = 600_000

/** What is put in the place of an answer that did not come in time. */
const NONE: unique symbol = Symbol('none')

/** First pause before a transaction is run again, in milliseconds; doubles, with jitter. */
const RETRY_MS = 10

/** Runs phases of one record. */
export class PhaseRun<Tx> {
  readonly #passage: Passage<Tx>

  constructor(passage: Passage<Tx>) {
    this.#passage = passage
  }

  /** Runs `work` until its transaction commits, or is not worth another try. */
  async transact(
    place: Place,
    { isolation, callKey, timeoutMs: ms = PHASE_TIMEOUT_MS }: Transacting,
    work: (context: PhaseContext<unknown, unknown>) => Promise<Step>,
  ): Promise<Step> {
    const { context, blueprint, job } = this.#passage
    if (callKey === null) this.#passage.begin()
    for (let attempt = 1; ; attempt++) {
      const open = await this.#begin(isolation ?? blueprint.isolation, ms)
      try {
        const given = this.#context(place, open)
        const { point } = place
        const answer = () => inTime(context.clock, work(given), { point, ms })
        // Whatever of the phase still runs after its answer can no longer reach `tx`.
        const step = await context.timed(job, 'handlerMs', answer).finally(() => open.close())
        const taken = plain(step)
        await this.#commit(open, { step: taken, place, callKey })
        return taken
      } catch (error) {
        if (await this.#isCommitted(open, error)) {
          throw new TransactionEnded(`phase ${place.point}`)
        }
        const fault = this.#passage.work.phases.classify(error)
        if (fault === 'lost') throw new LeaseLost()
        if (fault !== 'retry' || attempt >= blueprint.attemptsMax) throw error
        context.emit('transaction_retry', job, error)
        await pause(context.clock, RETRY_MS * 2 ** Math.min(attempt, 8) * context.random.fraction())
      }
    }
  }

  /** Where the operation stands after a phase. */
  placeAfter(place: Place, { point, state }: Advanced<string, unknown>): Place {
    const work = this.#passage.blueprint.nodes.get(point)
    if (work === undefined) throw new TypeError(`There is no phase ${point}.`)
    const calls = callsAfter(place)
    if (calls.includes(point)) throw new TypeError(leadsBack(point))
    const named = { point, storedPoint: point, care: careOf(work), calls }
    return { ...place, ...named, state, isResumed: false }
  }

  async #begin(isolation: Isolation, timeoutMs: number): Promise<OpenPhase<Tx>> {
    const { context, job, work, claim } = this.#passage
    const { leaseMs, storeTimeoutMs } = job.options
    // Later than this side, so that the phase ends for one reason and not for either.
    const statementMs = timeoutMs + storeTimeoutMs
    let isAwaited = true
    const begin = async () => {
      const open = await work.phases.begin(claim, { isolation, leaseMs, statementMs })
      // It came after the caller had been told that the store is down: nobody will use it.
      if (!isAwaited) await open?.rollback()
      return open
    }
    try {
      const open = await context.call(job, begin)
      if (open === undefined) throw new LeaseLost()
      return open
    } finally {
      isAwaited = false
    }
  }

  async #commit(
    open: OpenPhase<Tx>,
    { step, place, callKey }: { step: Step; place: Place; callKey: string | null },
  ): Promise<void> {
    const { context, job, blueprint, envelope } = this.#passage
    const { leaseMs } = job.options
    switch (step?.kind) {
      case 'retry_later': {
        const isCommitted = await this.#undo(open)
        if (isCommitted === undefined) throw commitUnknown(undefined)
        if (isCommitted) throw new TransactionEnded()
        return
      }
      case 'advance': {
        const { point, state, care, calls } = this.placeAfter(place, step)
        const { version, graph } = blueprint
        const sealed = await envelope.sealState({ version, graph, care, state, calls })
        const next = { recoveryPoint: point, state: sealed, leaseMs }
        return this.#bounded(open.advance(next, this.#passage.attempt(place.point, callKey)))
      }
      case 'respond': {
        const finish = await context.finish(job, step.response, { resource: step.resource })
        return this.#bounded(open.finish(finish, this.#passage.attempt(place.point, callKey)))
      }
      default:
        throw new TypeError(
          `The phase ${place.point} must return advance(), respond() or retryLater().`,
        )
    }
  }

  /** One that never answers is as good as a broken connection: nobody knows whether it committed. */
  async #bounded(commit: Promise<void>): Promise<void> {
    const { context, job, work: store } = this.#passage
    const ms = job.options.storeTimeoutMs
    const work = commit.then(
      () => true,
      (error: unknown) => {
        throw store.phases.classify(error) === 'disconnected' ? commitUnknown(error) : error
      },
    )
    if (await within(context.clock, { ms, work, fallback: false })) return
    throw commitUnknown(new Error(`The commit took more than ${ms} ms.`))
  }

  /**
   * Undoes a phase that failed; whether its own code had committed it before. Throws where nobody can
   * say, since to run it again might do everything twice.
   */
  async #isCommitted(open: OpenPhase<Tx>, error: unknown): Promise<boolean> {
    const isCommitted = await this.#undo(open)
    if (error instanceof Late && isCommitted !== true) throw error
    if (error instanceof TransactionEnded) return true
    // The commit was ours: what became of it stands in the record.
    if (isCommitUnknown(error)) throw error
    if (isCommitted === undefined) throw commitUnknown(error)
    return isCommitted
  }

  /** Undoes what can be; whether the transaction is committed all the same, as far as that is known. */
  async #undo(open: OpenPhase<Tx>): Promise<boolean | undefined> {
    const isUndone = await this.#inTime(open.rollback().then(() => true))
    // A statement of the phase hangs: without this its connection would be lost to everybody.
    if (isUndone === undefined) open.destroy?.()
    return this.#inTime(open.isCommitted())
  }

  #inTime(work: Promise<boolean | undefined>): Promise<boolean | undefined> {
    const { context, job } = this.#passage
    return within(context.clock, { ms: job.options.storeTimeoutMs, work, fallback: undefined })
  }

  #context({ input }: Place, open: OpenPhase<Tx>): PhaseContext<unknown, unknown> {
    const { job, claim } = this.#passage
    const { caller, key } = job.identity
    return {
      ...{ tx: open.tx, input, caller, key, ip: job.origin.ip, fence: claim.fence },
      stage: stageOn(open),
    }
  }
}

/** The points of the calls that the record has made, once it has left this place. */
function callsAfter({ calls, storedPoint, point, care }: Place): readonly string[] {
  return care === null ? calls : [...new Set([...calls, storedPoint, point])]
}

/** Why a record does not go on to this point. */
export function leadsBack(point: string): string {
  return `The call from ${point} was made before, and no version leads back to it.`
}

function commitUnknown(cause: unknown): RepriseError {
  return new RepriseError(COMMIT_UNKNOWN, undefined, { cause })
}

function isCommitUnknown(error: unknown): boolean {
  return isRepriseError(error) && error.code === COMMIT_UNKNOWN.code
}

async function inTime(
  clock: Clock,
  work: Promise<Step>,
  { point, ms }: { point: string; ms: number },
): Promise<Step> {
  const step = await within<Step, typeof NONE>(clock, { ms, work, fallback: NONE })
  if (step === NONE) throw new Late({ point, ms })
  return step
}

/** The step with its state as whoever resumes it would be given it. */
function plain(step: Step): Step {
  if (step?.kind !== 'advance' || step.state === undefined) return step
  const text = jsonOf(`The state for ${step.point}`, step.state)
  return { ...step, state: JSON.parse(text) }
}
