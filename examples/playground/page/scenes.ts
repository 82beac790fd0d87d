/**
 * The scenes of the tour; each has an address of its own: `#scene=…`.
 *
 * @module
 */

import type { Network } from './plan.ts'

/** A scene. */
export interface Scene {
  readonly name: string
  readonly title: string
  /** What is to be seen. */
  readonly text: string
  readonly network?: Network
  readonly crash?: string
  readonly isUnprotected?: boolean
  readonly ignoresKeys?: boolean
  readonly isTogether?: boolean
}

/** All scenes, in order. */
export const SCENES: readonly Scene[] = [
  {
    ...{ name: 'pay', title: 'all is well' },
    text: 'A payment that nothing happens to: one request, one charge, one receipt.',
  },
  {
    ...{ name: 'cut-after', title: 'answer lost', network: 'cut-after' },
    text: 'The connection is cut before the answer. The client can not know that it has paid, sends the same again, and gets the stored answer.',
  },
  {
    ...{ name: 'five', title: 'five at once', isTogether: true },
    text: 'Five clicks at the same moment. One runs; the others are told to wait, and get its answer.',
  },
  {
    ...{ name: 'crash-after-charge', title: 'killed after the charge', crash: 'after-charge' },
    text: 'The server is killed when the provider has charged and nothing of it is stored. The retry asks the provider again with the same key of its own: no second charge.',
  },
  {
    ...{ name: 'ignores-keys', title: 'no keys at the provider', crash: 'after-charge' },
    ...{ ignoresKeys: true },
    text: 'The same with a provider that ignores keys. Nobody can know whether it charged, so a person is asked instead of charging twice.',
  },
  {
    ...{ name: 'unprotected', title: 'without idempotency', network: 'cut-after' },
    ...{ isUnprotected: true },
    text: 'The lost answer once more, on a route without idempotency: the retry charges again.',
  },
]
