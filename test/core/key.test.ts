import fc from 'fast-check'
import { parseItem } from 'structured-headers'
import { describe, expect, it } from 'vitest'
import { type KeyOptions, type KeyResult, keyTimestamp, parseKey } from '../../src/core/key.ts'
import vectors from '../vectors/key-header.json' with { type: 'json' }

const UUID_V4 = '8e03978e-40d5-43e8-bc93-6894a57f9324'
const UUID_V7 = '017f22e2-79b0-7cc3-98c4-dc0c0c07398f'

interface Expected {
  readonly missing?: boolean
  readonly key?: string
  readonly error?: string
}

interface Vector {
  readonly id: number
  readonly name: string
  readonly lines: readonly string[]
  readonly strict: Expected
  readonly lenient: Expected
}

function reasonOf(lines: readonly string[], options?: KeyOptions): string {
  const result = parseKey(lines, options)
  return result.kind === 'invalid' ? result.reason : result.kind
}

function expectedOf(result: KeyResult): Expected {
  if (result.kind === 'missing') return { missing: true }
  return result.kind === 'key' ? { key: result.key } : { error: result.reason }
}

function quote(key: string): string {
  return `"${key.replace(/["\\]/g, '\\$&')}"`
}

describe('parseKey', () => {
  // The literal types of the file's rows differ from row to row.
  for (const vector of vectors as readonly Vector[]) {
    for (const mode of ['strict', 'lenient'] as const) {
      it(`reads vector ${vector.id} in ${mode} mode: ${vector.name}`, () => {
        expect(expectedOf(parseKey(vector.lines, { mode, guard: false }))).toEqual(vector[mode])
      })
    }
  }

  it('accepts in strict mode what a structured-field library parses as a string', () => {
    const fragments = [
      ...[
        '"',
        '"abc"',
        '\\',
        '\\"',
        '\\\\',
        'a',
        'Z',
        '*',
        '-',
        '_',
        '.',
        '/',
        ' ',
        '\t',
        ',',
        ';',
      ],
      ...['=', ';a', ';b=', '1', '-1', '12.5', '1234.5678', '123456789012', '.', ':YQ==:', ':Y:'],
      ...[':', '=', 'YWJj', '?1', '?0', '?', '%"', '%c3%a9', '%ff', '%C3', '%', '"x y"', '(', ')'],
      ...['\u0001', '\u007f', '\u00e9'],
    ]
    const tail = fc.array(fc.constantFrom(...fragments), { maxLength: 8 })
    const head = fc.constantFrom('', '"abc"', ' "a\\"b" ', '"abc";a', '"abc";a=', '"', '" "')
    const text = fc.tuple(head, tail).map(([start, rest]) => start + rest.join(''))

    fc.assert(
      fc.property(text, (line) => {
        expect(expectedOf(parseKey([line], { mode: 'strict', guard: false })).key).toBe(
          oracle(line),
        )
      }),
      { numRuns: 5_000 },
    )
  })

  it('takes parameters of every type, dates in any place', () => {
    const values = ['1', '-0.125', '"x"', 'tok/en', ':YQ==:', '?1', '@1659578233', '%"f%c3%bc"']
    const parameters = values.map((value, index) => `;p${index}=${value}`).join('')

    expect(parseKey([`"abc"${parameters}; flag`], { mode: 'strict' })).toEqual({
      kind: 'key',
      key: 'abc',
    })
  })

  it('refuses parameters that overflow their type', () => {
    for (const value of ['1234567890123456', '1.2345', '1.', '@1.5', ':YQ=:', '%"%ff"', '%"%C3"']) {
      expect(reasonOf([`"abc";a=${value}`])).toBe('bad-parameter')
    }
  })

  it('finds a second key behind parameters', () => {
    expect(reasonOf(['"abc";a=1 , "def"'])).toBe('multiple-values')
  })

  it('reads the same key quoted and bare', () => {
    const bareKey = fc
      .string({ unit: 'grapheme-ascii', minLength: 1, maxLength: 255 })
      .filter((key) => !/["\\,; ]/.test(key))

    fc.assert(
      fc.property(bareKey, (key) => {
        const options = { guard: false }

        expect(parseKey([key], options)).toEqual({ kind: 'key', key })
        expect(parseKey([quote(key)], options)).toEqual({ kind: 'key', key })
      }),
    )
  })

  it('reads back every quoted key', () => {
    const anyKey = fc
      .string({ unit: 'grapheme-ascii', minLength: 1, maxLength: 255 })
      .filter((key) => key.trim() !== '')

    fc.assert(
      fc.property(anyKey, (key) => {
        expect(parseKey([quote(key)], { mode: 'strict', guard: false })).toEqual({
          kind: 'key',
          key,
        })
      }),
    )
  })

  it('refuses the texts of missing values, bare and quoted', () => {
    for (const text of ['undefined', 'null', 'NaN', '[object Object]', 'true', 'false']) {
      expect(reasonOf([text])).toBe('placeholder')
      expect(reasonOf([quote(text)], { mode: 'strict' })).toBe('placeholder')
    }
    expect(reasonOf(['undefined-1'])).toBe('key')
  })

  it('counts the length after decoding', () => {
    const key = '"'.repeat(255)

    expect(parseKey([quote(key)])).toEqual({ kind: 'key', key })
    expect(parseKey([quote(`${key}"`)])).toEqual({
      kind: 'invalid',
      reason: 'too-long',
      detail: 'The key is longer than 255 characters',
    })
  })

  it('holds keys to the configured lengths', () => {
    const options = { lengthMin: 20, lengthMax: 100 }

    expect(reasonOf(['k'.repeat(19)], options)).toBe('too-short')
    expect(reasonOf(['k'.repeat(20)], options)).toBe('key')
    expect(reasonOf(['k'.repeat(100)], options)).toBe('key')
    expect(reasonOf(['k'.repeat(101)], options)).toBe('too-long')
  })

  it('refuses a value of any size before it reads it', () => {
    expect(reasonOf([`"a"${';a'.repeat(1_000_000)}`])).toBe('too-long')
    expect(reasonOf([' '.repeat(10_000)])).toBe('too-long')
  })

  it('asks for UUIDs', () => {
    expect(reasonOf([UUID_V4], { format: 'uuid' })).toBe('key')
    expect(reasonOf([UUID_V4.toUpperCase()], { format: 'uuid' })).toBe('key')
    expect(reasonOf([`{${UUID_V4}}`], { format: 'uuid' })).toBe('format')
    expect(reasonOf([UUID_V4], { format: 'uuidv7' })).toBe('format')
    expect(reasonOf([UUID_V7], { format: 'uuidv7' })).toBe('key')
  })

  it('asks for a pattern or by a function', () => {
    expect(reasonOf(['order-1'], { format: /^order-\d+$/ })).toBe('key')
    expect(reasonOf(['order-x'], { format: /^order-\d+$/ })).toBe('format')
    expect(reasonOf(['order-1'], { format: (key) => key.endsWith('2') })).toBe('format')
    expect(reasonOf(['order-2'], { format: (key) => key.endsWith('2') })).toBe('key')
  })

  it('answers the same again with a pattern that keeps a position', () => {
    for (const format of [/order-\d/g, /order-\d/y, /order-\d/gy]) {
      const reasons = [1, 2, 3].map(() => reasonOf(['order-1'], { format }))

      expect(reasons).toEqual(['key', 'key', 'key'])
      expect(format.lastIndex).toBe(0)
    }
  })

  it('takes an empty header for none only when told to', () => {
    for (const line of ['', '  ', '""', '" "']) {
      expect(parseKey([line]).kind).toBe('invalid')
      expect(parseKey([line], { emptyAsMissing: true })).toEqual({ kind: 'missing' })
    }
    expect(reasonOf(['', ''], { emptyAsMissing: true })).toBe('multiple-lines')
  })

  it('never repeats what the client sent', () => {
    fc.assert(
      fc.property(fc.array(fc.string(), { maxLength: 2 }), (lines) => {
        const marked = lines.map((line) => `${line}tell-tale`)
        const result = parseKey(marked, { lengthMax: 3 })

        expect(JSON.stringify(result)).not.toContain('tell-tale')
      }),
    )
  })
})

describe('keyTimestamp', () => {
  it('reads the time in a UUIDv7', () => {
    expect(keyTimestamp(UUID_V7)).toBe(Date.parse('2022-02-22T19:22:22Z'))
    expect(keyTimestamp(UUID_V7.toUpperCase())).toBe(Date.parse('2022-02-22T19:22:22Z'))
  })

  it('reads the time in a ULID', () => {
    expect(keyTimestamp('01ARZ3NDEKTSV4RRFFQ69G5FAV')).toBe(1_469_922_850_259)
    expect(keyTimestamp('7ZZZZZZZZZ0000000000000000')).toBe(2 ** 48 - 1)
  })

  it('finds no time in other keys', () => {
    const others = [UUID_V4, '', 'abc', '81ARZ3NDEKTSV4RRFFQ69G5FAV', '01ARZ3NDEKTSV4RRFFQ69G5FAU']

    expect(others.map(keyTimestamp)).toEqual([null, null, null, null, null])
  })
})

/** The key by the library, then by our rules of length. */
function oracle(line: string): string | undefined {
  try {
    const [value] = parseItem(line)
    return typeof value === 'string' && value.trim() !== '' ? value : undefined
  } catch {
    return undefined
  }
}
