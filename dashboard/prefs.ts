/**
 * What a person has chosen, kept in this browser.
 *
 * @module
 */

import { createStore, type Store } from './store.ts'

export type Theme = 'system' | 'light' | 'dark'
export type TimeMode = 'relative' | 'local' | 'utc'
export type Refresh = 'live' | '2' | '5' | '15' | '60' | 'paused'

/** Everything that can be chosen. */
export interface Prefs {
  readonly theme: Theme
  readonly time: TimeMode
  readonly refresh: Refresh
  readonly hasShortcuts: boolean
  /** Columns of the list of requests that are not shown. */
  readonly hiddenColumns: readonly string[]
}

const NAME = 'reprise-dashboard'
const DEFAULTS: Prefs = {
  ...{ theme: 'system', time: 'relative', refresh: 'live', hasShortcuts: true, hiddenColumns: [] },
}

function read(): Prefs {
  try {
    return { ...DEFAULTS, ...JSON.parse(localStorage.getItem(NAME) ?? '{}') }
  } catch {
    return DEFAULTS
  }
}

export const prefs: Store<Prefs> = createStore(read())

function apply({ theme }: Prefs): void {
  const { dataset } = document.documentElement
  if (theme === 'system') delete dataset['theme']
  else dataset['theme'] = theme
}

apply(prefs.get())
prefs.watch((value) => {
  apply(value)
  try {
    localStorage.setItem(NAME, JSON.stringify(value))
  } catch {
    // Without storage a choice lasts as long as the page.
  }
})
