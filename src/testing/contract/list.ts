/**
 * Checks of `list`: every record once, by page and by filter.
 *
 * @module
 */

import assert from 'node:assert/strict'
import type { RecordStatus } from '../../core/record.ts'
import type { StoreCheck } from '../harness.ts'
import { bytes, comparable, expectFound, freshOwner, sampleRequest, take } from './sample.ts'
import { arrangeStandings, idsOf, listAll, sampleRequests } from './standings.ts'

/** Every record is listed once, by page and by filter. */
export const listChecks: readonly StoreCheck[] = [
  {
    name: 'lists every record once, page by page',
    async check(harness) {
      const { store } = harness
      const made = sampleRequests(23, {})
      await Promise.all(made.map((request) => take(store, request)))
      const listed = idsOf(await listAll(harness, { limit: 5 }))

      const own = new Set(made.map(({ id }) => id))
      assert.deepEqual(
        listed.filter((id) => own.has(id)),
        [...own].sort(),
      )
    },
  },
  {
    name: 'lists a whole record as it is found',
    async check(harness) {
      const { store } = harness
      const request = sampleRequest({ caller: freshOwner(), input: bytes('input') })
      await take(store, request)
      const found = await expectFound(store, request.id)
      const [listed, ...more] = await listAll(harness, { caller: request.caller, limit: 10 })

      assert.equal(more.length, 0)
      assert.equal(listed?.status, found.status)
      assert.deepEqual(listed && comparable(listed.record), comparable(found.record))
    },
  },
  {
    name: 'lists the records of one caller',
    async check(harness) {
      const { store } = harness
      const caller = freshOwner()
      const own = sampleRequests(3, { caller })
      for (const request of [...own, ...sampleRequests(3, { caller: `${caller}2` })]) {
        await take(store, request)
      }

      const expected = own.map(({ id }) => id).sort()
      assert.deepEqual(idsOf(await listAll(harness, { caller, limit: 2 })), expected)
    },
  },
  {
    name: 'lists the records of one operation',
    async check(harness) {
      const { store } = harness
      const [caller, operation] = [freshOwner(), freshOwner()]
      const own = sampleRequests(3, { operation })
      const callers = sampleRequests(2, { caller, operation })
      for (const request of [...own, ...callers, ...sampleRequests(2, { caller })]) {
        await take(store, request)
      }

      const both = idsOf(await listAll(harness, { operation, limit: 2 }))
      assert.deepEqual(both, [...own, ...callers].map(({ id }) => id).sort())
      const one = idsOf(await listAll(harness, { caller, operation, limit: 2 }))
      assert.deepEqual(one, callers.map(({ id }) => id).sort())
    },
  },
  {
    name: 'lists the records of one standing',
    async check(harness) {
      const caller = freshOwner()
      const ids = await arrangeStandings(harness, caller)

      // The keys of the record are the standings: it was built that way above.
      for (const status of Object.keys(ids) as readonly RecordStatus[]) {
        const listed = await listAll(harness, { caller, status, limit: 10 })
        assert.deepEqual(idsOf(listed), [ids[status]])
        assert.equal(listed[0]?.status, status)
      }
    },
  },
  {
    name: 'lists nothing for a caller without records',
    async check(harness) {
      const { store } = harness
      await take(store, sampleRequest())

      assert.deepEqual(await listAll(harness, { caller: freshOwner(), limit: 100 }), [])
    },
  },
]
