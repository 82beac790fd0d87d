/**
 * What an operator changes: everything is audited, conflicts are told, and an order that is sent twice
 * has one effect.
 *
 * @module
 */

import type { Ruled } from '../engine/desk.ts'
import type { DeadLetter, Settlement } from '../engine/letters.ts'
import { sealResponse } from '../engine/seal.ts'
import { respond } from '../phases/step.ts'
import type {
  Admin,
  LetterSettlement,
  Order,
  OrderResult,
  Payload,
  RequestAction,
  RequestState,
  WorkerSummary,
} from './admin.ts'
import { entryOf, queryInvalid } from './check.ts'
import type { AdminParts } from './parts.ts'
import { payloadOf } from './payload.ts'
import { ACTIONS, ruleOrder } from './rules.ts'
import { WORKERS } from './workers.ts'

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i

/** The changing half of the admin API. */
export class Changes
  implements Pick<Admin, 'act' | 'settle' | 'retryJob' | 'steerWorker' | 'reveal'>
{
  readonly #parts: AdminParts

  constructor(parts: AdminParts) {
    this.#parts = parts
  }

  act(action: RequestAction, id: string, order: Order): Promise<OrderResult> {
    return this.actOn(action, { id, isConfirmed: false }, order)
  }

  /** The same for a batch, where the danger is confirmed once for all. */
  async actOn(
    action: RequestAction,
    { id, isConfirmed }: { readonly id: string; readonly isConfirmed: boolean },
    order: Order,
  ): Promise<OrderResult> {
    checkAction(action)
    const entry = entryOf(action, `request ${id}`, order)
    const { desk, context, settings } = this.#parts
    await context.store.ready()
    const { hasCompleter } = desk
    let state: RequestState = 'expired'
    let cached: string | undefined
    const ruled = await desk.act(settings.view, { id, entry }, (seen) => {
      state = seen?.row.state ?? state
      const ruling = ruleOrder(action, { order, hasCompleter, isConfirmed }, seen)
      if (ruling.change === 'expire') cached = `${id} ${seen?.row.fingerprint}`
      return ruling
    })
    if (cached !== undefined) context.cache?.forget(cached)
    return resultOf(ruled, state)
  }

  async settle(letter: string, settlement: LetterSettlement, order: Order): Promise<OrderResult> {
    const { way } = settlement
    if (!(way in SETTLED)) throw queryInvalid(`There is no way ${way} to settle a dead letter`)
    const entry = entryOf(`settle ${way}`, `dead letter ${letter}`, order)
    const { desk, context, settings } = this.#parts
    await context.store.ready()
    const found = await desk.letter(settings.view, letter)
    const change = found && (await this.#settlement(found, settlement, order))
    const on = { letter: found?.letter ?? '0', entry }
    const ruled = await desk.settle(settings.view, on, (seen) => {
      if (seen === undefined || change === undefined) {
        return { outcome: 'not_found', text: 'There is no such dead letter.', change: null }
      }
      if (seen.settlement !== null) {
        const text = `It was settled before, by ${seen.settlement.author}: ${seen.settlement.way}.`
        return { outcome: 'refused', text: text.replace('_', ' '), change: null }
      }
      return { outcome: 'done', text: SETTLED[way], change }
    })
    return resultOf(ruled)
  }

  async retryJob(jobId: string, order: Order): Promise<OrderResult> {
    const entry = entryOf('retry', `job ${jobId}`, order)
    const { desk, context, settings } = this.#parts
    await context.store.ready()
    if (!UUID.test(jobId)) return { outcome: 'not_found' }
    const ruled = await desk.retryJob(settings.view, { jobId, entry }, (job) => {
      if (job === undefined) {
        return { outcome: 'not_found', text: 'No such job was set aside.', change: null }
      }
      if (job.isStagedAgain) {
        const text = 'The same job was staged again and waits; this one stays aside.'
        return { outcome: 'refused', text, change: null }
      }
      const text = `The job ${job.name} is handed over again, with all its tries.`
      return { outcome: 'done', text, change: 'retry' }
    })
    return resultOf(ruled)
  }

  async steerWorker(
    worker: WorkerSummary['worker'],
    way: 'pause' | 'resume' | 'run_once',
    order: Order,
  ): Promise<OrderResult> {
    if (!WORKERS.includes(worker)) throw queryInvalid(`There is no worker ${worker}`)
    if (!(way in STEERED)) throw queryInvalid(`There is no way ${way} to steer a worker`)
    const entry = entryOf(way, `worker ${worker}`, order)
    const { desk, context } = this.#parts
    await context.store.ready()
    const ruled = await desk.steer({ worker, entry }, ({ isPaused }) => {
      if (way !== 'run_once' && isPaused === (way === 'pause')) {
        const text = `The ${worker} is ${isPaused ? 'paused' : 'not paused'} already.`
        return { outcome: 'refused', text, change: null }
      }
      return { outcome: 'done', text: `The ${worker} ${STEERED[way]}`, change: way }
    })
    return resultOf(ruled)
  }

  async reveal(id: string, order: Order): Promise<Payload | undefined> {
    const entry = entryOf('reveal', `request ${id}`, order)
    const { desk, context, reprise, settings } = this.#parts
    await context.store.ready()
    const found = await context.store.find(id)
    const { callers } = settings.view
    if (found === undefined || !(callers?.includes(found.record.caller) ?? true)) {
      await desk.note(entry, { outcome: 'not_found', text: 'There is no such request.' }, null)
      return undefined
    }
    const ruled = { outcome: 'done', text: 'Input, state and answer were shown.' } as const
    // Audited before anything is given out.
    await desk.note(entry, ruled, found.record.caller)
    return payloadOf(reprise.options, found.record, settings.redact)
  }

  async #settlement(
    { id, caller }: DeadLetter,
    settlement: LetterSettlement,
    { author, reason }: Order,
  ): Promise<Settlement> {
    const { options } = this.#parts.reprise
    const retentionMs = options.retentionMs(caller)
    const decided = { way: settlement.way, retentionMs, author, note: reason }
    if (settlement.way === 'resume') return { ...decided, finish: null }
    const { response, resource } = answerOf(settlement)
    const sealed = await sealResponse(options, id, response)
    return { ...decided, finish: { response: sealed, resource, retentionMs } }
  }
}

function answerOf({ status, body }: Exclude<LetterSettlement, { way: 'resume' }>) {
  try {
    return respond(status, body)
  } catch {
    throw queryInvalid('An answer has a status from 200 to 599 and a body that JSON can say')
  }
}

/** @throws RepriseError `reprise-query-invalid` */
export function checkAction(action: RequestAction): void {
  if (!ACTIONS.includes(action)) throw queryInvalid(`There is no action ${action}`)
}

function resultOf({ outcome, text, isRepeated }: Ruled, state?: RequestState): OrderResult {
  if (isRepeated) return { outcome: 'repeated', text }
  if (outcome === 'not_found') return { outcome }
  if (outcome === 'conflict') return { outcome, text, state: state ?? 'expired' }
  return { outcome, text }
}

const SETTLED: Readonly<Record<LetterSettlement['way'], string>> = {
  happened: 'Every further request with this key gets this answer.',
  give_up: 'Every further request with this key gets this error.',
  resume: 'It is taken up where it stopped; where that is not known, the key is free.',
}

const STEERED: Readonly<Record<'pause' | 'resume' | 'run_once', string>> = {
  pause: 'pauses on every node, after the run at hand.',
  resume: 'goes on, on every node.',
  run_once: 'runs once, on every node.',
}
