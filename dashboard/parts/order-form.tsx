/**
 * Ordering something: one key per order, its result said aloud, and conflicts told.
 *
 * @module
 */

import type { ComponentChildren } from 'preact'
import { useRef, useState } from 'preact/hooks'
import { toast } from '../announce.ts'
import { ApiError, type Ended, newKey, order } from '../api.ts'
import { t } from '../strings.ts'
import { Dialog } from './ui.tsx'

/** How an order went, for a person. */
function wordsFor(ended: Ended): { readonly text: string; readonly isBad: boolean } {
  switch (ended.outcome) {
    case 'done':
      return { text: ended.text, isBad: false }
    case 'repeated':
      return { text: t.actions.repeated(ended.text), isBad: false }
    case 'conflict':
      return { text: t.actions.conflict(ended.text), isBad: true }
    case 'not_found':
      return { text: t.actions.notFound, isBad: true }
    case 'refused':
    case 'unconfirmed':
      return { text: ended.text, isBad: true }
  }
}

/** Sends orders. What is pressed twice is sent under one key until it has ended. */
export function useOrder(onEnd: (ended: Ended) => void) {
  const key = useRef(newKey())
  const [problem, setProblem] = useState('')
  const [isBusy, setBusy] = useState(false)
  const send = async (path: string, body: object, undo?: () => void) => {
    setBusy(true)
    setProblem('')
    try {
      const ended = await order(path, body, key.current)
      const { text, isBad } = wordsFor(ended)
      key.current = newKey()
      if (ended.outcome === 'unconfirmed' || ended.outcome === 'refused') setProblem(text)
      else {
        toast(text, { isBad, ...(undo === undefined ? {} : { undo }) })
        onEnd(ended)
      }
    } catch (error) {
      setProblem(error instanceof ApiError ? error.message : String(error))
    } finally {
      setBusy(false)
    }
  }
  return { send, problem, setProblem, isBusy }
}

/** What every order asks for last, and how it is sent. */
interface OrderFormParts {
  readonly title: string
  /** The note for the audit: what it is called, and what was typed. */
  readonly note: { readonly label: string; readonly name: string; readonly text: string }
  readonly onNote: (text: string) => void
  readonly problem: string
  readonly submit: string
  readonly isDangerous?: boolean
  readonly isBusy?: boolean
  readonly onSubmit: (event: Event) => void
  readonly onClose: () => void
  readonly children: ComponentChildren
}

/** The dialog of an order: what is asked for, then why, then the buttons. */
export function OrderDialog({ title, note, children, ...parts }: OrderFormParts) {
  const { onNote, problem, submit, isDangerous = false, isBusy = false } = parts
  return (
    <Dialog title={title} onClose={parts.onClose}>
      <form onSubmit={parts.onSubmit}>
        {children}
        <label class="field">
          {note.label}
          <input
            {...{ name: note.name, value: note.text, required: true, maxLength: 500 }}
            onInput={(event) => onNote(event.currentTarget.value)}
          />
        </label>
        <p class="problem" role="alert">
          {problem}
        </p>
        <div class="buttons">
          <button type="submit" class={isDangerous ? 'danger' : 'main'} aria-disabled={isBusy}>
            {submit}
          </button>
          <button type="button" onClick={parts.onClose}>
            {t.actions.cancel}
          </button>
        </div>
      </form>
    </Dialog>
  )
}
