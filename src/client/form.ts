/**
 * Forms that the browser sends itself: a hidden key, and one submit at a time.
 *
 * @module
 */

import { FORM_FIELD } from '../core/form-field.ts'
import { type Clock, systemClock } from './clock.ts'
import { uuidV7 } from './key.ts'

/** Settings of {@link protectForm}. */
export interface FormOptions {
  /**
   * Name of the field that carries the key.
   *
   * @default 'idempotency_key'
   */
  readonly name?: string
  /**
   * How long a further submit is swallowed while the first is on its way, in milliseconds. Later ones
   * are sent again, with the same key.
   *
   * @default 10_000
   */
  readonly lockMs?: number
  /**
   * How keys are made.
   *
   * @default UUIDv7
   */
  readonly newKey?: () => string
  /**
   * Time, for tests.
   *
   * @default the real time
   */
  readonly clock?: Clock
}

/** A form that is protected. */
export interface ProtectedForm {
  /** The key that the form carries now. */
  readonly key: string
  /** Begins a new operation: a fresh key, and submits are let through. */
  renew(): void
  /** Takes the protection off; the field stays. */
  remove(): void
}

/**
 * Gives a form its key, and makes double clicks harmless. What is submitted again unchanged has the
 * same key; what was changed after a submit is another operation and gets a fresh one.
 */
export function protectForm(form: HTMLFormElement, options: FormOptions = {}): ProtectedForm {
  const { name = FORM_FIELD, lockMs = 10_000, newKey = uuidV7, clock = systemClock } = options
  const field = fieldOf(form, name)
  // The server may have rendered one.
  if (field.value === '') field.value = newKey()
  let isLocked = false
  let sent: string | undefined
  let cancel = () => {}

  const unlock = () => {
    cancel()
    isLocked = false
  }
  const onSubmit = (event: SubmitEvent) => {
    const said = contentOf(form, { name, submitter: event.submitter })
    if (isLocked && said === sent) {
      event.preventDefault()
      event.stopImmediatePropagation()
      return
    }
    if (sent !== undefined && said !== sent) field.value = newKey()
    unlock()
    sent = said
    isLocked = true
    // A page that sends the form itself, or found a mistake in it, decides on its own.
    const cancelLook = clock.after(0, () => event.defaultPrevented && unlock())
    const cancelLock = clock.after(lockMs, unlock)
    cancel = () => {
      cancelLook()
      cancelLock()
    }
  }
  // Shown again from the browser's cache, as it was left.
  const onShow = () => unlock()

  form.addEventListener('submit', onSubmit, { capture: true })
  addEventListener('pageshow', onShow)
  return {
    get key() {
      return field.value
    },
    renew() {
      unlock()
      sent = undefined
      field.value = newKey()
    },
    remove() {
      unlock()
      form.removeEventListener('submit', onSubmit, { capture: true })
      removeEventListener('pageshow', onShow)
    },
  }
}

function fieldOf(form: HTMLFormElement, name: string): HTMLInputElement {
  const found = form.elements.namedItem(name)
  if (found instanceof HTMLInputElement) return found
  const field = document.createElement('input')
  field.type = 'hidden'
  field.name = name
  form.append(field)
  return field
}

/** What the form says, without its key. Files are told apart by name, size and time. */
function contentOf(
  form: HTMLFormElement,
  { name, submitter }: { name: string; submitter: HTMLElement | null },
): string {
  const entries = [...new FormData(form, submitter)].filter(([field]) => field !== name)
  const said = entries.map(([field, value]) =>
    typeof value === 'string'
      ? [field, value]
      : [field, value.name, value.size, value.lastModified],
  )
  return JSON.stringify(said)
}
