/**
 * Sends one operation until its outcome is known, or there is a reason to stop.
 *
 * @module
 */

import { attempt } from './attempt.ts'
import type { Context, Operation, Result } from './context.ts'
import type { JournalEntry } from './entry.ts'
import { JournalError, OutcomeUnknownError, type UnknownReason } from './errors.ts'
import { type ClientEvent, teller } from './events.ts'
import { type Life, Stopped } from './life.ts'
import { isElsewhere, isHonoured, isReplayed, meaningOf, retryAfterMs, showsKeys } from './rules.ts'

/** One operation on its way. */
export interface Delivery {
  /** Sends it; resolves with the answer. */
  run(): Promise<Result>
  /** Writes it down without sending it. */
  queue(): Promise<void>
  /** Gives it up for the reason that is given. */
  giveUp(reason: UnknownReason): Promise<Result>
  /** Ends it for what was thrown while it was not on its way. */
  stop(thrown: unknown): Promise<Result>
}

/** The lock under which an operation is sent. */
export interface Hold {
  readonly isHeld: boolean
  /** Takes it, unless it is held already; `false` when another client has it. */
  take(): Promise<boolean>
}

/** What comes after an attempt: the answer, milliseconds until the next one, or why there is none. */
type Next = Result | number | UnknownReason

/** What the journal says of an operation that did not leave. */
const UNSENT = { state: 'queued', sentAt: null } as const

/** Prepares the delivery of an operation. */
export function deliveryOf(
  context: Context,
  operation: Operation,
  { life, hold }: { readonly life: Life; readonly hold: Hold },
): Delivery {
  const { clock, random, connectivity, journal, dialect, budgets, honours, echoes } = context
  const { request, isResumed } = operation
  const { key, method, url } = request
  const { origin } = new URL(url)
  const tell = teller(context)
  let { entry } = operation
  let isWritten = isResumed
  /** The last write to the journal, which may be under way still. */
  let writing: Promise<unknown> | undefined
  /** Whether an attempt may have taken effect. */
  let isAmbiguous = entry.state === 'sent'
  /** When an attempt left first, as far as one may have; the journal knows it before. */
  let leftAt = entry.sentAt
  let { attempts } = entry
  let failures = 0
  let waits = 0
  /** What the last retry took from the budget. */
  let spent = 0
  let headers = new Headers()
  let response: Response | undefined
  let error: unknown
  /** Writes down how the operation ended, which counts for more than the journal. */
  const writeLast = async (changes: Partial<JournalEntry>): Promise<boolean> => {
    try {
      await life.lastly(() => write(changes))
      return true
    } catch (cause) {
      emit('journal_error', { error: cause })
      return false
    }
  }
  /** Why no attempt may be made now, if there is a reason. */
  const obstacle = () => life.reason ?? (entry.caller === context.caller() ? undefined : 'caller')
  /** Whether the origin may be sent again what it may have been sent before. */
  const isTrusted = () => context.unprotected === 'retry' || honours.has(origin) || !isAmbiguous

  async function run(): Promise<Result> {
    let next: Next = 0
    try {
      while (typeof next === 'number') {
        if (next > 0) await life.pause(next)
        next = (await ready()) ?? (await send())
      }
    } catch (thrown) {
      return stop(thrown)
    }
    return typeof next === 'object' ? next : giveUp(next)
  }

  async function stop(thrown: unknown): Promise<Result> {
    if (thrown instanceof Stopped && life.reason) return giveUp(life.reason)
    error = thrown
    // What the program itself throws before anything was sent is thrown on.
    if (!isAmbiguous && !isResumed) return forget('journal')
    return giveUp(thrown instanceof JournalError ? 'journal' : 'network')
  }

  async function queue(): Promise<void> {
    if (isWritten) return
    await life.until(() => write({}))
    emit('queued')
  }

  /**
   * Waits for the network, for the app's headers, and for the journal to know that it is about to be
   * sent. The caller is looked at last: somebody else may have logged in during each wait, and the
   * headers would be theirs.
   */
  async function ready(): Promise<UnknownReason | undefined> {
    if (!connectivity.isOnline()) {
      // Listens before anything is awaited, or the network could come back unheard.
      let end = () => {}
      const online = new Promise<void>((resolve) => {
        end = connectivity.onOnline(resolve)
      })
      await queue()
        .then(() => life.during(() => online, Number.POSITIVE_INFINITY))
        .finally(end)
    }
    const reason = obstacle()
    if (reason) return reason
    if (!isTrusted()) return 'unprotected'
    const { headers: more, retentionMs } = context
    headers = new Headers(
      typeof more === 'function' ? await life.until(async () => more(attempts + 1)) : more,
    )
    for (const [name, value] of request.headers) headers.set(name, value)
    if (entry.sentAt !== null && clock.unix() - entry.sentAt >= retentionMs) {
      await life.until(() => write({ state: 'expired' }))
      return 'retention'
    }
    if (entry.state === 'queued' && isWritten) {
      // Whoever had the lock while it stood in the journal may have sent it.
      if (!(await hold.take())) return 'held'
      if (!(await life.until(isStillThere))) return 'journal'
      if (!isTrusted()) return 'unprotected'
    }
    const isStopped = obstacle()
    if (isStopped) return isStopped
    if (entry.state !== 'sent') {
      await life.until(() => write({ state: 'sent', sentAt: entry.sentAt ?? clock.unix() }))
    }
    return obstacle()
  }

  /** Looks whether another client has sent it, or somebody has removed it. */
  async function isStillThere(): Promise<boolean> {
    const now = await journal.get(entry.id)
    if (now?.state === 'queued') return true
    isAmbiguous = true
    leftAt = now?.sentAt ?? clock.unix()
    // Also where it was answered: its key asks for that answer.
    entry = { ...entry, state: 'sent', sentAt: leftAt }
    return now !== undefined
  }

  async function send(): Promise<Next> {
    attempts++
    response = undefined
    emit('attempt')
    const outcome = await attempt(request, headers, { ...context, life })
    const isLeft = !('error' in outcome) || !outcome.isUnsent
    if (isLeft) leftAt ??= entry.sentAt
    if ('error' in outcome) {
      isAmbiguous ||= isLeft
      if (life.reason) return life.reason
      error = outcome.error
      // Without a network it is not the server that failed, and the next attempt waits for it.
      return connectivity.isOnline() ? retry('network', outcome.isTimeout) : 0
    }
    error = undefined
    response = outcome.response
    const isForeign = isElsewhere(response, url)
    if (!isForeign && showsKeys(response, outcome.text, dialect)) honours.add(origin)
    if (!isForeign && response.headers.has(dialect.header)) echoes.add(origin)
    const meaning = meaningOf(response, outcome.text, dialect)
    if (meaning === 'later') return retry('failed')
    if (meaning === 'refused' && isAmbiguous) return meaning
    if (meaning === 'answer' || meaning === 'refused') {
      // A login page, or a page of somebody on the way, is no answer to the attempts before it.
      const isTheirs = isHonoured(response, dialect) || !(isForeign || echoes.has(origin))
      return isAmbiguous && !isTheirs ? 'refused' : finish(response)
    }
    isAmbiguous = true
    if (meaning === 'in-progress') return delay('wait', ++waits)
    if (meaning === 'failed') return retry('failed')
    return response.status < 500 ? 'server' : 'failed'
  }

  /** How long to wait before the attempt after a failed one. */
  function retry(reason: UnknownReason, isTimeout = false): Next {
    failures++
    if (!isTrusted() || failures >= context.attemptsMax) return reason
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
    const isProtected = isHonoured(answer, dialect)
    const replayed = isReplayed(answer, dialect)
    // Statuses from here on speak of trouble: too many requests, or a failure.
    if (status < 429) budgets.give(origin, spent || 1)
    // Neither secrets nor personal data are kept for longer than they are needed.
    const emptied = { headers: [], body: null, options: {} }
    const answeredAt = clock.unix()
    const isMarked = await writeLast({
      ...emptied,
      state: 'answered',
      status,
      answeredAt,
      attempts,
    })
    // Better gone than sent again: the app has its answer.
    if (!isMarked) await life.lastly(() => journal.forget(entry.id)).catch(() => {})
    if (!isProtected && status < 400) emit('unprotected')
    emit('answered', { replayed, response: answer })
    const json = () => answer.json()
    return { key, attempts, replayed, protected: isProtected, response: answer, json }
  }

  async function giveUp(reason: UnknownReason): Promise<Result> {
    if (response && !isAmbiguous) return finish(response)
    const isUntouched = !isAmbiguous && !isResumed
    if (reason === 'aborted') error = isUntouched ? life.cause : (error ?? life.cause)
    if (reason === 'aborted' && isUntouched) return forget(reason)
    return leave(reason)
  }

  /** Leaves it in the journal, and says so. */
  async function leave(reason: UnknownReason): Promise<never> {
    // Written down as sent, and it did not leave: the next one to take it up is to know.
    const isCalledBack = entry.state === 'sent' && leftAt === null
    const changes = isCalledBack ? { attempts, ...UNSENT } : { attempts }
    if (!isWritten || isCalledBack || attempts !== entry.attempts) await writeLast(changes)
    if (leftAt === null && isWritten && !hold.isHeld)
      await life.lastly(isStillThere).catch(() => {})
    const sent = leftAt !== null
    error = new OutcomeUnknownError({ entry, reason, attempts, sent, response, cause: error })
    emit('unknown', { error })
    throw error
  }

  /**
   * Drops it, and throws what it failed with. Whoever is told so may send it anew, so it is dropped only
   * when the journal certainly does not have it; else it is left, for the reason that is given.
   */
  async function forget(reason: UnknownReason): Promise<never> {
    let isWanted = true
    try {
      // Also after a write that failed or has no end: it may come through.
      if (writing) {
        await life.lastly(async () => {
          await writing
          if (isWanted) await journal.forget(entry.id)
        })
      }
    } catch {
      isWanted = false
      return leave(reason)
    }
    // Whatever it is, it was thrown before, or is the reason of the caller.
    throw error as Error
  }

  async function write(changes: Partial<JournalEntry>): Promise<void> {
    const changed = { ...entry, ...changes }
    const put = journal.put(changed)
    writing = put.catch(() => {})
    await put
    entry = changed
    isWritten = true
  }

  function emit(type: ClientEvent['type'], more: Partial<ClientEvent> = {}): void {
    tell({
      ...{ type, key, method, url, attempts, elapsedMs: life.elapsedMs },
      ...(response && { status: response.status }),
      ...more,
    })
  }

  return { run, queue, giveUp, stop }
}
