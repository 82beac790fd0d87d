/**
 * Values that several parts of the page look at.
 *
 * @module
 */

import { useEffect, useState } from 'preact/hooks'

/** A value with watchers. */
export interface Store<T> {
  get(): T
  set(value: T): void
  update(change: Partial<T>): void
  watch(callback: (value: T) => void): () => void
}

/** Makes a value with watchers. */
export function createStore<T>(initial: T): Store<T> {
  let value = initial
  const watchers = new Set<(value: T) => void>()
  const set = (next: T) => {
    if (Object.is(next, value)) return
    value = next
    for (const watcher of [...watchers]) watcher(value)
  }
  return {
    get: () => value,
    set,
    update: (change) => set({ ...value, ...change }),
    watch(callback) {
      watchers.add(callback)
      return () => watchers.delete(callback)
    },
  }
}

/** The value, now and whenever it changes. */
export function useStore<T>(store: Store<T>): T {
  const [value, setValue] = useState(store.get())
  useEffect(() => {
    setValue(() => store.get())
    return store.watch((next) => setValue(() => next))
  }, [store])
  return value
}
