/**
 * What the server has under a path, read again when it changes.
 *
 * @module
 */

import { useCallback, useEffect, useRef, useState } from 'preact/hooks'
import { ApiError, read } from './api.ts'
import { live } from './live.ts'

/** What is known of a resource. */
export interface Resource<T> {
  readonly data: T | undefined
  readonly error: ApiError | undefined
  /** Counts up with each reading. */
  readonly number: number
  reload(): Promise<void>
}

const KEPT_MAX = 60
/** What was read before is shown at once when a person comes back. */
const kept = new Map<string, unknown>()

function keep(path: string, data: unknown): void {
  kept.delete(path)
  kept.set(path, data)
  for (const name of kept.keys()) {
    if (kept.size <= KEPT_MAX) return
    kept.delete(name)
  }
}

interface Known<T> {
  readonly path: string | undefined
  readonly data: T | undefined
  readonly error: ApiError | undefined
  readonly number: number
}

/** Reads a path, and reads it again with each tick; `undefined` reads nothing. */
export function useResource<T>(path: string | undefined, isLive = true): Resource<T> {
  const start = (): Known<T> => ({
    // Under one path there is always the same kind of thing.
    ...{ path, data: path === undefined ? undefined : (kept.get(path) as T | undefined) },
    ...{ error: undefined, number: 0 },
  })
  const [known, setKnown] = useState(start)
  const current = known.path === path ? known : start()
  const asked = useRef<AbortController | undefined>(undefined)

  const reload = useCallback(async () => {
    if (path === undefined) return
    asked.current?.abort()
    const controller = new AbortController()
    asked.current = controller
    try {
      const data = await read<T>(path, controller.signal)
      keep(path, data)
      setKnown((before) => ({ path, data, error: undefined, number: before.number + 1 }))
    } catch (error) {
      if (controller.signal.aborted) return
      const problem = error instanceof ApiError ? error : new ApiError(0, 'bug', String(error))
      setKnown((before) => ({
        ...{ path, error: problem, number: before.number + 1 },
        data: before.path === path ? before.data : (kept.get(path) as T | undefined), // As above.
      }))
    } finally {
      if (asked.current === controller) asked.current = undefined
    }
  }, [path])

  useEffect(() => {
    void reload()
    let { tick } = live.get()
    const unwatch = live.watch((value) => {
      if (value.tick === tick) return
      ;({ tick } = value)
      if (isLive && asked.current === undefined) void reload()
    })
    return () => {
      unwatch()
      asked.current?.abort()
      asked.current = undefined
    }
  }, [reload, isLive])

  return { data: current.data, error: current.error, number: current.number, reload }
}
