import { describe, expect, it } from 'vitest'
import { SeenIds } from '../../src/stores/postgres/seen-ids.ts'

describe('the ids that a process has met', () => {
  it('has what was added, and nothing else', () => {
    const seen = new SeenIds()
    seen.add('a')

    expect(seen.has('a')).toBe(true)
    expect(seen.has('b')).toBe(false)
    expect(seen.has('')).toBe(false)
  })

  it('has most of the last ten thousand', () => {
    const seen = new SeenIds()
    const ids = Array.from({ length: 10_000 }, (_, number) => `id-${number}`)
    for (const id of ids) seen.add(id)

    expect(ids.filter((id) => seen.has(id)).length).toBeGreaterThan(8000)
  })
})
