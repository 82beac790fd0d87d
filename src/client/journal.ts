/**
 * The journal: an operation is written down before it is sent, and marked when it is answered.
 *
 * @module
 */

import { byAge, isOpen, type JournalEntry } from './entry.ts'
import { JournalError } from './errors.ts'

/** Gives a lock back. What it returns resolves when the lock is free and nothing of it is left. */
export type Release = () => void | Promise<void>

/** Where a journal is kept. Each verb is atomic. */
export interface JournalStore {
  /** Writes an entry over the one with its id. An open one is durable when this resolves. */
  put(entry: JournalEntry): Promise<void>
  /** The entry with that id. */
  get(id: string): Promise<JournalEntry | undefined>
  /** Removes the entry with that id, if there is one. */
  remove(id: string): Promise<void>
  /** All entries, in any order. */
  list(): Promise<readonly JournalEntry[]>
  /**
   * Takes a lock that no other client of the same journal holds, in this process, tab or another;
   * it is free again when its holder is gone. `undefined` when somebody holds it.
   */
  lock(name: string): Promise<Release | undefined>
}

/** How much a journal holds. */
export interface JournalLimits {
  /**
   * How many operations may be open at once. A further one is refused and not sent: to drop an open
   * one would lose it.
   *
   * @default 1000
   */
  readonly openMax?: number
  /**
   * How many answered operations are kept to be looked at; the oldest go first.
   *
   * @default 100
   */
  readonly answeredMax?: number
}

/** A journal within its limits. */
export interface Journal extends Pick<JournalStore, 'get' | 'put' | 'lock'> {
  /** Every operation that is kept, oldest first. */
  list(): Promise<readonly JournalEntry[]>
  /** Removes an operation that a person has settled. It is not sent again. */
  forget(id: string): Promise<void>
}

/** Keeps a journal within its limits. */
export function journalOf(
  store: JournalStore,
  { openMax = 1000, answeredMax = 100 }: JournalLimits = {},
): Journal {
  /** Whether each entry is open, as far as is known: other tabs may have added some. */
  let known: Map<string, boolean> | undefined

  const list = () => readable(async () => [...(await store.list())].sort(byAge))
  const index = async () => {
    if (known !== undefined) return known
    // Kept only once it is there: a store that fails or hangs now may answer later.
    const entries = await list()
    known ??= new Map(entries.map((entry) => [entry.id, isOpen(entry)]))
    return known
  }

  async function forget(id: string): Promise<void> {
    await writable(() => store.remove(id))
    known?.delete(id)
  }

  async function put(entry: JournalEntry): Promise<void> {
    const { id } = entry
    const isIt = isOpen(entry)
    const others = async () => {
      const ids = await index()
      // Also puts the last one to be answered last.
      ids.delete(id)
      const same = [...ids].flatMap(([other, isOther]) => (isOther === isIt ? [other] : []))
      ids.set(id, isIt)
      return same
    }
    try {
      let ids = await others()
      if (isIt && ids.length >= openMax) {
        known = undefined
        ids = await others()
        if (ids.length >= openMax) throw new RangeError('full')
      }
      await store.put(entry)
      if (isIt) return
      for (const old of [...ids, id].slice(0, -answeredMax || undefined)) await forget(old)
    } catch (cause) {
      // A store that can not be read now may be readable later.
      known = undefined
      throw journalError('written', cause)
    }
  }
  return {
    ...{ list, forget, put },
    get: (id) => readable(() => store.get(id)),
    lock: (name) => writable(() => store.lock(name)),
  }
}

function readable<T>(read: () => Promise<T>): Promise<T> {
  return read().catch((cause: unknown) => {
    throw journalError('read', cause)
  })
}

function writable<T>(write: () => Promise<T>): Promise<T> {
  return write().catch((cause: unknown) => {
    throw journalError('written', cause)
  })
}

function journalError(verb: 'read' | 'written', cause: unknown): JournalError {
  if (cause instanceof JournalError) return cause
  const why = cause instanceof Error ? `: ${cause.message}` : ''
  return new JournalError(`The journal can not be ${verb}${why}`, { cause })
}

/** Locks among the clients of one process or tab. */
export function localLocks(): JournalStore['lock'] {
  const held = new Set<string>()
  return async (name) => {
    if (held.has(name)) return undefined
    held.add(name)
    return () => void held.delete(name)
  }
}

/** A journal that lives as long as the process: enough to resume after an unknown outcome. */
export function memoryJournal(): JournalStore {
  const entries = new Map<string, JournalEntry>()
  return {
    put: async (entry) => void entries.set(entry.id, entry),
    get: async (id) => entries.get(id),
    remove: async (id) => void entries.delete(id),
    list: async () => [...entries.values()],
    lock: localLocks(),
  }
}
