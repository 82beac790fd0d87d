import { createHash } from 'node:crypto'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { parseExactly, type RedactOptions, redactor } from '../../src/admin/redact.ts'

const MASK = /^REDACTED:[0-9a-f]{8}$/

describe('redaction', () => {
  const redact = redactor()

  it.each([
    ...['authorization', 'Cookie', 'Set-Cookie', 'card_number', 'CVV', 'password', 'accessToken'],
    ...['client_secret', 'iban', 'x-api-key', 'PIN', 'otp', 'securityCode', 'pinCode', 'otpCode'],
    ...['jwt', 'auth', 'X-Auth', 'userPIN', 'card.cvc', 'verification-code', 'oauthState', 'pan'],
  ])('masks %s wherever it stands', (name) => {
    const masked = redact({ a: [{ [name]: 'hush', rest: 1 }] })
    expect(masked).toEqual({ a: [{ [name]: expect.stringMatching(MASK), rest: 1 }] })
  })

  it.each([
    'amount',
    'shipping',
    'company',
    'opinion',
    'name',
    'author',
    'span',
    'spinner',
    'tango',
  ])('shows %s', (name) => {
    expect(redact({ [name]: 'seen' })).toEqual({ [name]: 'seen' })
  })

  it('masks what is a secret by its form, within texts', () => {
    expect(redact('card 4242 4242 4242 4242 was declined')).toMatch(/^card REDACTED:\w{8} was/)
    expect(redact('sent Bearer abcdef.ghijkl')).toMatch(/^sent REDACTED:\w{8}$/)
    expect(redact('order 1234567890123')).toBe('order 1234567890123')
  })

  it.each([
    ['https://user:hunter2pass@host/path', 'hunter2pass'],
    ['/callback?state=1&token=abc123def#x', 'abc123def'],
    ['a=1&client_secret=abc123def', 'abc123def'],
    ['card%5Bcvc%5D=1234', '1234'],
    ['ghp_abcdefghijklmnop1234', 'ghp_abcdefghijklmnop1234'],
    ['AKIAABCDEFGHIJKLMNOP', 'AKIAABCDEFGHIJKLMNOP'],
    ['eyJhbGciOi.eyJzdWIiOi.c2lnbmF0dXJl', 'eyJzdWIiOi'],
    ['{"user":{"pin":"1234"},"n":12345678901234567890}', '1234"}'],
    ['<login user="a"><password>hunter2</password></login>', 'hunter2'],
    ['<c:card pin="9876"/>', '9876'],
    ['to DE89 3704 0044 0532 0130 00 please', '0532'],
    ['-----BEGIN RSA PRIVATE KEY-----\nMIIEow\n-----END RSA PRIVATE KEY-----', 'MIIEow'],
    ['password: "correct horse"', 'horse'],
  ])('masks the secret in %s', (text, secret) => {
    const shown = String(
      redact({ note: text, list: [text] }) && Reflect.get(Object(redact({ note: text })), 'note'),
    )
    expect(shown).toContain('REDACTED:')
    expect(shown).not.toContain(secret)
  })

  it('masks the number of a card that is written as a number', () => {
    expect(redact({ n: 4_242_424_242_424_242 })).toEqual({ n: expect.stringMatching(MASK) })
    expect(redact(parseExactly('{"n":6304000000000000001,"m":4000056655665556000}'))).toMatchObject(
      {
        m: expect.anything(),
      },
    )
    expect(redact({ n: 1_234_567_890_123, amount: 4200 })).toEqual({
      ...{ n: 1_234_567_890_123, amount: 4200 },
    })
  })

  it('shows that something is there or not, which is no secret', () => {
    expect(redact({ hasPassword: true, token: null })).toEqual({ hasPassword: true, token: null })
  })

  it('makes masks with a key, so that a short secret is not found by trying', () => {
    const of = (options?: RedactOptions) =>
      Reflect.get(Object(redactor(options)({ pin: '1234' })), 'pin')
    const unkeyed = createHash('sha256').update('1234').digest('hex').slice(0, 8)
    expect(of()).not.toContain(unkeyed)
    expect(of()).not.toBe(of())
    expect(of({ maskKey: 'k'.repeat(32) })).toBe(of({ maskKey: 'k'.repeat(32) }))
  })

  it('reads a long text in linear time', () => {
    for (const part of [
      'a',
      'a.',
      'eyJ-',
      'a=',
      'a="',
      '<a ',
      '://',
      'AB12 ',
      '1 ',
      'sk',
      '{',
      '"',
    ]) {
      const text = part.repeat(500_000 / part.length)
      expect(typeof redact({ text })).toBe('object')
    }
  })

  it('shows no generated secret, wherever it stands', () => {
    const secret = fc.stringMatching(/^[A-Za-z0-9]{10,24}$/)
    const name = fc.constantFrom(
      'password',
      'userPin',
      'api_key',
      'X-Auth-Token',
      'otpCode',
      'securityCode',
    )
    const around = fc.constantFrom<(name: string, secret: string) => unknown>(
      (name, value) => ({ a: [{ [name]: value }] }),
      (name, value) => ({ note: `a=1&${name}=${value}&b=2` }),
      (name, value) => ({ note: JSON.stringify({ deep: { [name]: value } }) }),
      (name, value) => ({ note: JSON.stringify(JSON.stringify({ [name]: value })) }),
      (name, value) => ({ note: `<x><${name}>${value}</${name}></x>` }),
      (name, value) => ({ note: `https://host/path?${name}=${value}` }),
      (_, value) => ({ note: `https://me:${value}@host/` }),
      (_, value) => ({ note: `Bearer ${value}` }),
    )
    fc.assert(
      fc.property(secret, name, around, (value, named, place) => {
        expect(JSON.stringify(redact(place(named, value)))).not.toContain(value)
      }),
    )
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
