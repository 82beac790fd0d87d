/**
 * Small parts that every page uses.
 *
 * @module
 */

import type { ComponentChildren } from 'preact'
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks'
import type { RequestState } from '../../src/admin/admin.ts'
import { toast } from '../announce.ts'
import type { ApiError } from '../api.ts'
import { hold } from '../live.ts'
import { Link } from '../router.tsx'
import { STATES, t } from '../strings.ts'
import { WithCodes } from './error-codes.tsx'
import { Icon } from './icon.tsx'

/** How a request stands: a shape and a word. */
export function StateBadge({ state }: { state: RequestState }) {
  const [word, sign, meaning] = STATES[state]
  return (
    <span class="badge" data-state={state} title={meaning}>
      <Icon name={sign} /> {word}
    </span>
  )
}

/** The first and the last characters of a key. */
export function shorten(key: string): string {
  return key.length <= 18 ? key : `${key.slice(0, 9)}…${key.slice(-6)}`
}

/** Copies text, also on plain HTTP, where the clipboard is not to be had. */
export async function copy(text: string): Promise<void> {
  try {
    await navigator.clipboard.writeText(text)
  } catch {
    const area = document.createElement('textarea')
    area.value = text
    area.className = 'off'
    area.setAttribute('aria-hidden', 'true')
    const parent = document.querySelector('dialog[open]') ?? document.body
    const focused = document.activeElement
    parent.append(area)
    area.select()
    document.execCommand('copy')
    area.remove()
    if (focused instanceof HTMLElement) focused.focus()
  }
  toast(t.detail.copied)
}

/** A button that copies. */
export function CopyButton({ text, label }: { text: string; label: string }) {
  return (
    <button type="button" class="small copy" aria-label={label} onClick={() => void copy(text)}>
      <Icon name="copy" />
    </button>
  )
}

/** A dialog. Updates are held back while it is open; focus goes back when it closes. */
export function Dialog({
  title,
  onClose,
  children,
}: {
  title: string
  onClose: () => void
  children: ComponentChildren
}) {
  const element = useRef<HTMLDialogElement>(null)
  // With the page that it belongs to, so that no key goes to what is behind it.
  useLayoutEffect(() => {
    const opener = document.activeElement
    const name = `dialog ${title}`
    hold(name, true)
    element.current?.showModal()
    return () => {
      hold(name, false)
      element.current?.close()
      if (opener instanceof HTMLElement && opener.isConnected) opener.focus()
    }
  }, [])
  const cancel = (event: Event) => {
    event.preventDefault()
    onClose()
  }
  return (
    <dialog ref={element} aria-labelledby="dialog-title" onCancel={cancel}>
      <h2 id="dialog-title">{title}</h2>
      {children}
    </dialog>
  )
}

/** The heading of a page; gets focus when the page is gone to. */
export function Heading({ children }: { children: ComponentChildren }) {
  return <h1 tabIndex={-1}>{children}</h1>
}

/** A part of a page. */
export function Card({
  title,
  children,
  kind = '',
  id,
}: {
  title: ComponentChildren
  children: ComponentChildren
  kind?: string
  id?: string
}) {
  return (
    <section class={`card ${kind}`} id={id}>
      <h2>{title}</h2>
      {children}
    </section>
  )
}

/** A table in a frame of its own, which scrolls if it has to. */
export function TableFrame({ label, children }: { label: string; children: ComponentChildren }) {
  return (
    <div class="wide" role="region" aria-label={label} tabIndex={0}>
      {children}
    </div>
  )
}

/** Why something can not be shown, and when it is tried again. */
export function Problem({ error, onRetry }: { error: ApiError; onRetry: () => void }) {
  const isDown = error.code === 'store_unavailable' || error.code === 'network'
  const isSlow = error.code === 'timed_out'
  const title = isDown ? t.error.down : isSlow ? t.error.timedOut : t.error.other
  return (
    <div class="notice bad" role="alert">
      <p>
        <strong>
          <Icon name="cross" /> {title}
        </strong>
      </p>
      <p>
        <WithCodes text={error.message} />
      </p>
      {isSlow && <p>{t.error.timedOutHint}</p>}
      {isDown && <Countdown key={error} ms={error.retryAfterMs ?? 5000} onEnd={onRetry} />}
      {error.status !== 403 && error.status !== 404 && (
        <button type="button" onClick={onRetry}>
          {t.error.again}
        </button>
      )}
    </div>
  )
}

function Countdown({ ms, onEnd }: { ms: number; onEnd: () => void }) {
  const [left, setLeft] = useState(Math.ceil(ms / 1000))
  useEffect(() => {
    if (left <= 0) {
      onEnd()
      return
    }
    const timer = setTimeout(() => setLeft(left - 1), 1000)
    return () => clearTimeout(timer)
  }, [left])
  // Not said aloud each second.
  return <p aria-live="off">{t.error.countdown(Math.max(0, left))}</p>
}

/** Something to load is under way: kept as tall as what comes. */
export function Loading() {
  return (
    <div class="loading" aria-hidden="true">
      <span />
      <span />
      <span />
    </div>
  )
}

/** Links that choose between lists, with how many each has. */
export function Tabs({
  label,
  tabs,
}: {
  label: string
  tabs: readonly {
    readonly name: ComponentChildren
    readonly to: string
    readonly isHere: boolean
  }[]
}) {
  return (
    <nav class="tabs" aria-label={label}>
      {tabs.map(({ name, to, isHere }) => (
        <span class={isHere ? 'tab here' : 'tab'}>
          <Link to={to} aria-current={isHere ? 'true' : undefined}>
            {name}
          </Link>
        </span>
      ))}
    </nav>
  )
}
