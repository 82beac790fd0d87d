import { expect, it } from 'vitest'
import { memoryStore } from '../../src/stores/memory/index.ts'
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
