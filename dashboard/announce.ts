/**
 * What is said to those who listen to the page, and shown for a moment to those who look.
 *
 * @module
 */

import { createStore, type Store } from './store.ts'

/** Something said. */
export interface Said {
  readonly number: number
  readonly text: string
  readonly isShown: boolean
  readonly isBad: boolean
  /** Takes it back. */
  readonly undo: (() => void) | undefined
}

export const said: Store<Said> = createStore<Said>({
  ...{ number: 0, text: '', isShown: false, isBad: false, undo: undefined },
})

/** Updates by themselves are said at most this often, in milliseconds. */
const SLOW_MS = 10_000
let spokenAt = Number.NEGATIVE_INFINITY

/** Says something; `slow` is left out if something of the kind was said just now. */
export function announce(text: string, kind: 'now' | 'slow' = 'now'): void {
  const now = performance.now()
  if (kind === 'slow' && now - spokenAt < SLOW_MS) return
  if (kind === 'slow') spokenAt = now
  const number = said.get().number + 1
  said.set({ number, text, isShown: false, isBad: false, undo: undefined })
}

/** Says and shows something. */
export function toast(text: string, more: { isBad?: boolean; undo?: () => void } = {}): void {
  const { isBad = false, undo } = more
  said.set({ number: said.get().number + 1, text, isShown: true, isBad, undo })
}

/** Takes what is shown away. */
export function dismiss(): void {
  said.update({ isShown: false })
}
