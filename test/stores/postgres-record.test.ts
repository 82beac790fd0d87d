import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { pack, unpack } from '../../src/stores/postgres/record.ts'

const digest = fc.uint8Array({ minLength: 15, maxLength: 34 }).map(base64url)

const texts = fc.oneof(
  fc.string({ unit: 'grapheme' }),
  digest,
  digest.map((text) => `1.${text}`),
  digest.map((text) => `h.2026.${text}`),
  fc.constantFrom('', '1.', '\u0000', '\u0001', '\u0001'.repeat(33)),
)

describe('what PostgreSQL keeps of a digest', () => {
  it('gives back every text', () => {
    fc.assert(fc.property(texts, (text) => unpack(pack(text)) === text))
  })

  it('differs for different texts', () => {
    fc.assert(
      fc.property(texts, texts, (one, other) => {
        return Buffer.compare(pack(one), pack(other)) === 0 ? one === other : one !== other
      }),
    )
  })

  it('takes the room of the bytes that it spells', () => {
    expect(pack(base64url(new Uint8Array(16)))).toHaveLength(16)
    expect(pack(base64url(new Uint8Array(32)))).toHaveLength(32)
    expect(pack(`1.${base64url(new Uint8Array(32))}`)).toHaveLength(33)
  })
})

function base64url(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('base64url')
}
