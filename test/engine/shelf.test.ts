import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { Shelf } from '../../src/engine/shelf.ts'

describe('the shelf', () => {
  it('gives each thing once, with its very bytes', () => {
    const shelf = new Shelf<string>(1000)
    shelf.put('a', 'ä', Uint8Array.of(0, 128, 255))

    expect(shelf.take('b')).toBeUndefined()
    expect(shelf.take('a')).toEqual({ thing: 'ä', bytes: Buffer.of(0, 128, 255) })
    expect(shelf.take('a')).toBeUndefined()
  })

  it('gives bytes that are not changed by what is put over them', () => {
    const shelf = new Shelf<number>(64)
    shelf.put('a', 1, Uint8Array.of(1, 1, 1))
    const taken = shelf.take('a')
    for (let times = 0; times < 10; times++) shelf.put('b', 2, Uint8Array.of(2, 2, 2))

    expect(taken?.bytes).toEqual(Buffer.of(1, 1, 1))
    // No more memory than its bytes take.
    expect(taken?.bytes.buffer.byteLength).toBe(3)
  })

  it('has nothing where it has no room', () => {
    const shelf = new Shelf<number>(0)

    expect(shelf.put('a', 1, new Uint8Array())).toBe(false)
    expect(shelf.take('a')).toBeUndefined()
  })

  it('gives what was put last under a name or nothing, in any order of calls', () => {
    const name = fc.constantFrom('a', 'b', 'c', 'ä', 'a longer name')
    const put = fc.record({ name, thing: fc.string({ unit: 'grapheme' }), size: fc.nat(90) })
    const step = fc.oneof(put, fc.record({ name }))
    fc.assert(
      fc.property(fc.nat(300), fc.array(step, { maxLength: 60 }), (capacity, steps) => {
        const shelf = new Shelf<string>(capacity)
        const last = new Map<string, { thing: string; bytes: Uint8Array }>()
        for (const [number, one] of steps.entries()) {
          if ('thing' in one) {
            const bytes = Buffer.alloc(one.size, number)
            if (shelf.put(one.name, one.thing, bytes)) last.set(one.name, { ...one, bytes })
          } else {
            const taken = shelf.take(one.name)
            const { thing, bytes } = last.get(one.name) ?? {}
            if (taken !== undefined) expect(taken).toEqual({ thing, bytes })
            last.delete(one.name)
          }
        }
      }),
      { numRuns: 2000 },
    )
  })

  it('keeps as many as fit, the latest of them', () => {
    const shelf = new Shelf<number>(100_000)
    const names = Array.from({ length: 1000 }, (_, number) => `name-${number}`)
    for (const name of names) shelf.put(name, 1, new Uint8Array(480))
    const kept = names.filter((name) => shelf.take(name) !== undefined)

    expect(kept.at(-1)).toBe('name-999')
    expect(kept.length).toBeGreaterThan(150)
    expect(kept.every((name) => Number(name.slice(5)) > 790)).toBe(true)
  })
})
