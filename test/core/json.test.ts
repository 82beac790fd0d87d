import { isDeepStrictEqual } from 'node:util'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { RepriseError } from '../../src/core/errors.ts'
import { type CanonicalOptions, canonicalJson } from '../../src/core/json.ts'
import { canonicalValue } from '../../src/core/json-value.ts'

/** Strings of any code units, lone surrogates among them. */
const anyText = fc
  .array(fc.oneof(fc.nat(0x7f), fc.nat(0xffff), fc.integer({ min: 0xd800, max: 0xdfff })))
  .map((codes) => String.fromCharCode(...codes))

const anyValue = fc.letrec<{ value: unknown }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 4 },
    fc.constantFrom(null, true, false, 0, 1, 1e21, 1e-7),
    fc.double({ noNaN: true, noDefaultInfinity: true }).map((number) => number + 0),
    anyText,
    fc.array(tie('value'), { maxLength: 4 }),
    fc.dictionary(
      fc.oneof(anyText, fc.constantFrom('__proto__', 'toJSON', 'a', 'b')),
      tie('value'),
      {
        maxKeys: 4,
        noNullPrototype: false,
      },
    ),
  ),
})).value

/** Texts of JSON values, spaced in all ways, and perhaps with a fault. */
const anyJson = fc
  .record({
    value: anyValue,
    space: fc.constantFrom(0, 1, '\t', '\r\n'),
    cut: fc.nat(),
    insert: fc.constantFrom('', '', '', ...Array.from('{}[]":,\\ue0-+.1tn\u0001\u00a0\ufeff')),
    drop: fc.nat(2),
  })
  .map(({ value, space, cut, insert, drop }) => {
    const text = spaced(JSON.stringify(value), space)
    const at = cut % (text.length + 1)
    return text.slice(0, at) + insert + text.slice(at + drop)
  })

/** Tokens in any order; some orders are JSON. */
const anyTokens = fc
  .array(
    fc.constantFrom(
      ...['{', '}', '[', ']', ',', ':', '"a"', '"b"', '"', '1', '-', '0', '01', '1.', '.5', '1e5'],
      ...['1E+2', 'e', 'true', 'false', 'null', 'nul', ' ', '\n', '\u00a0', '\\u0061', '"\\x"'],
      ...['"\\ud83d\\ude00"', '"\\u12"', '{"a":1}', '[1]', '[]', '{}', ',"a":', 'NaN', "'a'"],
    ),
    { maxLength: 9 },
  )
  .map((tokens) => tokens.join(''))

function spaced(json: string, space: number | string): string {
  return space === '\r\n' ? `\r\n${json} \t` : JSON.stringify(JSON.parse(json), null, space)
}

function textOf(json: string, options?: CanonicalOptions): string {
  const text = canonicalJson(json, options)
  if (text === undefined) throw new Error(`Not JSON: ${json}`)
  return text
}

/** Why a text is refused. */
function detailOf(json: string, options?: CanonicalOptions): string | undefined {
  try {
    throw new Error(`Taken: ${canonicalJson(json, options)}`)
  } catch (error) {
    if (!(error instanceof RepriseError)) throw error
    expect(error.code).toBe('idempotency-body-invalid')
    return error.detail
  }
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}

/** Whether a text is taken for JSON, be it to refuse it. */
function isTaken(text: string): boolean {
  try {
    return canonicalJson(text) !== undefined
  } catch {
    return true
  }
}

describe('canonicalJson', () => {
  it('drops white space and sorts members at every level', () => {
    expect(textOf(' {"b" : [ {"d":1,\t"c":2} , 3 ],\r\n"a": {} } ')).toBe(
      '{"a":{},"b":[{"c":2,"d":1},3]}',
    )
  })

  it('sorts by code units of the decoded name', () => {
    expect(textOf('{"\ufb33":1,"\ud83d\ude00":2,"\\u00f6":3,"1":4,"\\r":5,"":6,"10":7}')).toBe(
      '{"":6,"\\r":5,"1":4,"10":7,"\u00f6":3,"\ud83d\ude00":2,"\ufb33":1}',
    )
    expect(textOf('{"\\u0062":1,"a":2}')).toBe('{"a":2,"b":1}')
  })

  it('writes each string in one way', () => {
    expect(textOf('"\\u00e9\\/\\u0041\\u000a\\"\\\\"')).toBe('"\u00e9/A\\n\\"\\\\"')
    expect(textOf('"\\ud83d\\ude00"')).toBe(textOf('"\ud83d\ude00"'))
  })

  it('keeps lone surrogates apart, escaped or not', () => {
    expect(textOf('"\\ud800"')).toBe('"\\ud800"')
    expect(textOf('"\ud800"')).toBe('"\\ud800"')
    expect(textOf('"\\udfff"')).toBe('"\\udfff"')
  })

  it('keeps numbers as they are written', () => {
    for (const number of ['9007199254740993', '1', '1.0', '1e2', '1E2', '-0', '0.10', '1e400']) {
      expect(textOf(` [ ${number} ] `)).toBe(`[${number}]`)
    }
  })

  it('treats __proto__ as any other member', () => {
    expect(textOf('{"b":1,"__proto__":{"x":1}}')).toBe('{"__proto__":{"x":1},"b":1}')
  })

  it('refuses an object that names a member twice, however the name is written', () => {
    for (const json of ['{"a":1,"b":2,"a":3}', '[{"x":{"a":1,"\\u0061":1}}]', '{"":1,"":1}']) {
      expect(detailOf(json)).toContain('names a member again')
    }
    expect(detailOf('{"amount":1,"amount":100}')).toBe(
      'An object names a member again at character 13 of the body',
    )
    expect(detailOf('[ {"\u00fc,{" : "a",\n"b":{}, "\u00fc,{" : 1} ]')).toBe(
      'An object names a member again at character 25 of the body',
    )
    expect(textOf('{"a":{"a":1},"b":{"a":1}}')).toBe('{"a":{"a":1},"b":{"a":1}}')
  })

  it('refuses nesting beyond the limit and takes it up to there', () => {
    const nested = (depth: number) => '['.repeat(depth) + ']'.repeat(depth)

    expect(textOf(nested(128))).toBe(nested(128))
    expect(detailOf(nested(129))).toBe('The body is nested deeper than 128 levels')
    expect(detailOf('{"a":[{}]}', { depthMax: 2 })).toBe('The body is nested deeper than 2 levels')
    expect(textOf('{"a":[1]}', { depthMax: 2 })).toBe('{"a":[1]}')
  })

  it('survives a million nested brackets', () => {
    const half = '['.repeat(500_000)

    expect(canonicalJson(half + half)).toBeUndefined()
    expect(detailOf(half + half.replaceAll('[', ']'))).toContain('nested deeper than 128 levels')
  })

  it('writes what is nested a hundred thousand levels deep, where that is allowed', () => {
    const depth = 100_000
    const arrays = '['.repeat(depth) + ']'.repeat(depth)
    const objects = `${'{"a":'.repeat(depth)}1${'}'.repeat(depth)}`

    expect(textOf(arrays, { depthMax: depth }) === arrays).toBe(true)
    expect(textOf(objects, { depthMax: depth }) === objects).toBe(true)
  })

  it('leaves out excluded members of the outermost object alone', () => {
    const options = { exclude: ['raise_error', 'é'] }

    expect(textOf('{"raise_error":true,"a":{"raise_error":1},"\\u00e9":2}', options)).toBe(
      '{"a":{"raise_error":1}}',
    )
    expect(textOf('[{"raise_error":1}]', options)).toBe('[{"raise_error":1}]')
    expect(detailOf('{"raise_error":1,"raise_error":2}', options)).toContain('character 18')
  })

  it('takes for JSON exactly what JSON.parse takes', () => {
    fc.assert(
      fc.property(fc.oneof(anyJson, anyTokens), (text) => {
        expect(isTaken(text)).toBe(isJson(text))
      }),
      { numRuns: 5_000 },
    )
  })

  it('says what the text says, and the same when read again', () => {
    fc.assert(
      fc.property(anyValue, (value) => {
        const json = JSON.stringify(value)
        const text = textOf(spaced(json, 1))

        expect(isDeepStrictEqual(JSON.parse(text), JSON.parse(json))).toBe(true)
        expect(textOf(text)).toBe(text)
      }),
    )
  })

  it('is equal for equal values and for no others', () => {
    const similar = anyValue.chain((value) =>
      fc.tuple(fc.constant(value), fc.oneof(anyValue, fc.constant(reversed(value)))),
    )

    fc.assert(
      fc.property(similar, ([a, b]) => {
        const isSame = isDeepStrictEqual(
          JSON.parse(JSON.stringify(a)),
          JSON.parse(JSON.stringify(b)),
        )

        expect(textOf(JSON.stringify(a)) === textOf(JSON.stringify(b))).toBe(isSame)
      }),
      { numRuns: 1_000 },
    )
  })
})

describe('canonicalValue', () => {
  it('equals the canonical form of what JSON.stringify says', () => {
    fc.assert(
      fc.property(anyValue, fc.array(fc.constantFrom('a', 'b', '__proto__')), (value, exclude) => {
        expect(canonicalValue(value, { exclude })).toBe(textOf(JSON.stringify(value), { exclude }))
      }),
      { numRuns: 1_000 },
    )
  })

  it('says the same of an object whose members are all undefined as of an empty one', () => {
    expect(canonicalValue({ b: undefined, a: undefined })).toBe('{}')
    expect(canonicalValue({ b: undefined, a: 1 })).toBe('{"a":1}')
  })

  it('drops members that are undefined and asks values that know their own JSON', () => {
    const value = { b: undefined, a: new Date(0), c: -0 }

    expect(canonicalValue(value)).toBe('{"a":"1970-01-01T00:00:00.000Z","c":0}')
  })

  it('refuses what JSON can not say', () => {
    const cycle: unknown[] = []
    cycle.push({ cycle })
    const values = [
      ...[1n, Number.NaN, Number.POSITIVE_INFINITY, undefined, () => 1, Symbol('s')],
      ...[[undefined], Array(1), { a: [() => 1] }, { a: 1n }, new Map(), new Set(), /x/, cycle],
      ...[new Uint8Array(1)],
    ]

    for (const value of values) {
      expect(() => canonicalValue(value)).toThrow(RepriseError)
      expect(() => canonicalValue(value)).toThrow(
        expect.objectContaining({ code: 'idempotency-body-invalid' }),
      )
    }
  })

  it('survives a value that is nested a hundred thousand levels deep', () => {
    const depth = 100_000
    let value: unknown = 1
    for (let level = 0; level < depth; level++) value = [value]

    expect(() => canonicalValue(value)).toThrow('deeper than 128 levels')
    expect(canonicalValue(value, { depthMax: depth })).toBe(
      `${'['.repeat(depth)}1${']'.repeat(depth)}`,
    )
  })
})

/** The same value with the members of its outermost object the other way round. */
function reversed(value: unknown): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value
  return Object.fromEntries(Object.entries(value).toReversed())
}
