import { expect, it } from 'vitest'
import { memoryDesk, memoryStore } from '../../src/stores/memory/index.ts'
import { sampleRequest } from '../../src/testing/contract/sample.ts'

it('a page of a list that ends with the list says that there is no other', async () => {
  const store = memoryStore()
  for (let i = 0; i < 3; i++) await store.claim(sampleRequest())
  const pages = [4, 3, 2].map((limit) => store.list({ limit }))

  const [longer, whole, part] = await Promise.all(pages)
  expect([longer?.next, whole?.next]).toEqual([null, null])
  expect(part?.next).toBe(part?.records.at(-1)?.record.id)
  const rest = await store.list({ limit: 2, after: part?.next ?? '' })
  expect([rest.records.length, rest.next]).toEqual([1, null])
})

it('shows when a record was made by the time of day, also on a clock that does not know it', async () => {
  const store = memoryStore({ clock: { now: () => 5 }, desk: memoryDesk })
  const before = Date.now()
  await store.claim(sampleRequest({ id: 'a' }))
  const found = await store.desk?.find({ graceMs: 0, gracesMs: {}, callers: null }, 'a')
  expect(found?.row.createdAt).toBeGreaterThanOrEqual(before - 1000)
  expect(found?.row.createdAt).toBeLessThanOrEqual(Date.now())
})
