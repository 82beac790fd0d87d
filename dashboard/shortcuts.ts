/**
 * Shortcuts of a single letter. They can be switched off, and never act while somebody types.
 *
 * @module
 */

import { useEffect } from 'preact/hooks'
import { prefs } from './prefs.ts'
import { go } from './router.tsx'

const PLACES: Readonly<Record<string, string>> = { o: '', r: 'requests', d: 'person', s: 'stuck' }
const THEMES = ['system', 'light', 'dark'] as const
/** How long the second letter of `g o` may take, in milliseconds. */
const SECOND_MS = 1500

function isTyping(target: EventTarget | null): boolean {
  return (
    target instanceof HTMLElement && target.matches('input:not([type=checkbox]), textarea, select')
  )
}

function moveRow(step: number): void {
  const rows = [...document.querySelectorAll<HTMLElement>('a.row-link')]
  const row = document.activeElement?.closest('tr') ?? null
  const index = rows.findIndex((one) => row?.contains(one) ?? false)
  rows[Math.max(0, Math.min(rows.length - 1, index + step))]?.focus()
}

function press(selector: string): void {
  document.querySelector<HTMLElement>(selector)?.click()
}

/** What each letter does. */
const ACTS: Readonly<Record<string, () => void>> = {
  '/': () => document.querySelector<HTMLElement>('#search')?.focus(),
  j: () => moveRow(1),
  k: () => moveRow(-1),
  x: () => {
    const row = document.activeElement?.closest('tr')
    row?.querySelector<HTMLElement>('input[type=checkbox]')?.click()
  },
  r: () => press('[data-action="resume"]'),
  p: () => {
    const { refresh } = prefs.get()
    prefs.update({ refresh: refresh === 'paused' ? 'live' : 'paused' })
  },
  t: () => {
    const next = THEMES[(THEMES.indexOf(prefs.get().theme) + 1) % THEMES.length]
    if (next !== undefined) prefs.update({ theme: next })
  },
}

/** Listens for shortcuts. */
export function useShortcuts(onHelp: () => void): void {
  useEffect(() => {
    let goesAt = Number.NEGATIVE_INFINITY
    const listen = (event: KeyboardEvent) => {
      if (event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target)) return
      if (!prefs.get().hasShortcuts || document.querySelector('dialog[open]') !== null) return
      const goes = performance.now() - goesAt < SECOND_MS ? PLACES[event.key] : undefined
      goesAt = event.key === 'g' ? performance.now() : Number.NEGATIVE_INFINITY
      const act = goes === undefined ? ACTS[event.key] : () => go(goes)
      if (event.key === '?') onHelp()
      else if (act !== undefined) act()
      else return
      event.preventDefault()
    }
    addEventListener('keydown', listen)
    return () => removeEventListener('keydown', listen)
  }, [])
}
