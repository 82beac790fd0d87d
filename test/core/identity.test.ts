import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { keyDigest, lengthPrefixed, recordId } from '../../src/core/identity.ts'

/** Strings that look like lengths and parts, and strings of any code units. */
const part = fc.oneof(
  fc.array(fc.constantFrom('0', '1', '2', ':', 'a')).map((chars) => chars.join('')),
  fc.array(fc.nat(0xffff)).map((codes) => String.fromCharCode(...codes)),
)
const parts = fc.array(part, { maxLength: 4 })

/** The parts of a prefixed text; whatever can be taken apart again was joined without loss. */
function takeApart(text: string): readonly string[] {
  const found: string[] = []
  for (let at = 0; at < text.length; ) {
    const colon = text.indexOf(':', at)
    const end = colon + 1 + Number(text.slice(at, colon))
    found.push(text.slice(colon + 1, end))
    at = end
  }
  return found
}

function cutAt(text: string, points: readonly number[]): readonly string[] {
  const ends = [...points].sort((a, b) => a - b)
  return [...ends, text.length].map((end, index) => text.slice(ends[index - 1] ?? 0, end))
}

describe('lengthPrefixed', () => {
  it('can be taken apart again', () => {
    fc.assert(
      fc.property(parts, (list) => {
        expect(takeApart(lengthPrefixed(list))).toEqual(list)
      }),
    )
  })
})

describe('recordId', () => {
  it('has 43 characters that mean nothing to any store', () => {
    fc.assert(
      fc.property(parts, (list) => {
        expect(recordId(list, list[0] ?? '')).toMatch(/^[\w-]{43}$/)
      }),
    )
  })

  it('differs for lists that only look alike when joined', () => {
    const lists = [['ab', 'c'], ['a', 'bc'], ['abc'], ['abc', ''], ['', 'abc'], ['1:a', 'bc'], []]

    expect(new Set(lists.map((list) => recordId(list, 'k'))).size).toBe(lists.length)
  })

  it('is equal for equal lists and for no others', () => {
    // The second list is the text of the first, cut in other places.
    const twice = parts.chain((list) => {
      const text = list.join('')
      const cuts = fc.array(fc.nat(text.length), { maxLength: 4 })
      return fc.tuple(
        fc.constant(list),
        cuts.map((points) => cutAt(text, points)),
      )
    })

    fc.assert(
      fc.property(twice, ([a, b]) => {
        expect(recordId(a, 'k') === recordId(b, 'k')).toBe(JSON.stringify(a) === JSON.stringify(b))
      }),
    )
  })

  it('keeps lone surrogates apart', () => {
    expect(recordId(['\ud800'], '')).not.toBe(recordId(['\ud801'], ''))
    expect(keyDigest('\ud800')).not.toBe(keyDigest('\ud801'))
  })

  it('begins with the digest of its key, and only of that', () => {
    fc.assert(
      fc.property(parts, part, part, (list, key, other) => {
        const startOf = (id: string) => id.slice(0, 12)
        expect(startOf(recordId(list, key))).toBe(keyDigest(key))
        expect(startOf(recordId([...list, 'x'], key))).toBe(keyDigest(key))
        const isSame = startOf(recordId(list, other)) === keyDigest(key)
        expect(isSame).toBe(key === other)
      }),
    )
  })

  it('stays the same from release to release', () => {
    expect(recordId(['acct_1', 'POST /charges', 'k1'], 'k1')).toBe(
      'xaRwJY0NtdhAOhkOeaz5IrWCZMM3fnOqr7hOoRd1t90',
    )
  })
})
