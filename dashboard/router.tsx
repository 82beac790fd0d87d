/**
 * Where the page is. Paths are below the mount, wherever that is.
 *
 * @module
 */

import type { ComponentChildren } from 'preact'
import { createStore, type Store } from './store.ts'

/** A place of the page. */
export interface Place {
  /** Below the mount, without slashes at its ends. */
  readonly path: string
  readonly query: URLSearchParams
}

const { dataset } = document.documentElement
/** The mount as an absolute URL, with a slash at its end. */
export const BASE: string = new URL(dataset['base'] ?? './', location.href).href
/** Where the server takes the mount to be. */
export const MOUNTED_AT: string = dataset['mountedAt'] ?? ''

function here(): Place {
  const url = new URL(location.href)
  const root = new URL(BASE).pathname
  const rest = url.pathname.startsWith(root) ? url.pathname.slice(root.length) : ''
  return { path: rest.replace(/\/+$/, ''), query: url.searchParams }
}

export const place: Store<Place> = createStore(here())

/** The URL of a place. */
export function urlOf(path: string): string {
  return new URL(path, BASE).href
}

interface Kept {
  readonly scroll: number
  readonly focus: string
}

/** What has focus, by what it leads to. */
function focused(): string {
  const active = document.activeElement
  return active?.id || active?.getAttribute('href') || ''
}

function keep(): void {
  const kept: Kept = { scroll: scrollY, focus: focused() }
  history.replaceState(kept, '')
}

/** Goes to a place; `isSmall` changes the address and leaves scroll and focus. */
export function go(path: string, { isSmall = false } = {}): void {
  keep()
  const url = urlOf(path)
  if (url === location.href) return
  if (isSmall) history.replaceState(history.state, '', url)
  else history.pushState(null, '', url)
  const before = place.get().path
  place.set(here())
  if (isSmall) return
  scrollTo(0, 0)
  if (place.get().path !== before) requestAnimationFrame(focusHeading)
}

/** A screen reader is told of the new page by its heading. */
function focusHeading(): void {
  document.querySelector<HTMLElement>('main h1')?.focus({ preventScroll: true })
}

/** Scroll and focus as they were, once the page is tall enough again. */
function restore(kept: Kept | null, triesLeft = 20): void {
  if (kept === null) return
  const isTall = document.documentElement.scrollHeight >= kept.scroll + innerHeight
  if (!isTall && triesLeft > 0) {
    setTimeout(() => restore(kept, triesLeft - 1), 50)
    return
  }
  const target =
    kept.focus === ''
      ? undefined
      : [...document.querySelectorAll<HTMLElement>('a[href], [id]')].find(
          (one) => one.id === kept.focus || one.getAttribute('href') === kept.focus,
        )
  target?.focus({ preventScroll: true })
  scrollTo(0, kept.scroll)
}

history.scrollRestoration = 'manual'
addEventListener('popstate', (event) => {
  place.set(here())
  // Only this module puts anything there.
  requestAnimationFrame(() => restore(event.state as Kept | null))
})

/** A link within the page. */
export function Link({
  to,
  children,
  ...rest
}: {
  to: string
  children: ComponentChildren
  class?: string
  title?: string
  rel?: string
  'aria-current'?: 'page' | 'true' | undefined
  'aria-label'?: string
}) {
  const follow = (event: MouseEvent) => {
    if (event.defaultPrevented || event.button !== 0) return
    if (event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return
    event.preventDefault()
    go(to)
  }
  return (
    <a {...rest} href={urlOf(to)} onClick={follow}>
      {children}
    </a>
  )
}

/** A path with a query; empty values are left out. */
export function withQuery(
  path: string,
  query: Readonly<Record<string, string | undefined>>,
): string {
  const params = new URLSearchParams()
  for (const [name, value] of Object.entries(query)) if (value) params.set(name, value)
  const text = params.toString()
  return text === '' ? path : `${path}?${text}`
}
