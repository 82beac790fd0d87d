/**
 * Records of every standing, and a whole listing of them.
 *
 * @module
 */

import assert from 'node:assert/strict'
import type { RecordStatus } from '../../core/record.ts'
import type { ClaimRequest, ListedRecord, ListQuery, Store } from '../../engine/store.ts'
import type { StoreHarness } from '../harness.ts'
import { EXPIRY_MS, LAPSE_MS, sampleRequest, take, takeAndFinish } from './sample.ts'

/** More pages than any check fills; a listing that goes on for longer goes in circles. */
const PAGES_MAX = 10_000

/** Every record that the query lists, over all pages. */
export async function listAll(
  { store, listsOnce = true }: Pick<StoreHarness, 'store' | 'listsOnce'>,
  query: ListQuery,
): Promise<readonly ListedRecord[]> {
  const listed: ListedRecord[] = []
  const seen = new Set<string>()
  let after: string | null = null
  for (let page = 0; page < PAGES_MAX; page++) {
    const { records, next } = await store.list(after === null ? query : { ...query, after })
    assert.ok(records.length <= query.limit, 'A page is longer than its limit.')
    for (const one of records) {
      if (!seen.has(one.record.id) || listsOnce) listed.push(one)
      seen.add(one.record.id)
    }
    if (next === null) return listed
    after = next
  }
  assert.fail('The listing does not end.')
}

/** More rounds than any check needs. */
const SWEEPS_MAX = 1000

/** Sweeps until there is nothing left to sweep. */
export async function sweepAll(store: Store<unknown>): Promise<void> {
  for (let round = 0; round < SWEEPS_MAX; round++) if ((await store.sweep(1000)) === 0) return
  assert.fail('The sweeping does not end.')
}

/** Ids in order, for comparison. */
export function idsOf(listed: readonly ListedRecord[]): readonly string[] {
  return listed.map(({ record }) => record.id).sort()
}

/** That many requests, each under an identity of its own. */
export function sampleRequests(
  count: number,
  overrides: Partial<ClaimRequest>,
): readonly ClaimRequest[] {
  return Array.from({ length: count }, () => sampleRequest(overrides))
}

/** One record of each standing, under one caller. Ids by standing. */
export async function arrangeStandings(
  { store, advance }: StoreHarness,
  caller: string,
): Promise<Readonly<Record<RecordStatus, string>>> {
  const expired = sampleRequest({ caller })
  await takeAndFinish(store, expired)
  await advance(EXPIRY_MS)
  const suspended = sampleRequest({ caller, recoveryPoint: 'started' })
  const unknown = sampleRequest({ caller })
  await take(store, suspended)
  await take(store, unknown)
  await advance(LAPSE_MS)
  const finished = sampleRequest({ caller })
  const running = sampleRequest({ caller })
  await takeAndFinish(store, finished)
  await take(store, running)
  return {
    ...{ running: running.id, suspended: suspended.id, unknown: unknown.id },
    ...{ finished: finished.id, expired: expired.id },
  }
}
