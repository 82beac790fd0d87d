import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { compact, expand } from '../../src/stores/redis/compact.ts'

const texts = fc.oneof(
  fc.string({ unit: 'binary' }),
  fc.uuid(),
  fc.uuid().map((uuid) => uuid.toUpperCase()),
  fc.uint8Array({ minLength: 10, maxLength: 40 }).map((bytes) => base64url(bytes)),
  fc.stringMatching(/^(1\.)?[\w-]{14,30}$/),
  fc.constantFrom('', '\u0000', '\u0001', '\u0002', '\u0003', '\u0004', '\u0001uuid', '1.'),
)

describe('compact', () => {
  it('gives back every text', () => {
    fc.assert(fc.property(texts, (text) => expand(compact(text)) === text))
  })

  it('tells nothing from an empty text', () => {
    expect(compact(null)).toHaveLength(0)
    expect(expand(compact(null))).toBeNull()
    expect(expand(compact(''))).toBe('')
  })

  it('gives different texts different bytes', () => {
    fc.assert(
      fc.property(texts, texts, (one, other) => {
        return compact(one).equals(compact(other)) === (one === other)
      }),
    )
  })

  it('keeps apart texts that spell the same bytes', () => {
    expect(compact('AAAAAAAAAAAAAAAAAA')).not.toEqual(compact('AAAAAAAAAAAAAAAAAB'))
  })

  it('takes the room of the bytes that a text spells', () => {
    expect(compact('123e4567-e89b-42d3-a456-426614174000')).toHaveLength(17)
    expect(compact(base64url(new Uint8Array(32)))).toHaveLength(33)
    expect(compact(`1.${base64url(new Uint8Array(32))}`)).toHaveLength(33)
    expect(compact('POST /charges')).toHaveLength(13)
  })
})

function base64url(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('base64url')
}
