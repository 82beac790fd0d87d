/**
 * Drives one record from its recovery point to its end, or as far as it gets:
 *
 * ```
 *   phase ──advance──► recovery point ──► next phase
 *     │ respond ──► finished, for good
 *     │ retryLater, or thrown ──► suspended: the client or the completer takes it up again
 *     └ the fence has moved on ──► rolled back; the run that took over answers
 * ```
 *
 * Every await is a place where the process may die; what is committed by then is where the next run
 * starts.
 *
 * @module
 */

import { SEAL_BROKEN } from '../core/error-table.ts'
import { isRepriseError, RepriseError } from '../core/errors.ts'
import { STARTED } from '../core/record.ts'
import type { BurialCause } from '../engine/letters.ts'
import type { RunResult } from '../engine/result.ts'
import { TransactionEnded } from '../engine/stage.ts'
import type { Granted } from '../engine/store.ts'
import { CallRun, type Postponed } from './call-run.ts'
import { derivedKey } from './envelope.ts'
import type { CallWork } from './foreign-call.ts'
import { messageOf } from './message.ts'
import type { PhaseWork } from './node.ts'
import type { Blueprint, Moved, Passage } from './passage.ts'
import { LeaseLost, leadsBack, PhaseRun, type Place } from './phase-run.ts'
import type { Responded, RetryLater } from './step.ts'

/** What a driver starts from. */
export type Start = Pick<Granted, 'outcome' | 'recoveryPoint' | 'state' | 'input'>

/** One run over one record. */
export class Drive<Tx> {
  readonly #passage: Passage<Tx>
  readonly #phases: PhaseRun<Tx>

  constructor(passage: Passage<Tx>) {
    this.#passage = passage
    this.#phases = new PhaseRun(passage)
  }

  /** Runs phase after phase. What a phase throws is thrown, after the record was suspended. */
  async run(start: Start): Promise<RunResult> {
    let place: Place | undefined
    try {
      const located = await this.#locate(start)
      if ('misfit' in located) return await this.#leave(start, located)
      const isMoved = isMovedToCall(located, this.#passage.blueprint)
      place = isMoved ? await this.#storeMove(located) : located
      for (;;) {
        const ended = await this.#step(place)
        if (!('point' in ended)) return ended
        place = ended
      }
    } catch (error) {
      if (error instanceof LeaseLost) return this.#passage.winner()
      if (error instanceof TransactionEnded) {
        // Perhaps its rows are committed: to run it again might do everything twice.
        await this.bury('outcome_unknown', messageOf(error))
        throw error
      }
      const point = place?.point ?? start.recoveryPoint ?? STARTED
      const stop = { ending: 'threw', error: messageOf(error) } as const
      return (await this.#passage.stop(point, stop)) ?? (await this.#broken(error))
    }
  }

  /** Puts the record before a person. */
  async bury(cause: BurialCause, error: string | null): Promise<RunResult> {
    try {
      return await this.#bury(cause, error)
    } catch (thrown) {
      if (thrown instanceof LeaseLost) return this.#passage.winner()
      throw thrown
    }
  }

  /** Whether this version takes up what is stored; also when it can not be read, which no version can. */
  async understands(start: Start): Promise<boolean> {
    try {
      return !('misfit' in (await this.#locate(start)))
    } catch {
      return true
    }
  }

  /**
   * Stores that `migrate` has moved the record from a phase to a call, before the call is made. A node
   * of another version would otherwise run the stored phase and make the same call under another key.
   */
  async #storeMove(place: Place): Promise<Place> {
    const { point, state, storedPoint } = place
    const from = { ...place, point: storedPoint }
    const move = { kind: 'advance', point, state } as const
    await this.#phases.transact(from, { isolation: undefined, callKey: null }, async () => move)
    return this.#phases.placeAfter(from, move)
  }

  async #step(place: Place): Promise<Place | RunResult> {
    const { blueprint, job } = this.#passage
    job.trace.point = place.point
    const work = blueprint.nodes.get(place.point)
    if (work === undefined) throw new TypeError(`There is no phase ${place.point}.`)
    const outcome = await this.#perform(place, work)
    switch (outcome.kind) {
      case 'advance':
        return this.#phases.placeAfter(place, outcome)
      case 'respond':
        return this.#responded(outcome)
      case 'retry_later':
        return this.#postponed(place, outcome)
      case 'bury':
        return this.#bury('outcome_unknown', outcome.error)
    }
  }

  async #perform(place: Place, work: PhaseWork | CallWork) {
    if (work.kind === 'call') return new CallRun(this.#passage, this.#phases).run(place, work)
    const { isolation, timeoutMs } = work
    return this.#phases.transact(place, { isolation, timeoutMs, callKey: null }, (context) => {
      return work.run(context, place.state)
    })
  }

  /** The database failed, not the phase: what is committed stands, and the rest is tried again. */
  async #broken(error: unknown): Promise<RunResult> {
    const { work, blueprint } = this.#passage
    const postponed: RunResult = { outcome: 'postponed', retryAfterMs: blueprint.retryAfterMs }
    const isUnknown = isRepriseError(error) && error.code === 'idempotency-commit-unknown'
    if (isUnknown) return this.#passage.winner(postponed)
    if (work.phases.classify(error) === 'other') throw error
    return postponed
  }

  #responded({ response }: Responded): RunResult {
    const { context, job, outcome } = this.#passage
    return context.executed(job, { outcome, response, askedAt: job.startedAt })
  }

  async #postponed(
    { point }: Place,
    { afterMs, reason, callKey = null, ending = 'retry_later' }: RetryLater & Partial<Postponed>,
  ): Promise<RunResult> {
    const { blueprint } = this.#passage
    const retryAfterMs = afterMs ?? blueprint.retryAfterMs
    const stop = { ending, error: reason, callKey }
    return (await this.#passage.stop(point, stop)) ?? { outcome: 'postponed', retryAfterMs }
  }

  async #bury(cause: BurialCause, error: string | null): Promise<RunResult> {
    const { context, work, claim, job } = this.#passage
    const { retentionMs } = job
    const isBuried = await context.call(job, () => {
      return work.letters.bury(claim, { cause, error, retentionMs })
    })
    if (!isBuried) throw new LeaseLost()
    context.emit('dead_letter', job)
    if (this.#passage.outcome === 'executed') job.trace.isFirst = true
    return { outcome: 'unknown' }
  }

  /** Leaves the record to other versions of the operation; once none came in time, to a person. */
  async #leave({ recoveryPoint }: Start, { misfit }: Misfit): Promise<RunResult> {
    const { context, work, claim, job, blueprint } = this.#passage
    const attempt = this.#passage.attempt(recoveryPoint ?? STARTED, null)
    const leaving = { ...blueprint.edition, error: misfit }
    const left = await context.call(job, () => work.phases.leave(claim, attempt, leaving))
    if (left === 'lost') throw new LeaseLost()
    if (left === 'over') return this.#bury('graph_changed', misfit)
    return { outcome: 'postponed', retryAfterMs: blueprint.retryAfterMs }
  }

  /** Where to begin, unless what is stored is of a version that can not be taken up. */
  async #locate({ outcome, recoveryPoint, state, input }: Start): Promise<Place | Misfit> {
    const { envelope, blueprint } = this.#passage
    if (input === null) throw new RepriseError(SEAL_BROKEN, 'The record has no input')
    const stored = await envelope.openInput(input)
    const reached = state === null ? null : await envelope.openState(state)
    const { version, graph, care } = reached ?? stored
    const point = recoveryPoint ?? STARTED
    const place: Place = {
      ...{ point, storedPoint: point, care, calls: reached?.calls ?? [] },
      state: reached?.state,
      input: stored.input,
      token: stored.token,
      isResumed: outcome !== 'execute',
    }
    const work = blueprint.nodes.get(point)
    const isDropped = care !== null && work?.kind === 'phase'
    const isTakenUp = version === blueprint.version && work !== undefined && !isDropped
    const graphChanged = graph !== blueprint.graph
    if (isTakenUp && (!graphChanged || blueprint.migrate === undefined)) return place
    const here = `version ${blueprint.version} of ${blueprint.name}`
    const misfit = `The point ${point} of version ${version} is not understood by ${here}.`
    // What a newer version stored, this one can not know.
    if (version > blueprint.version) return { misfit }
    const call = care === null ? null : { key: derivedKey(place.token, point) }
    const { input: given, state: handed } = place
    const moved = await blueprint.migrate?.({
      ...{ version, graphChanged, point, state: handed, input: given, call },
    })
    return moved === undefined || moved === null ? { misfit } : this.#moved(place, moved)
  }

  /** Where `migrate` has moved a record to. A call that may have been made is never just dropped. */
  #moved(place: Place, { point, state, call }: Moved): Place | Misfit {
    const work = this.#passage.blueprint.nodes.get(point)
    const { storedPoint, calls } = place
    const from = `The call from ${storedPoint} may have been made`
    if (work === undefined) return { misfit: `migrate leads to ${point}, which is no phase.` }
    if (calls.includes(point)) return { misfit: leadsBack(point) }
    const moved = { ...place, point, state }
    if (place.care === null || (work.kind === 'call' && call === undefined)) return moved
    if (work.kind === 'call') {
      return { misfit: `${from}: a settled call is followed by a phase, not by the call ${point}.` }
    }
    if (call === 'settled') return { ...moved, care: null, calls: [...calls, storedPoint] }
    const word = `migrate moves it to the phase ${point}, and does not say that it is settled.`
    return { misfit: `${from}: ${word}` }
  }
}

/** Whether the record was stored at a phase, and `migrate` has moved it to a call. */
function isMovedToCall({ care, point }: Place, { nodes }: Blueprint): boolean {
  return care === null && nodes.get(point)?.kind === 'call'
}

/** Why this version of the operation does not take up what is stored. */
interface Misfit {
  readonly misfit: string
}
