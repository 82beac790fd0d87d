/**
 * Journals that outlive the tab.
 *
 * @module
 */

import { type JournalEntry, parsedEntry } from './entry.ts'
import { type JournalStore, localLocks, type Release } from './journal.ts'

/** Settings of {@link localStorageJournal}. */
export interface LocalStorageOptions {
  /**
   * What the names of the items begin with.
   *
   * @default 'reprise:'
   */
  readonly prefix?: string
  /**
   * Where the items are kept.
   *
   * @default localStorage
   */
  readonly storage?: Storage
}

/** Settings of {@link indexedDbJournal}. */
export interface IndexedDbOptions {
  /**
   * Name of the database.
   *
   * @default 'reprise'
   */
  readonly name?: string
}

/**
 * A journal in `localStorage`: simple to look at, a few megabytes, written at once. The tabs of an
 * origin share it.
 */
export function localStorageJournal({
  prefix = 'reprise:',
  storage = localStorage,
}: LocalStorageOptions = {}): JournalStore {
  const read = (name: string): JournalEntry | undefined => {
    const text = storage.getItem(name)
    const entry = text === null ? undefined : parsedEntry(text)
    if (entry !== undefined || text === null) return entry
    throw new Error(`The item ${name} of the storage holds no operation.`)
  }
  /** Items that were reported as damaged. */
  const warned = new Set<string>()
  const readOrWarn = (name: string): readonly JournalEntry[] => {
    try {
      return [read(name) ?? []].flat()
    } catch (error) {
      // The others are not kept from going on; this one is for a person to look at.
      if (!warned.has(name)) console.warn(error)
      warned.add(name)
      return []
    }
  }
  return {
    put: async (entry) => storage.setItem(prefix + entry.id, JSON.stringify(entry)),
    get: async (id) => read(prefix + id),
    remove: async (id) => storage.removeItem(prefix + id),
    list: async () =>
      Array.from({ length: storage.length }, (_, at) => storage.key(at))
        .filter((name) => name?.startsWith(prefix))
        .flatMap((name) => readOrWarn(name ?? '')),
    lock: tabLocks(prefix),
  }
}

/** A journal in IndexedDB: for large bodies, for workers, and durable on disk. Tabs share it. */
export function indexedDbJournal({ name = 'reprise' }: IndexedDbOptions = {}): JournalStore {
  let opened: Promise<IDBDatabase> | undefined
  const open = () => {
    const opening = indexedDB.open(name, 1)
    opening.addEventListener('upgradeneeded', () =>
      opening.result.createObjectStore('journal', { keyPath: 'id' }),
    )
    return settled(opening)
  }
  /** Begins a transaction, on a database that is opened again where that failed before. */
  async function begin(mode: IDBTransactionMode): Promise<IDBTransaction> {
    try {
      opened ??= open()
      return (await opened).transaction('journal', mode, { durability: 'strict' })
    } catch (error) {
      opened = undefined
      throw error
    }
  }
  async function ask<T>(
    mode: IDBTransactionMode,
    act: (store: IDBObjectStore) => IDBRequest<T>,
  ): Promise<T> {
    const transaction = await begin(mode)
    const answer = settled(act(transaction.objectStore('journal')))
    await new Promise<void>((resolve, reject) => {
      transaction.addEventListener('complete', () => resolve())
      transaction.addEventListener('abort', () =>
        reject(new Error('IndexedDB', { cause: transaction.error })),
      )
    })
    return answer
  }
  return {
    put: async (entry) => void (await ask('readwrite', (store) => store.put(entry))),
    get: (id) => ask('readonly', (store) => store.get(id)),
    remove: (id) => ask('readwrite', (store) => store.delete(id)),
    list: () => ask('readonly', (store) => store.getAll()),
    lock: tabLocks(`${name}:`),
  }
}

function settled<T>(request: IDBRequest<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    request.addEventListener('success', () => resolve(request.result))
    request.addEventListener('error', () =>
      reject(new Error('IndexedDB', { cause: request.error })),
    )
  })
}

/** Web Locks that this tab is giving back, by name. */
const leaving = new Map<string, Promise<void>>()

/** Web Locks, which a closed or crashed tab gives back; without them, locks within the tab. */
function tabLocks(prefix: string): JournalStore['lock'] {
  const locks = globalThis.navigator?.locks
  if (locks === undefined) return localLocks()
  return async (name) => {
    const fullName = prefix + name
    // A lock is free some time after it was released: without this wait, the tab that has just released it could be
    // told that somebody holds it.
    await leaving.get(fullName)
    return new Promise<Release | undefined>((resolve, reject) => {
      const released = locks
        .request(fullName, { ifAvailable: true }, (lock) => {
          if (lock === null) return resolve(undefined)
          return new Promise<void>((release) => {
            resolve(() => {
              leaving.set(fullName, released)
              release()
              return released
            })
          })
        })
        .catch(reject)
        .finally(() => leaving.get(fullName) === released && leaving.delete(fullName))
    })
  }
}
