import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { RepriseError } from '../../src/core/errors.ts'
import {
  type BodyDigest,
  type BodyOptions,
  bodyDigest,
  type ComparedRequest,
  digestValue,
  type FingerprintOptions,
  fingerprintRequest,
} from '../../src/core/fingerprint.ts'
import { openSecretRing } from '../../src/core/secret.ts'

const JSON_TYPE = 'application/json'
const FORM_TYPE = 'application/x-www-form-urlencoded'
const OLD = 'a secret of the past'
const NEW = 'a secret of today'

type Changes = Partial<Omit<ComparedRequest, 'body'>> & {
  readonly body?: ComparedRequest['body'] | string
}

function request(changes: Changes = {}): ComparedRequest {
  const { body = '{"amount":1}', ...rest } = changes
  const base = { method: 'POST', path: '/charges', query: '', contentType: JSON_TYPE }
  return { ...base, ...rest, body: typeof body === 'string' ? Buffer.from(body) : body }
}

function print(changes: Changes = {}, options?: FingerprintOptions): string {
  const [fingerprint = ''] = fingerprintRequest(request(changes), options)
  return fingerprint
}

function json(body: string, options?: FingerprintOptions): string {
  return print({ body }, options)
}

function form(body: string | Uint8Array, options?: FingerprintOptions): string {
  return print({ body, contentType: FORM_TYPE }, options)
}

function streamed(chunks: readonly Uint8Array[], type: string, options?: BodyOptions): BodyDigest {
  const digester = bodyDigest(type, options)
  // One piece of memory for all chunks, as a socket that is read into a fixed buffer has it.
  const memory = Buffer.alloc(Math.max(0, ...chunks.map((chunk) => chunk.length)))
  for (const chunk of chunks) {
    memory.set(chunk)
    digester.update(memory.subarray(0, chunk.length))
  }
  return digester.digest()
}

function cut(bytes: Uint8Array, points: readonly number[]): readonly Uint8Array[] {
  const ends = points.map((point) => point % (bytes.length + 1)).sort((a, b) => a - b)
  return [...ends, bytes.length].map((end, index) => bytes.subarray(ends[index - 1] ?? 0, end))
}

describe('fingerprintRequest on JSON', () => {
  const same: readonly (readonly [name: string, a: string, b: string])[] = [
    ['key order', '{"a":1,"b":2}', '{"b":2,"a":1}'],
    ['white space', '{"a":1}', '{ "a" : 1 }'],
    ['escape and literal', '{"a":"\\u00e9"}', '{"a":"\u00e9"}'],
    ['escaped solidus', '{"a":"\\/"}', '{"a":"/"}'],
    ['trailing newline', '{"a":1}', '{"a":1}\n'],
  ]
  for (const [name, a, b] of same) {
    it(`makes no difference of ${name}`, () => {
      expect(json(a)).toBe(json(b))
    })
  }

  const different: readonly (readonly [name: string, a: string, b: string])[] = [
    ['1 and 1.0', '{"a":1}', '{"a":1.0}'],
    ['100 and 1e2', '{"a":100}', '{"a":1e2}'],
    ['-0 and 0', '{"a":-0}', '{"a":0}'],
    ['NFC and NFD', '{"a":"\u00e9"}', '{"a":"e\u0301"}'],
    ['null and absent', '{"a":1,"b":null}', '{"a":1}'],
    ['array order', '[1,2]', '[2,1]'],
    ['number and string', '{"a":1}', '{"a":"1"}'],
    ['amounts beyond 2^53', '{"amount":9007199254740993}', '{"amount":9007199254740992}'],
    ['0.1 and a little more', '{"a":0.1}', '{"a":0.1000000000000000055}'],
    ['1e400 and 1e500', '{"a":1e400}', '{"a":1e500}'],
    ['lone surrogates', '{"a":"\\ud800"}', '{"a":"\\ud801"}'],
    ['a byte order mark', '{"a":1}', '\ufeff{"a":1}'],
    ['an empty body and {}', '', '{}'],
    ['true and 1', '{"a":true}', '{"a":1}'],
    ['white space in what is not JSON', '{"a":1,}', '{"a":1, }'],
  ]
  for (const [name, a, b] of different) {
    it(`tells apart ${name}`, () => {
      expect(json(a)).not.toBe(json(b))
    })
  }

  it('refuses ambiguous bodies without repeating them', () => {
    for (const body of ['{"amount":1,"amount":100}', '['.repeat(500) + ']'.repeat(500)]) {
      const refusal = expect.objectContaining({
        code: 'idempotency-body-invalid',
        message: expect.not.stringContaining('amount'),
      })
      expect(() => json(body)).toThrow(refusal)
    }
  })

  it('compares invalid UTF-8 by bytes', () => {
    const [a, b] = [Buffer.from('{"a":"\xff"}', 'latin1'), Buffer.from('{"a":"\xfe"}', 'latin1')]

    expect(print({ body: a })).not.toBe(print({ body: b }))
  })

  it('knows JSON by its subtype or suffix', () => {
    for (const contentType of ['text/json', 'application/problem+json', 'APPLICATION/JSON ; x=1']) {
      expect(print({ contentType, body: '{ }' })).toBe(print({ contentType, body: '{}' }))
    }
    for (const contentType of ['application/jsonl', 'text/plain', '', null]) {
      expect(print({ contentType, body: '{ }' })).not.toBe(print({ contentType, body: '{}' }))
    }
  })

  it('leaves out excluded members', () => {
    const options = { exclude: ['raise_error'] }

    expect(json('{"a":1,"raise_error":true}', options)).toBe(json('{"a":1}', options))
    expect(json('{"a":{"raise_error":1}}', options)).not.toBe(json('{"a":{}}', options))
  })

  it('takes a parsed body for the same as its text', () => {
    const body = digestValue({ b: [1, 'x'], a: null })

    expect(print({ body })).toBe(json('{"a":null, "b":[1,"x"]}'))
  })
})

describe('fingerprintRequest on forms and queries', () => {
  const both = [
    { where: 'a form', of: form },
    { where: 'a query', of: (query: string) => print({ query }) },
  ]
  for (const { where, of } of both) {
    it(`makes no difference of the order of fields in ${where}`, () => {
      expect(of('a=1&b=2&a=3')).toBe(of('b=2&a=1&a=3'))
      expect(of('a[x]=1&b=2')).toBe(of('b=2&a[x]=1'))
    })

    it(`keeps the order within one field of ${where}`, () => {
      expect(of('a=1&a=2')).not.toBe(of('a=2&a=1'))
      expect(of('i[][id]=1&i[][n]=2&i[][id]=3')).not.toBe(of('i[][id]=1&i[][id]=3&i[][n]=2'))
    })

    it(`decodes ${where}`, () => {
      expect(of('a%5b%5D=x+y&&%c3%a9=%7e')).toBe(of('a[]=x%20y&%C3%A9=~'))
      expect(of('\u00e9=1')).toBe(of('%c3%a9=1'))
      expect(of('a')).toBe(of('a='))
      expect(of('a=b=c')).toBe(of('a=b%3Dc'))
    })

    it(`tells apart what ${where} can say`, () => {
      const texts = ['', 'a', 'a=1', 'b=1', 'a=1&b', 'a=1%26b', 'a=%ff', 'a=%fe', 'a=+', 'a=%2B']

      expect(new Set(texts.map((text) => of(text))).size).toBe(texts.length)
    })
  }

  it('leaves out excluded fields of a form', () => {
    const options = { exclude: ['é', 'debug'] }

    expect(form('a=1&debug=1&debug[x]=2&%c3%a9=3', options)).toBe(form('a=1', options))
    expect(print({ query: 'debug=1' }, options)).not.toBe(print({}, options))
  })

  it('leaves out excluded fields of a query', () => {
    const options = { excludeQuery: ['trace'] }

    expect(print({ query: '?trace=1&a=2' }, options)).toBe(print({ query: 'a=2' }, options))
    expect(json('{"trace":1}', options)).not.toBe(json('{}', options))
  })

  it('keeps every byte of a form', () => {
    const byte = fc.nat(255)

    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 3 }), byte, byte, (start, a, b) => {
        const [x, y] = [escaped([...start, a]), escaped([...start, b])]

        expect(form(`f=${x}`) === form(`f=${y}`)).toBe(a === b)
        expect(form(`${x}=f`) === form(`${y}=f`)).toBe(a === b)
      }),
    )
  })
})

describe('fingerprintRequest on the rest of the request', () => {
  it('tells apart all that a request says', () => {
    const changes = [
      { method: 'PATCH' },
      { path: '/charges/' },
      { path: '/charges/1' },
      { query: 'a' },
      { contentType: 'application/vnd.api+json' },
      { contentType: 'text/plain' },
      { contentType: null },
      { body: null },
      { version: '' },
      { version: '2026-11-01' },
    ]
    const fingerprints = [{}, ...changes].map((change) => print(change))

    expect(new Set(fingerprints).size).toBe(fingerprints.length)
  })

  it('makes no difference of letter case in the method, parameters of the type, absent parts', () => {
    expect(print({ method: 'post', contentType: 'Application/JSON; charset=utf-8' })).toBe(print())
    expect(print({ query: null })).toBe(print({ query: '?' }))
    expect(print({ contentType: null, body: null })).toBe(print({ contentType: '', body: '' }))
  })

  it('does not let one part run into the next', () => {
    expect(print({ method: 'POST/', path: 'a' })).not.toBe(print({ method: 'POST', path: '/a' }))
    expect(print({ path: '/a', query: 'b' })).not.toBe(print({ path: '/a?b', query: '' }))
  })

  it('compares other bodies by bytes', () => {
    const contentType = 'multipart/form-data; boundary=x'

    expect(print({ contentType, body: '--x--' })).not.toBe(print({ contentType, body: '--x-- ' }))
  })

  it('stays the same from release to release', () => {
    expect(print()).toBe('1.nUdYjGE0v9gfxAhpG8jiW4LG4XuM8MoLWaty_l_lpMA')
    expect(form('b=1&a=2')).toBe('1.LjarcrDFIXdRD_YIkG6TMPpRl7KrA0JjOWt7q9yzaCM')
    expect(print({ contentType: 'text/plain', body: 'x', query: 'a=1', version: '2' })).toBe(
      '1.eEk-yntLhMMz1mC0-HMER3awO4I7iyncTgd2ZHOxjxU',
    )
  })
})

describe('fingerprintRequest with secrets', () => {
  const before = openSecretRing({ current: 'old', keys: { old: OLD } })
  const during = openSecretRing({ current: 'new', keys: { old: OLD, new: NEW } })

  it('gives one fingerprint per secret, the current one first', () => {
    const [current, old, ...others] = fingerprintRequest(request(), {
      secrets: during,
    })

    expect(current).toMatch(/^h\.new\.[\w-]{43}$/)
    expect(old).toMatch(/^h\.old\.[\w-]{43}$/)
    expect(others).toEqual([])
    expect(old).toBe(print({}, { secrets: before }))
  })

  it('depends on the secret and on the request', () => {
    const other = openSecretRing({ current: 'old', keys: { old: NEW } })

    expect(print({}, { secrets: before })).not.toBe(print({}, { secrets: other }))
    expect(print({}, { secrets: before })).not.toBe(print({ path: '/x' }, { secrets: before }))
  })

  it('accepts records without secret only while told to', () => {
    const ring = { current: 'old', keys: { old: OLD }, acceptUnkeyed: true }
    const accepted = fingerprintRequest(request(), {
      secrets: openSecretRing(ring),
    })

    expect(accepted).toEqual([print({}, { secrets: before }), print()])
  })

  it('stays the same from release to release', () => {
    expect(print({}, { secrets: before })).toBe('h.old.6BOB3JSsitLBw6ZJYFaCgORVQsc-0Aw5qIKRSKjo2gQ')
  })
})

describe('bodyDigest', () => {
  const types = fc.constantFrom(JSON_TYPE, FORM_TYPE, 'text/plain')
  const bodies = fc.oneof(
    fc.json().map((text) => Buffer.from(text)),
    fc.webQueryParameters().map((text) => Buffer.from(text)),
    fc.uint8Array(),
  )

  it('does not depend on how the body is cut, and equals that of the whole body', () => {
    const limits = fc.constantFrom(0, 5, 1_000_000)

    fc.assert(
      fc.property(types, bodies, fc.array(fc.nat()), limits, (type, bytes, points, limit) => {
        fc.pre(!hasRepeatedMember(bytes))
        const options = { canonicalBytesMax: limit }
        const digest = streamed(cut(bytes, points), type, options)

        expect(digest).toEqual(streamed([bytes], type, options))
        expect(print({ contentType: type, body: digest })).toBe(
          print({ contentType: type, body: bytes }, options),
        )
      }),
      { numRuns: 500 },
    )
  })

  it('compares bodies over the limit by bytes', () => {
    const [a, b] = [Buffer.from('{"a":1,"b":2}'), Buffer.from('{"b":2,"a":1}')]

    expect(streamed([a], JSON_TYPE, { canonicalBytesMax: 13 })).toEqual(
      streamed([b], JSON_TYPE, { canonicalBytesMax: 13 }),
    )
    expect(streamed([a], JSON_TYPE, { canonicalBytesMax: 12 })).toEqual({
      form: 'bytes',
      sha256: streamed([a], 'text/plain').sha256,
    })
  })

  it('does not hold a long body in memory', () => {
    const digester = bodyDigest(JSON_TYPE)
    const chunk = new Uint8Array(1_048_576)
    const before = process.memoryUsage().arrayBuffers
    for (let count = 0; count < 64; count++) digester.update(chunk)

    expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(8 * chunk.length)
    expect(digester.digest().form).toBe('bytes')
  })

  it('refuses a body at the first byte over the limit', () => {
    const digester = bodyDigest(JSON_TYPE, { bodyBytesMax: 4 })
    digester.update(Buffer.from('1234'))
    const refusal = expect.objectContaining({ code: 'idempotency-body-too-large' })

    expect(() => digester.update(Buffer.from('5'))).toThrow(refusal)
    expect(() => json('12345', { bodyBytesMax: 4 })).toThrow(refusal)
    expect(() => print({ contentType: 'a/b', body: '12345' }, { bodyBytesMax: 4 })).toThrow(refusal)
    expect(json('1234', { bodyBytesMax: 4 })).toBe(json('1234'))
  })

  it('refuses ambiguous JSON at the end', () => {
    const digester = bodyDigest(JSON_TYPE)
    digester.update(Buffer.from('{"a":1,"a":1}'))

    expect(() => digester.digest()).toThrow(RepriseError)
  })
})

function escaped(bytes: readonly number[]): string {
  return bytes.map((byte) => `%${byte.toString(16).padStart(2, '0')}`).join('')
}

/** Whether the digest refuses the body, which the properties are not about. */
function hasRepeatedMember(bytes: Uint8Array): boolean {
  try {
    streamed([bytes], JSON_TYPE)
    return false
  } catch {
    return true
  }
}
