/**
 * Random histories of the work around records: phases, calls, jobs, letters and transactions. A
 * history is data, so that the same one can be played on two stores.
 *
 * @module
 */

import { Chance } from '../../engine/chance.ts'

/** One command; `at` chooses among the claims, letters and identities that there are. */
export interface Command {
  readonly kind: (typeof KINDS)[number]
  readonly at: number
  readonly choice: number
  /** Chooses what comes in between. */
  readonly between: number
}

const KINDS = [
  ...['claim', 'claim', 'claim', 'claim other', 'pass', 'pass', 'expire', 'renew', 'release'],
  ...['advance phase', 'advance phase', 'finish phase', 'undo phase', 'begin call', 'open call'],
  ...[
    'stop',
    'leave',
    'take',
    'take',
    'take abandoned',
    'bury',
    'bury unknown',
    'letters',
    'settle',
  ],
  ...['settle', 'jobs', 'jobs', 'next due', 'history', 'sweep', 'sweep history'],
  'sweep letters',
  ...['transaction', 'transaction', 'find'],
] as const

/** How long a history is. */
const LENGTH = 40

/** The history of a seed. */
export function historyOf(seed: number): readonly Command[] {
  const chance = new Chance(seed)
  return Array.from({ length: LENGTH }, () => ({
    kind: chance.pick(...KINDS),
    at: chance.fraction(),
    choice: chance.fraction(),
    between: chance.fraction(),
  }))
}
