/**
 * A list whose rows do not move by themselves: what is new waits until it is asked for.
 *
 * @module
 */

import { useLayoutEffect, useRef, useState } from 'preact/hooks'
import type { Page } from '../src/admin/admin.ts'
import type { ApiError } from './api.ts'
import { useResource } from './resource.ts'

/** A list as it is shown. */
export interface HeldList<T> {
  readonly page: Page<T> | undefined
  readonly error: ApiError | undefined
  /** How many rows are new since. */
  readonly fresh: number
  /** Whether rows are gone since. */
  readonly hasChanged: boolean
  /** Shows what is new. */
  show(): void
  /** Reads again and shows it. */
  reload(): Promise<void>
}

/** Reads a list; rows that are shown are kept up to date where they are. */
export function useHeldList<T>(path: string, idOf: (item: T) => string): HeldList<T> {
  const { data, error, reload, number } = useResource<Page<T>>(path)
  const [shown, setShown] = useState<{ path: string; page: Page<T> }>()
  const isForced = useRef(false)

  // Before anybody has seen it: what comes in the meantime would else be shown as if it had been there.
  useLayoutEffect(() => {
    if (data === undefined) return
    setShown((before) => {
      const isNew = before === undefined || before.path !== path || isForced.current
      isForced.current = false
      if (isNew || before.page.items.length === 0) return { path, page: data }
      const byId = new Map(data.items.map((item) => [idOf(item), item]))
      const items = before.page.items.map((item) => byId.get(idOf(item)) ?? item)
      return { path, page: { ...before.page, items } }
    })
  }, [data, number, path])

  const page = shown?.path === path ? shown.page : data
  const known = new Set(page?.items.map(idOf))
  const now = new Set(data?.items.map(idOf))
  const fresh = [...now].filter((id) => !known.has(id)).length
  return {
    ...{ page, error, fresh },
    hasChanged: data !== undefined && [...known].some((id) => !now.has(id)),
    show: () => data !== undefined && setShown({ path, page: data }),
    reload: async () => {
      isForced.current = true
      await reload()
    },
  }
}
