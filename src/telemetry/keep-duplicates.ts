/**
 * Brings to the store who was answered as a duplicate: in batches, never on the way of a request. A
 * crash, or a store that is down, loses what was noted since the last batch.
 *
 * @module
 */

import { checkNames, type Names, said } from '../core/known-options.ts'
import { invalid, whole } from '../core/options.ts'
import { within } from '../engine/bounded.ts'
import { type Cancel, type Clock, systemClock } from '../engine/clock.ts'
import { closeWith } from '../engine/closing.ts'
import type { NewNote, NoteBatch, NoteResult } from '../engine/desk.ts'
import type { EventType, RepriseEvent } from '../engine/events.ts'

/** The part of a store that duplicates are noted in. */
export interface NoteStore {
  readonly name: string
  ready(): Promise<void>
  readonly desk?: { addNotes(batch: NoteBatch): Promise<void> }
}

/** Settings of {@link keepDuplicates}. */
export interface DuplicatesOptions {
  /**
   * How long notes may be ahead of the store, in milliseconds.
   *
   * @default 5000
   */
  readonly everyMs?: number
  /**
   * How many duplicates are noted in one batch; those beyond are only counted.
   *
   * @default 500
   */
  readonly notesMax?: number
  /**
   * The same of one request.
   *
   * @default 20
   */
  readonly perRequestMax?: number
  /**
   * The process's clock, for tests.
   *
   * @default the real one
   */
  readonly clock?: Clock
}

const OPTIONS: Names<DuplicatesOptions> = {
  everyMs: true,
  notesMax: true,
  perRequestMax: true,
  clock: true,
}

/** What {@link keepDuplicates} makes. */
export interface DuplicatesKeeper {
  /** For `createReprise`. */
  readonly onEvent: (event: RepriseEvent) => void
  /** Sends what was noted; gives whether the store has it. Never throws. */
  flush(): Promise<boolean>
  /**
   * Sends what was noted and notes no more; gives whether the store has it. `close()` of an engine on
   * this store calls it.
   */
  close(): Promise<boolean>
}

/**
 * Notes in the store who was answered as a duplicate, for the page of a request and the list of
 * conflicts.
 *
 * @example
 * ```ts
 * const duplicates = keepDuplicates(store)
 * const reprise = createReprise({ store, onEvent: combine(stats.onEvent, duplicates.onEvent) })
 * ```
 * @throws RepriseError `reprise-options-invalid` where the store keeps none
 */
export function keepDuplicates(
  store: NoteStore,
  options: DuplicatesOptions = {},
): DuplicatesKeeper {
  if (typeof Object(store).name !== 'string') {
    throw invalid(`keepDuplicates() takes the store that the engine has, not ${said(store)}`)
  }
  checkNames('keepDuplicates()', options, OPTIONS)
  const { desk } = store
  if (desk === undefined) {
    throw invalid(`the ${store.name} store notes no duplicates: use PostgreSQL`)
  }
  const keeper = new Keeper({
    ...{ clock: options.clock ?? systemClock, ready: () => store.ready() },
    add: (batch) => desk.addNotes(batch),
    everyMs: whole('everyMs', options.everyMs ?? 5000, 1),
    notesMax: whole('notesMax', options.notesMax ?? 500, 0),
    perRequestMax: whole('perRequestMax', options.perRequestMax ?? 20, 0),
  })
  closeWith(store, (ms) => keeper.close(ms))
  return keeper
}

interface KeeperParts {
  readonly clock: Clock
  readonly ready: () => Promise<void>
  readonly add: (batch: NoteBatch) => Promise<void>
  readonly everyMs: number
  readonly notesMax: number
  readonly perRequestMax: number
}

type Noted = Omit<NewNote, 'agoMs'> & { readonly notedAt: number }

/** A store that takes longer has lost the batch. */
const TIMEOUT_MS = 5000
/** How many requests a batch tells apart. */
const REQUESTS_MAX = 10_000

const RESULTS: Readonly<Partial<Record<EventType, NoteResult>>> = {
  ...{ replayed: 'replayed', in_progress: 'in_progress', mismatch: 'mismatch' },
  unknown: 'unknown',
}

class Keeper implements DuplicatesKeeper {
  readonly #parts: KeeperParts
  #notes: Noted[] = []
  #counts = new Map<string, number>()
  #sending: Promise<boolean> | undefined
  #cancel: Cancel | undefined
  #isClosed = false
  #timeoutMs = TIMEOUT_MS

  constructor(parts: KeeperParts) {
    this.#parts = parts
  }

  readonly onEvent = ({ type, id, caller, operation, duplicate }: RepriseEvent): void => {
    const result = RESULTS[type]
    if (result === undefined || id === null || duplicate === undefined || this.#isClosed) return
    const count = this.#counts.get(id) ?? 0
    if (count === 0 && this.#counts.size >= REQUESTS_MAX) return
    this.#counts.set(id, count + 1)
    const { clock, everyMs, notesMax, perRequestMax } = this.#parts
    if (this.#notes.length < notesMax && count < perRequestMax) {
      const { fingerprint, ...origin } = duplicate
      const isOther = result === 'mismatch'
      const about = { id, operation, caller: caller ?? '', result, ...origin }
      const note = { ...about, fingerprint: isOther ? fingerprint : null }
      this.#notes.push({ ...note, notedAt: clock.now() })
    }
    this.#cancel ??= clock.after(everyMs, () => void this.flush())
  }

  flush(): Promise<boolean> {
    this.#cancel?.()
    this.#cancel = undefined
    const before = this.#sending ?? Promise.resolve(true)
    const sending = before.then(() => this.#send())
    this.#sending = sending
    return sending
  }

  /** @param timeoutMs - how long the store may take for the last batch */
  close(timeoutMs = TIMEOUT_MS): Promise<boolean> {
    this.#isClosed = true
    this.#timeoutMs = timeoutMs
    return this.flush()
  }

  #send(): Promise<boolean> {
    if (this.#counts.size === 0) return Promise.resolve(true)
    const { clock, ready, add } = this.#parts
    const now = clock.now()
    const notes = this.#notes.map(({ notedAt, ...note }) => ({ ...note, agoMs: now - notedAt }))
    const counts = Object.fromEntries(this.#counts)
    this.#notes = []
    this.#counts = new Map()
    const send = async () => {
      await ready()
      await add({ notes, counts })
      return true
    }
    const work = send().catch(() => false)
    return within(clock, { ms: this.#timeoutMs, work, fallback: false })
  }
}
