/**
 * Sends one operation until its outcome is known, or there is a reason to stop.
 *
 * @module
 */

import { attempt } from './attempt.ts'
import type { Context, Operation, Result } from './context.ts'
import type { JournalEntry } from './entry.ts'
import { OutcomeUnknownError, timeoutError, type UnknownReason } from './errors.ts'
import type { ClientEvent } from './events.ts'
import type { Life } from './life.ts'
import { isHonoured, isReplayed, meaningOf, retryAfterMs } from './rules.ts'

/** One operation on its way. */
export interface Delivery {
  /** Sends it; resolves with the answer. */
  run(): Promise<Result>
  /** Writes it down without sending it. */
  queue(): Promise<void>
  /** Gives it up unsent, because an earlier one is not settled. */
  hold(): Promise<Result>
}

/** What comes after an attempt: the answer, milliseconds until the next one, or why there is none. */
type Next = Result | number | UnknownReason

const SAFE = /^(GET|HEAD|OPTIONS)$/

/** Prepares the delivery of an operation. */
export function deliveryOf(context: Context, operation: Operation, life: Life): Delivery {
  const { clock, random, connectivity, journal, dialect, budgets, honours } = context
  const { request, isResumed } = operation
  const { key, method, url } = request
  const { origin } = new URL(url)
  let { entry } = operation
  let isWritten = isResumed
  /** Whether an attempt may have taken effect. */
  let isAmbiguous = entry?.state === 'sent'
  let attempts = entry?.attempts ?? 0
  let failures = 0
  let waits = 0
  /** What the last retry took from the budget. */
  let spent = 0
  let headers = new Headers()
  let response: Response | undefined
  let error: unknown
  /** The answer counts for more than the journal. */
  const lost = (cause: unknown) => emit('journal_error', { error: cause })

  async function run(): Promise<Result> {
    let next: Next = 0
    try {
      while (typeof next === 'number') {
        if (next > 0) await life.pause(next)
        next = (await ready()) ?? (await send())
      }
    } catch (thrown) {
      error = thrown
      // What the program itself throws before anything was sent is thrown on.
      if (!isAmbiguous && !isResumed) return forget()
      next = 'network'
    }
    return typeof next === 'object' ? next : giveUp(next)
  }

  async function queue(): Promise<void> {
    if (!entry || isWritten) return
    await write({})
    emit('queued')
  }

  /** Waits for the network, and for the journal to know that it is about to be sent. */
  async function ready(): Promise<UnknownReason | undefined> {
    if (entry && !connectivity.isOnline()) {
      // Listens before anything is awaited, or the network could come back unheard.
      let end = () => {}
      const online = new Promise<void>((resolve) => {
        end = connectivity.onOnline(resolve)
      })
      await queue()
        .then(() => life.during(() => online, Number.POSITIVE_INFINITY))
        .finally(end)
    }
    if (life.reason) return life.reason
    const { headers: more, retentionMs } = context
    headers = new Headers(typeof more === 'function' ? await more(attempts + 1) : more)
    for (const [name, value] of request.headers) headers.set(name, value)
    if (!entry) return undefined
    if (entry.sentAt !== null && clock.unix() - entry.sentAt >= retentionMs) {
      await write({ state: 'expired' })
      return 'retention'
    }
    if (entry.state !== 'sent') await write({ state: 'sent', sentAt: entry.sentAt ?? clock.unix() })
    return life.reason
  }

  async function send(): Promise<Next> {
    attempts++
    response = undefined
    emit('attempt')
    const outcome = await attempt(request, headers, { ...context, life })
    if ('error' in outcome) {
      isAmbiguous = true
      if (life.reason) return life.reason
      error = outcome.error
      // Without a network it is not the server that failed, and the next attempt waits for it.
      return entry && !connectivity.isOnline() ? 0 : retry('network', outcome.isTimeout)
    }
    error = undefined
    response = outcome.response
    if (entry && isHonoured(response, dialect)) honours.add(origin)
    const meaning = meaningOf(response, outcome.text, dialect)
    if (meaning === 'later') return retry('failed')
    if (meaning === 'refused' && isAmbiguous) return meaning
    // A request without a key is in nobody's way.
    const isWaiting = meaning === 'in-progress' && entry
    if (!isWaiting && meaning !== 'failed' && meaning !== 'unknown') return finish(response)
    isAmbiguous = true
    if (isWaiting) return delay('wait', ++waits)
    if (meaning === 'failed') return retry('failed')
    return response.status < 500 ? 'server' : 'failed'
  }

  /** How long to wait before the attempt after a failed one. */
  function retry(reason: UnknownReason, isTimeout = false): Next {
    failures++
    // Only what is safe or has a key, and by option only where keys are known to be honoured.
    const isTrusted = context.unprotected === 'retry' || honours.has(origin) || !isAmbiguous
    const mayRepeat = !entry ? SAFE.test(method) : isTrusted
    if (!mayRepeat || failures >= context.attemptsMax) return reason
    const cost = budgets.take(origin, isTimeout)
    if (cost === undefined) return 'budget'
    spent = cost
    return delay('retry', failures)
  }

  function delay(type: 'wait' | 'retry', times: number): Next {
    const asked = response && retryAfterMs(response, clock.unix())
    // Full jitter: anything up to a bound that doubles each time.
    const bound = Math.min(context.backoffMsMax, context.backoffMs * 2 ** (times - 1))
    // Nobody is asked to try without a pause, whatever the header says.
    const delayMs = asked || random.fraction() * bound
    if (delayMs >= life.leftMs) return 'deadline'
    emit(type, { delayMs, error })
    return delayMs
  }

  async function finish(answer: Response): Promise<Result> {
    const { status } = answer
    const isProtected = !!entry && isHonoured(answer, dialect)
    const replayed = isReplayed(answer, dialect)
    // Statuses from here on speak of trouble: too many requests, or a failure.
    if (status < 429) budgets.give(origin, spent || 1)
    // Neither secrets nor personal data are kept for longer than they are needed.
    const emptied = { headers: [], body: null, options: {} }
    const answeredAt = clock.unix()
    await write({ ...emptied, state: 'answered', status, answeredAt, attempts }).catch(lost)
    if (entry && !isProtected && status < 400) emit('unprotected')
    emit('answered', { replayed, response: answer })
    const json = () => answer.json()
    return { key, attempts, replayed, protected: isProtected, response: answer, json }
  }

  async function giveUp(reason: UnknownReason): Promise<Result> {
    if (response && (!entry || !isAmbiguous)) return finish(response)
    if (reason === 'aborted') error ??= life.cause
    const isUntouched = !isAmbiguous && !isResumed
    if (!entry || (reason === 'aborted' && isUntouched)) return forget()
    if (!isWritten || attempts !== entry.attempts) await write({ attempts }).catch(lost)
    error = new OutcomeUnknownError({ entry, reason, attempts, response, cause: error })
    emit('unknown', { error })
    throw error
  }

  /** Drops it, and throws what `fetch` would have thrown. */
  async function forget(): Promise<never> {
    if (entry && isWritten) await journal.forget(entry.id)
    // Whatever it is, it was thrown before, or is the reason of the caller.
    throw (error ?? timeoutError()) as Error
  }

  async function write(changes: Partial<JournalEntry>): Promise<void> {
    if (!entry) return
    const changed = { ...entry, ...changes }
    await journal.put(changed)
    entry = changed
    isWritten = true
  }

  function emit(type: ClientEvent['type'], more: Partial<ClientEvent> = {}): void {
    try {
      context.onEvent({
        ...{ type, key, method, url: url.replace(/[?#].*/, ''), attempts },
        elapsedMs: life.elapsedMs,
        ...(response && { status: response.status }),
        ...more,
      })
    } catch {
      // A listener that throws is its author's bug; the operation goes on.
    }
  }

  return { run, queue, hold: () => giveUp('held') }
}
