import { describe, expect, it } from 'vitest'
import { hashSecret, openSecretRing, type SecretRing } from '../../src/core/secret.ts'

const SECRET = 'correct horse battery staple'

describe('hashSecret', () => {
  it('is short, the same for the same secret, and does not show it', () => {
    expect(hashSecret('sk_live_51H')).toBe('sha_6GW7GGs-CPRMcEL28-Ak_d')
    expect(hashSecret('sk_live_51J')).not.toBe(hashSecret('sk_live_51H'))
  })

  it('refuses an empty secret, which all callers without one would share', () => {
    expect(() => hashSecret('')).toThrow('empty')
  })
})

describe('openSecretRing', () => {
  it('puts the current secret first', () => {
    const ring = openSecretRing({ current: 'new', keys: { old: SECRET, new: `${SECRET}!` } })

    expect(ring.digests(new Uint8Array()).map(({ id }) => id)).toEqual(['new', 'old'])
    expect(ring.acceptUnkeyed).toBe(false)
  })

  it('refuses a ring that can not be used, without showing a secret', () => {
    const rings: readonly SecretRing[] = [
      { current: 'a', keys: {} },
      { current: 'a', keys: { b: SECRET } },
      { current: 'toString', keys: { b: SECRET } },
      { current: 'a', keys: { a: 'fifteen bytes!!' } },
      { current: 'a', keys: { a: new Uint8Array(15) } },
      { current: 'a', keys: { a: SECRET, 'b.c': SECRET } },
      { current: 'a', keys: { a: SECRET, ['x'.repeat(17)]: SECRET } },
      { current: '', keys: { '': SECRET } },
    ]

    for (const ring of rings) {
      const refusal = expect.objectContaining({
        code: 'reprise-options-invalid',
        message: expect.not.stringMatching(/horse|fifteen/),
      })
      expect(() => openSecretRing(ring)).toThrow(refusal)
    }
  })

  it('takes sixteen bytes', () => {
    const ring = openSecretRing({
      current: 'a',
      keys: { a: 'sixteen bytes!!!', b: Buffer.alloc(16) },
    })

    expect(ring.digests(new Uint8Array())).toHaveLength(2)
  })
})
