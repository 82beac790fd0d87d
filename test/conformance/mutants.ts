/**
 * Stores that are broken in one way each.
 *
 * @module
 */

import type { Store } from '../../src/engine/store.ts'
import { FakeClock } from '../../src/testing/fake-clock.ts'
import type { StoreHarness } from '../../src/testing/harness.ts'
import { BROKEN_PARTS } from './broken-parts.ts'
import { BROKEN_PAYLOADS } from './broken-payloads.ts'
import { BROKEN_QUOTAS } from './broken-quotas.ts'
import { BROKEN_VERBS } from './broken-verbs.ts'
import { type Parts, PliableStore } from './pliable-store.ts'

export interface Mutant {
  /** What is wrong with it. */
  readonly name: string
  harness(): StoreHarness
}

/** A harness on a store with broken parts or broken verbs; without either it is whole. */
export function pliableHarness(
  parts: Partial<Parts> = {},
  verbs: (store: PliableStore) => Partial<Store> = () => ({}),
): StoreHarness {
  const clock = new FakeClock()
  const store = new PliableStore(clock, parts)
  Object.assign(store, verbs(store))
  return { store, peer: store, wakesWithinMs: 50, advance: async (ms) => clock.advance(ms) }
}

/** Every broken store. */
export const MUTANTS: readonly Mutant[] = [
  ...Object.entries({ ...BROKEN_PARTS, ...BROKEN_PAYLOADS, ...BROKEN_QUOTAS }).map(
    ([name, parts]) => ({
      name,
      harness: () => pliableHarness(parts),
    }),
  ),
  ...Object.entries(BROKEN_VERBS).map(([name, verbs]) => ({
    name,
    harness: () => pliableHarness({}, verbs),
  })),
  {
    name: 'keeps a copy for each instance',
    harness: () => ({ ...pliableHarness(), peer: pliableHarness().store }),
  },
]
