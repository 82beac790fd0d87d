/**
 * Brings counters to the store, where they outlive the process: in batches, never on the way of a
 * request. A crash loses at most what was counted since the last batch.
 *
 * @module
 */

import { checkNames, type Names, said } from '../core/known-options.ts'
import { invalid, whole } from '../core/options.ts'
import { within } from '../engine/bounded.ts'
import { type Cancel, type Clock, type Random, systemClock, systemRandom } from '../engine/clock.ts'
import { closeWith } from '../engine/closing.ts'
import type { CountBatch, CountName, CountStore } from '../engine/counts.ts'
import type { RepriseEvent } from '../engine/events.ts'
import { Labels, OTHER } from './labels.ts'
import { type Addition, additionsOf, additionsOfWorker, type WorkerNote } from './tally.ts'

/** The part of a store that counters are kept in. */
export interface StatsStore {
  readonly name: string
  ready(): Promise<void>
  readonly work?: { readonly counts: CountStore }
  readonly desk?: { readonly counts: CountStore }
}

/** Settings of {@link keepStats}. */
export interface StatsOptions {
  /**
   * How long counters may be ahead of the store, in milliseconds.
   *
   * @default 10000
   */
  readonly everyMs?: number
  /**
   * How many pairs of operation and caller are told apart in an hour; further callers are counted as
   * `other`.
   *
   * @default 1000
   */
  readonly rowsMax?: number
  /**
   * How many operations a process tells apart; those that come later are all `other`.
   *
   * @default 100
   */
  readonly operationsMax?: number
  /**
   * The process's clock, for tests.
   *
   * @default the real one
   */
  readonly clock?: Clock
  /**
   * Chance, for tests.
   *
   * @default the real one
   */
  readonly random?: Random
}

const OPTIONS: Names<StatsOptions> = {
  everyMs: true,
  rowsMax: true,
  operationsMax: true,
  clock: true,
  random: true,
}

/** What {@link keepStats} makes. */
export interface StatsKeeper {
  /** For `createReprise`. */
  readonly onEvent: (event: RepriseEvent) => void
  /** For `createWorkers`. */
  readonly onWorkerEvent: (note: WorkerNote) => void
  /** Sends what was counted; gives whether the store has all of it. Never throws. */
  flush(): Promise<boolean>
  /**
   * Sends what was counted and counts no more; gives whether the store has all of it. `close()` of an
   * engine on this store calls it.
   */
  close(): Promise<boolean>
}

/**
 * Keeps counters in the store, per hour, operation and caller.
 *
 * @example
 * ```ts
 * const stats = keepStats(store)
 * const reprise = createReprise({ store, onEvent: stats.onEvent })
 * // at the end; it closes the keepers of its store as well
 * await reprise.close()
 * ```
 * @throws RepriseError `reprise-options-invalid` where the store keeps no counters
 */
export function keepStats(store: StatsStore, options: StatsOptions = {}): StatsKeeper {
  if (typeof Object(store).name !== 'string') {
    throw invalid(`keepStats() takes the store that the engine has, not ${said(store)}`)
  }
  checkNames('keepStats()', options, OPTIONS)
  const { clock = systemClock, random = systemRandom } = options
  const counts = store.work?.counts ?? store.desk?.counts
  if (counts === undefined) {
    throw invalid(`the ${store.name} store keeps no counters: use PostgreSQL`)
  }
  const keeper = new Keeper({
    ...{ counts, clock, ready: () => store.ready(), writer: random.token() },
    everyMs: whole('everyMs', options.everyMs ?? 10_000, 1),
    rowsMax: whole('rowsMax', options.rowsMax ?? 1000, 1),
    operations: new Labels(whole('operationsMax', options.operationsMax ?? 100, 0)),
  })
  closeWith(store, (ms) => keeper.close(ms))
  return keeper
}

interface KeeperParts {
  readonly counts: CountStore
  readonly ready: () => Promise<void>
  readonly clock: Clock
  readonly writer: string
  readonly everyMs: number
  readonly rowsMax: number
  readonly operations: Labels
}

/** A store that takes longer is asked again; a batch that it had taken counts nothing then. */
const TIMEOUT_MS = 5000

interface Pending {
  readonly operation: string
  readonly caller: string
  readonly counts: Partial<Record<CountName, number>>
}

class Keeper implements StatsKeeper {
  readonly #parts: KeeperParts
  #pending = new Map<string, Pending>()
  /** Sent, and not known to have arrived. */
  #unsure: CountBatch | undefined
  #number = 0
  #sending: Promise<boolean> | undefined
  #cancel: Cancel | undefined
  #isClosed = false
  #timeoutMs = TIMEOUT_MS

  constructor(parts: KeeperParts) {
    this.#parts = parts
  }

  readonly onEvent = (event: RepriseEvent): void => {
    this.#count(event.operation, event.caller ?? '', additionsOf(event))
  }

  readonly onWorkerEvent = (note: WorkerNote): void => {
    this.#count(note.record?.operation ?? '', '', additionsOfWorker(note))
  }

  flush(): Promise<boolean> {
    this.#cancel?.()
    this.#cancel = undefined
    this.#sending ??= this.#send().finally(() => {
      this.#sending = undefined
      if (this.#pending.size > 0 || this.#unsure !== undefined) this.#arm()
    })
    return this.#sending
  }

  /** @param timeoutMs - how long the store may take for the last batch */
  async close(timeoutMs = TIMEOUT_MS): Promise<boolean> {
    this.#isClosed = true
    this.#timeoutMs = timeoutMs
    // The one under way does not have what was counted since it began.
    await this.#sending
    return this.flush()
  }

  #count(operation: string, caller: string, additions: readonly Addition[]): void {
    if (additions.length === 0 || this.#isClosed) return
    const label = operation === '' ? '' : this.#parts.operations.of(operation)
    const { counts } = this.#entry(label, caller)
    for (const [name, count] of additions) counts[name] = (counts[name] ?? 0) + count
    this.#arm()
  }

  #entry(operation: string, caller: string): Pending {
    const id = `${caller} ${operation}`
    const known = this.#pending.get(id)
    if (known !== undefined) return known
    const isFull = this.#pending.size >= this.#parts.rowsMax
    if (isFull && caller !== '' && caller !== OTHER) return this.#entry(operation, OTHER)
    const entry = { operation, caller, counts: {} }
    this.#pending.set(id, entry)
    return entry
  }

  /** A timer runs only while there is something to send: an idle process can end. */
  #arm(): void {
    if (this.#isClosed) return
    this.#cancel ??= this.#parts.clock.after(this.#parts.everyMs, () => {
      this.#cancel = undefined
      void this.flush()
    })
  }

  async #send(): Promise<boolean> {
    const isSent = this.#unsure === undefined || (await this.#deliver(this.#unsure))
    if (!isSent || this.#pending.size === 0) return isSent
    const { writer, rowsMax } = this.#parts
    const rows = [...this.#pending.values()]
    this.#pending = new Map()
    return this.#deliver({ writer, number: ++this.#number, rows, rowsMax })
  }

  async #deliver(batch: CountBatch): Promise<boolean> {
    const { clock, counts, ready } = this.#parts
    this.#unsure = batch
    const add = async () => {
      await ready()
      await counts.add(batch)
      return true
    }
    const work = add().catch(() => false)
    const isSent = await within(clock, { ms: this.#timeoutMs, work, fallback: false })
    if (isSent) this.#unsure = undefined
    return isSent
  }
}
