/**
 * Ordering something: one key per order, its result said aloud, and conflicts told.
 *
 * @module
 */

import { useRef, useState } from 'preact/hooks'
import { toast } from '../announce.ts'
import { ApiError, type Ended, newKey, order } from '../api.ts'
import { t } from '../strings.ts'

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
