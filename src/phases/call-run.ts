/**
 * A foreign call: never inside a transaction, with the lease kept alive meanwhile, and with what is
 * known about earlier attempts settled before another one.
 *
 * @module
 */

import type { Cancel } from '../engine/clock.ts'
import { Lease } from '../engine/lease.ts'
import type { Stop } from '../engine/work.ts'
import { derivedKey } from './envelope.ts'
import {
  CALL_TIMEOUT_MS,
  type CallContext,
  type CallWork,
  type Care,
  type Certainty,
  careOf,
  certaintyOf,
  type Reconciled,
  understood,
  unknown,
  willNotHappen,
} from './foreign-call.ts'
import { messageOf } from './message.ts'
import type { Passage } from './passage.ts'
import { LeaseLost, type PhaseRun, type Place } from './phase-run.ts'
import type { RetryLater, Step } from './step.ts'

/** Nobody can say what became of the call, and it must not be repeated. */
export interface Bury {
  readonly kind: 'bury'
  readonly error: string | null
}

/** The call is to be made now; whether the provider has denied the earlier ones. */
interface ToCall {
  readonly kind: 'call'
  readonly deniesEarlier: boolean
}

/** It is tried again later; the key where what was begun has ended, and as what. */
export type Postponed = RetryLater & Pick<Stop, 'ending'> & { readonly callKey: string | null }

/** How a call ended. */
type Answered = { readonly result: unknown } | { readonly error: unknown }

/** Why a person has to decide about a call: nobody heard of it, and the provider does not know of it. */
const UNHEARD = 'An earlier run made the call and did not hear of it'
const ON_ITS_WAY = 'The provider does not know of an earlier call, which may still be on its way'

const LATER: RetryLater = { kind: 'retry_later', afterMs: null, reason: null }

/** Makes one foreign call of one record. */
export class CallRun<Tx> {
  readonly #passage: Passage<Tx>
  readonly #phases: PhaseRun<Tx>

  constructor(passage: Passage<Tx>, phases: PhaseRun<Tx>) {
    this.#passage = passage
    this.#phases = phases
  }

  /** Makes the call, or learns what became of the one before, and keeps the result. */
  async run(place: Place, work: CallWork): Promise<Step | Postponed | Bury> {
    const { context, job, work: store, claim } = this.#passage
    this.#passage.begin()
    const key = derivedKey(place.token, place.storedPoint)
    const call: Calling = { place, work, key, care: careWith(place, work) }
    const earlier = await this.#settleEarlier(call)
    if (earlier.kind !== 'call') return earlier
    if (call.care !== 'unnoted') {
      const attempt = this.#passage.attempt(place.point, call.key)
      const isHeld = await context.call(job, () => store.phases.beginCall(claim, attempt, earlier))
      if (!isHeld) throw new LeaseLost()
    }
    const answered = await this.#held(call, (given) => work.call(given, place.state))
    return 'result' in answered ? this.#done(call, answered.result) : this.#failed(call, answered)
  }

  /** An earlier run may have made this call. */
  async #settleEarlier(call: Calling): Promise<Step | Bury | ToCall> {
    const { context, job, work: store, claim } = this.#passage
    const { place, key, care } = call
    const toCall: ToCall = { kind: 'call', deniesEarlier: false }
    if (care === 'unnoted' || !place.isResumed) return toCall
    // Nobody had to write down a call that was stored as one without notes: it may have been made.
    if (place.care !== 'unnoted') {
      const begun = await context.call(job, () => store.phases.begunCall(claim.id, key))
      if (begun === undefined) return toCall
    }
    const found = await this.#ask(call)
    if (found.certainty === 'happened') return this.#done(call, found.result)
    const isDenied = found.certainty !== 'unknown'
    const mayRepeat = care !== 'never' || found.certainty === 'will_not_happen'
    if (mayRepeat) return { kind: 'call', deniesEarlier: isDenied }
    return { kind: 'bury', error: isDenied ? ON_ITS_WAY : UNHEARD }
  }

  async #done(call: Calling, result: unknown): Promise<Step> {
    const { place, work, key } = call
    const { isolation } = work
    return this.#phases.transact(place, { isolation, callKey: key }, async (context) => {
      return work.done({ ...context, result }, place.state)
    })
  }

  async #failed(call: Calling, { error }: { error: unknown }): Promise<Step | Postponed | Bury> {
    const { place, work, key, care } = call
    const { classify = certaintyOf } = work
    const found = isRefusal(classify(error)) ? willNotHappen : await this.#ask(call)
    if (found.certainty === 'happened') return this.#done(call, found.result)

    const { isolation } = work
    const step =
      work.failed === undefined
        ? LATER
        : await this.#phases.transact(place, { isolation, callKey: key }, async (context) => {
            return work.failed?.(error, place.state, context) ?? LATER
          })
    if (step.kind !== 'retry_later') return step
    const { certainty } = found
    const isNever = care === 'never'
    if (certainty === 'unknown' && isNever) return { kind: 'bury', error: messageOf(error) }
    // A call that was noted and may have happened stays noted: the next run asks about it first.
    const isOpen = care !== 'unnoted' && certainty === 'unknown'
    const reason = step.reason ?? messageOf(error)
    const ending = certainty === 'did_not_happen' ? 'denied' : 'retry_later'
    return { ...step, reason, ending, callKey: isOpen ? null : key }
  }

  /** What the provider says now: a call that it does not know of may yet reach it. */
  async #ask(call: Calling): Promise<Reconciled<unknown>> {
    const { reconcile } = call.work
    if (reconcile === undefined) return unknown
    const answered = await this.#held(call, (given) => reconcile(given, call.place.state))
    return 'error' in answered ? unknown : understood(answered.result)
  }

  /** Keeps the lease while somebody else works, for as long as the call may take. */
  async #held(
    { place, work, key }: Calling,
    ask: (context: CallContext<unknown>) => Promise<unknown>,
  ): Promise<Answered> {
    const { context, job, claim } = this.#passage
    const { clock, store } = context
    const { leaseMs } = job.options
    const lease = new Lease({
      ...{ store, clock, claim, leaseMs },
      onError: (error) => context.emit('store_error', job, error),
    })
    const timeoutMs = work.timeoutMs ?? CALL_TIMEOUT_MS
    const end = new AbortController()
    let cancel: Cancel = () => {}
    const timeout = new Promise<Answered>((resolve) => {
      cancel = clock.after(timeoutMs, () => {
        const error = new Error(`The call from ${place.point} took more than ${timeoutMs} ms.`)
        end.abort(error)
        resolve({ error })
      })
    })
    const { caller } = job.identity
    const signal = AbortSignal.any([lease.signal, end.signal])
    const { ip } = job.origin
    try {
      const given = { key, signal, input: place.input, caller, ip, fence: claim.fence }
      return await context.timed(job, 'handlerMs', () => {
        return Promise.race([timeout, answer(() => ask(given))])
      })
    } finally {
      cancel()
      lease.stop()
    }
  }
}

interface Calling {
  readonly place: Place
  readonly work: CallWork
  readonly key: string
  readonly care: Care
}

/**
 * How a call is made, by the version that stored its point and by this one: the stricter of the two,
 * because both may be running.
 */
function careWith({ care }: Place, work: CallWork): Care {
  const own = careOf(work)
  if (care === 'never' || own === 'never') return 'never'
  return care === 'unnoted' && own === 'unnoted' ? 'unnoted' : 'noted'
}

/** Whether an error says that the call was refused, or never sent. */
function isRefusal(certainty: Certainty): boolean {
  return certainty === 'did_not_happen' || certainty === 'will_not_happen'
}

async function answer(ask: () => Promise<unknown>): Promise<Answered> {
  try {
    return { result: await ask() }
  } catch (error) {
    return { error }
  }
}
