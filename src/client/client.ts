/**
 * The client: `fetch` with keys, safe retries and a journal.
 *
 * @module
 */

import { budgetsOf } from './budget.ts'
import type { Context, Result } from './context.ts'
import { deliveryOf } from './delivery.ts'
import { byAge, isOpen, type JournalEntry } from './entry.ts'
import { timeoutError } from './errors.ts'
import { type Journal, journalOf, memoryJournal, type Release } from './journal.ts'
import { type Life, lifeOf, Stopped } from './life.ts'
import { begun, leftBehind } from './operations.ts'
import { type ClientOptions, DEFAULTS } from './options.ts'
import { passThrough } from './pass-through.ts'
import { bytesOf, type ClientInit, headOf, requestIn } from './request.ts'
import { type Turns, takeTurn } from './turns.ts'

/** A verb. */
export type Send = <T = unknown>(url: string | URL, init?: ClientInit) => Promise<Result<T>>

/** An operation that was taken up again: with its answer, or with what was thrown. */
export type Resumed =
  | { readonly entry: JournalEntry; readonly result: Result }
  | { readonly entry: JournalEntry; readonly error: unknown }

/** What to resume. */
export interface ResumeOptions {
  /** Only the operation with this key, and those that have to come before it. */
  readonly key?: string
  /** Stops it. */
  readonly signal?: AbortSignal
}

/** `fetch`, and more. */
export interface Client {
  /** As `fetch`; throws an `OutcomeUnknownError` where it is not known what became of it. */
  (input: RequestInfo | URL, init?: ClientInit): Promise<Response>
  /** Sends a request with any method, and tells how it went. */
  request<T = unknown>(input: RequestInfo | URL, init?: ClientInit): Promise<Result<T>>
  readonly post: Send
  readonly put: Send
  readonly patch: Send
  readonly delete: Send
  /**
   * Finishes what is left in the journal, with the same keys: after a crash or a reload, or after an
   * `OutcomeUnknownError`. What another tab or process is at work on is left to it. Also happens by
   * itself when the network comes back.
   */
  resume(options?: ResumeOptions): Promise<readonly Resumed[]>
  /** What was written down. */
  readonly journal: Pick<Journal, 'list' | 'forget'>
  /** Stops listening for the network. Operations that are under way are not touched. */
  close(): void
}

/** The lock of an operation that is taken up again is held by whoever takes it up. */
const HELD = { isHeld: true, take: async () => true }

/** How many operations are resumed at once. */
const RESUMED_AT_ONCE = 8

/** Makes a client. */
export function createClient(options: ClientOptions = {}): Client {
  const context = contextOf(options)
  const { clock, journal } = context
  const turns: Turns = new Map()
  /** The entries of operations with a resource that were begun by this client and are not answered. */
  const begunHere = new Set<string>()
  let createdAt = 0
  let count = 0
  let newest: number | undefined
  /**
   * When the last operation was begun that a client before this one has left. Kept only once it is known: a
   * journal that fails or hangs is asked again.
   */
  async function newestLeft(): Promise<number> {
    if (newest !== undefined) return newest
    const entries = await journal.list()
    newest ??= entries.at(-1)?.createdAt ?? 0
    return newest
  }
  // Whatever is wrong with the journal shows when it is written.
  const leftOrNone = () => newestLeft().catch(() => 0)
  void leftOrNone()

  async function send(input: RequestInfo | URL, init: ClientInit = {}): Promise<Result> {
    const { key, ...head } = headOf(input, init, context)
    if (key === null) return passThrough(input, init, context)
    const { resource = null } = init
    // Taken before anything is awaited: this is the order in which operations were begun.
    createdAt = Math.max(createdAt + 0.001, clock.unix())
    const place = { createdAt, resource, caller: context.caller() }
    const after = ++count / 1000
    const turn = resource === null ? undefined : takeTurn(turns, lockOf(place))
    const request = requestIn(input)
    const signal = init.signal ?? request?.signal
    const life = lifeOf(clock, init.deadlineMs ?? context.deadlineMs, signal)
    let release: Release | undefined
    try {
      const body = await life.until(() => bytesOf(init, { headers: head.headers, request }))
      // Clocks are put back; what is left comes first all the same.
      const left = await life.until(leftOrNone)
      place.createdAt = Math.max(place.createdAt, left + after)
      const outgoing = { ...head, key, body, extra: init }
      const operation = await life.until(() => begun(outgoing, place, context))
      const { entry } = operation
      const hold = {
        get isHeld() {
          return release !== undefined
        },
        async take() {
          release ??= await lockOrLeave(life, lockOf(entry))
          return release !== undefined
        },
      }
      const delivery = deliveryOf(context, operation, { life, hold })
      let isNext = true
      try {
        if (turn?.before) {
          await delivery.queue()
          await life.until(() => Promise.resolve(turn.before))
        }
        // Held elsewhere, it does not stop the call: the key makes a repetition harmless.
        const isMine = await hold.take()
        isNext = !turn || (await life.until(() => isFirst(entry, isMine)))
        if (turn) begunHere.add(entry.id)
        if (!isNext) await delivery.queue()
      } catch (error) {
        return await delivery.stop(error)
      }
      const result = await (isNext ? delivery.run() : delivery.giveUp('held'))
      begunHere.delete(entry.id)
      return result
    } catch (error) {
      if (!(error instanceof Stopped) || !life.reason) throw error
      // Nothing was sent or written down, so this is what `fetch` would throw.
      throw life.reason === 'aborted' ? life.cause : timeoutError()
    } finally {
      life.end()
      // Whoever has the answer may remove the journal, or lock it again.
      const free = release
      if (free) await life.lastly(async () => free()).catch(() => {})
      turn?.done()
    }
  }

  /** Takes a lock; gives it back at once when it comes after the time was up. */
  async function lockOrLeave(life: Life, name: string): Promise<Release | undefined> {
    let isWanted = true
    const taken = journal.lock(name).then((release) => {
      if (!isWanted) void release?.()
      return release
    })
    try {
      return await life.until(() => taken)
    } catch (error) {
      isWanted = false
      taken.catch(() => {})
      throw error
    }
  }

  /** What is to be done on behalf of the present caller, oldest first. */
  async function open(): Promise<readonly JournalEntry[]> {
    const present = context.caller()
    return (await journal.list()).filter((entry) => isOpen(entry) && entry.caller === present)
  }

  /**
   * Settles what is left of those before it. Without the lock somebody else is at work on the resource, and
   * what they are at work on is left to them: then only the operations of this client have an order.
   */
  async function isFirst(entry: JournalEntry, isLocked: boolean): Promise<boolean> {
    const before = (await open()).filter(
      (other) => other.resource === entry.resource && byAge(other, entry) < 0,
    )
    if (!isLocked) return !before.some(({ id }) => begunHere.has(id))
    return (await settle(before)).every((one) => 'result' in one)
  }

  /** One after the other, under their lock; what comes after a failure has to wait for it. */
  async function settle(
    entries: readonly JournalEntry[],
    signal?: AbortSignal,
  ): Promise<readonly Resumed[]> {
    const done: Resumed[] = []
    for (const { id } of entries) {
      const entry = await inTime((life) => life.until(() => journal.get(id)))
      // Somebody else may have settled it meanwhile.
      if (!entry || !isOpen(entry)) continue
      const life = lifeOf(clock, context.deadlineMs, signal)
      try {
        done.push({
          entry,
          result: await deliveryOf(context, leftBehind(entry), { life, hold: HELD }).run(),
        })
        begunHere.delete(id)
      } catch (error) {
        done.push({ entry, error })
        break
      } finally {
        life.end()
      }
    }
    return done
  }

  async function resume({ key, signal }: ResumeOptions = {}): Promise<readonly Resumed[]> {
    const groups = new Map<string, JournalEntry[]>()
    for (const entry of await inTime((life) => life.until(open))) {
      const name = lockOf(entry)
      groups.set(name, [...(groups.get(name) ?? []), entry])
    }
    const left = [...groups].filter(
      ([, group]) => key === undefined || group.some((entry) => entry.key === key),
    )
    const done: Resumed[] = []
    const work = async () => {
      for (let next = left.shift(); next; next = left.shift()) {
        const [name, group] = next
        const turn = takeTurn(turns, name)
        let release: Release | undefined
        try {
          await turn.before
          release = await inTime((life) => lockOrLeave(life, name))
          if (release) done.push(...(await settle(group, signal)))
        } finally {
          const free = release
          if (free) await inTime((life) => life.lastly(async () => free())).catch(() => {})
          turn.done()
        }
      }
    }
    await Promise.all(Array.from({ length: RESUMED_AT_ONCE }, work))
    return done.sort((a, b) => byAge(a.entry, b.entry))
  }

  /** What the journal gives, unless the deadline comes before. */
  async function inTime<T>(work: (life: Life) => Promise<T>): Promise<T> {
    const life = lifeOf(clock, context.deadlineMs)
    try {
      return await work(life)
    } catch (error) {
      throw error instanceof Stopped ? timeoutError() : error
    } finally {
      life.end()
    }
  }

  // That the answer is a T is for the caller to know, here and below.
  const request = send as Client['request']
  const verb =
    (method: string): Send =>
    (url, init) =>
      request(url, { ...init, method })
  return Object.assign(
    async (input: RequestInfo | URL, init?: ClientInit) => (await send(input, init)).response,
    {
      ...{ request, resume, journal },
      ...{ post: verb('POST'), put: verb('PUT'), patch: verb('PATCH'), delete: verb('DELETE') },
      close: context.connectivity.onOnline(() => void resume().catch(() => {})),
    },
  )
}

/** `fetch` as it was, with keys and safe retries: a drop-in. */
export function idempotentFetch(send: typeof fetch = fetch, options?: ClientOptions): Client {
  return createClient({ ...options, fetch: send })
}

function contextOf(options: ClientOptions): Context {
  // Settings that are there and undefined are not there.
  const given: ClientOptions = Object.fromEntries(
    Object.entries(options).filter(([, value]) => value !== undefined),
  )
  const { journal = memoryJournal(), journalLimits } = given
  const settings = { ...DEFAULTS, ...given }
  const { caller } = settings
  return {
    ...settings,
    caller: () => (typeof caller === 'function' ? caller() : caller),
    journal: journalOf(journal, journalLimits),
    budgets: budgetsOf(settings.retryBudget),
    honours: new Set(),
    echoes: new Set(),
  }
}

/** Operations of one resource share a lock, so that nobody overtakes. */
function lockOf(entry: Pick<JournalEntry, 'resource' | 'caller'> & { id?: string }): string {
  return entry.resource === null ? `${entry.id}` : `${entry.caller} ${entry.resource}`
}
