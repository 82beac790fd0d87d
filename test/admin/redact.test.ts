import { describe, expect, it } from 'vitest'
import { parseExactly, redactor } from '../../src/admin/redact.ts'

const MASK = /^REDACTED:[0-9a-f]{8}$/

describe('redaction', () => {
  const redact = redactor()

  it.each([
    ...['authorization', 'Cookie', 'Set-Cookie', 'card_number', 'CVV', 'password', 'accessToken'],
    ...['client_secret', 'iban', 'x-api-key', 'PIN', 'otp'],
  ])('masks %s wherever it stands', (name) => {
    const masked = redact({ a: [{ [name]: 'hush', rest: 1 }] })
    expect(masked).toEqual({ a: [{ [name]: expect.stringMatching(MASK), rest: 1 }] })
  })

  it.each(['amount', 'shipping', 'company', 'opinion', 'name'])('shows %s', (name) => {
    expect(redact({ [name]: 'seen' })).toEqual({ [name]: 'seen' })
  })

  it('masks what is a secret by its form, within texts', () => {
    expect(redact('card 4242 4242 4242 4242 was declined')).toMatch(/^card REDACTED:\w{8} was/)
    expect(redact('sent Bearer abcdef.ghijkl')).toMatch(/^sent REDACTED:\w{8}$/)
    expect(redact('order 1234567890123')).toBe('order 1234567890123')
  })

  it('gives the same mask for the same secret, and none for nothing', () => {
    const { a, b, c } = {
      a: redact({ token: 'x' }),
      b: redact({ token: 'x' }),
      c: redact({ token: 'y' }),
    }
    expect(a).toEqual(b)
    expect(a).not.toEqual(c)
    expect(redact({ token: null })).toEqual({ token: null })
  })

  it('takes names to add and to keep', () => {
    const own = redactor({ names: ['diagnosis'], keep: ['card'] })
    expect(own({ diagnosis: 'x', card: 'y', cards: 'z' })).toEqual({
      ...{ diagnosis: expect.stringMatching(MASK), card: 'y' },
      cards: expect.stringMatching(MASK),
    })
  })
})

describe('parsing', () => {
  it.each([
    ['9007199254740993', { $number: '9007199254740993' }],
    ['-12345678901234567890', { $number: '-12345678901234567890' }],
    ['9007199254740991', 9_007_199_254_740_991],
    ['0.12345678901234567', { $number: '0.12345678901234567' }],
    ['1e400', { $number: '1e400' }],
    ['1.50', 1.5],
    ['"9007199254740993"', '9007199254740993'],
    ['{"a\\"1":[1,true,null]}', { 'a"1': [1, true, null] }],
  ])('%s', (text, value) => {
    expect(parseExactly(text)).toEqual(value)
  })

  it('takes JSON only', () => {
    expect(() => parseExactly('12 34')).toThrow(SyntaxError)
  })
})
