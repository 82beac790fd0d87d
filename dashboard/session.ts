/**
 * Who looks, and what they may do.
 *
 * @module
 */

import type { Action } from '../src/dashboard/options.ts'
import { createStore, type Store } from './store.ts'

/** What the server says first. */
export interface Session {
  readonly user: string
  readonly can: readonly Action[]
  readonly readOnly: boolean
  readonly label: string | null
  readonly isScoped: boolean
  readonly traceUrl: string | null
  readonly callUrl: string | null
}

export const session: Store<Session> = createStore<Session>({
  ...{ user: '', can: [], readOnly: false, label: null, isScoped: false },
  ...{ traceUrl: null, callUrl: null },
})

/** Whether an action may be taken here. */
export function may(action: Action): boolean {
  return session.get().can.includes(action)
}

const meta = document.querySelector<HTMLMetaElement>('meta[name="reprise-label"]')
/** Name of the environment, known before anything is asked. */
export const LABEL: string = meta?.content ?? ''
export const LABEL_COLOR: string = meta?.dataset['color'] ?? 'grey'
