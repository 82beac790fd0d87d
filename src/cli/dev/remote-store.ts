/**
 * A store in another process, so that records outlive the process that is killed for the show.
 *
 * @module
 */

import type { Store } from '../../engine/store.ts'
import type { Call } from './channel.ts'

const VERBS = [
  ...(['ready', 'claim', 'renew', 'advance', 'finish', 'release'] as const),
  ...(['find', 'list', 'sweep', 'stats'] as const),
]

/** The store at the other end. */
export function remoteStore(call: Call): Store {
  const verbs = VERBS.map((verb) => [
    verb,
    (...values: readonly unknown[]) => call(`store.${verb}`, values),
  ])
  // Every verb of the port but `close` and what is optional; the other end has the same ones.
  const remote = Object.fromEntries(verbs) as Omit<Store, 'name' | 'close'>
  return { ...remote, name: 'memory', close: async () => {} }
}

/** What answers for a store at this end. */
export function storeVerbs(
  store: () => Store<unknown>,
): Readonly<Record<string, (...values: never[]) => unknown>> {
  return Object.fromEntries(
    VERBS.map((verb) => {
      const answer = (...values: never[]): unknown => {
        const target = store()
        // Values come from the same port at the other end.
        const own = target[verb].bind(target) as (...given: never[]) => unknown
        return own(...values)
      }
      return [`store.${verb}`, answer]
    }),
  )
}
