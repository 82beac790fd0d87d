import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { type BodyDigest, type BodyOptions, bodyDigest } from '../../src/core/fingerprint.ts'

interface Encoded {
  readonly contentType: string
  readonly bytes: Uint8Array
}

function digestOf({ contentType, bytes }: Encoded, options?: BodyOptions): BodyDigest {
  const digester = bodyDigest(contentType, options)
  digester.update(bytes)
  return digester.digest()
}

/** A body that is written by hand; `\n` stands for CRLF, `%` for the boundary. */
function written(template: string, boundary = 'x'): Encoded {
  const text = template.replaceAll('\n', '\r\n').replaceAll('%', boundary)
  return typed(Buffer.from(text, 'latin1'), boundary)
}

function typed(bytes: Uint8Array, boundary: string): Encoded {
  return { contentType: `multipart/form-data; boundary=${boundary}`, bytes }
}

/** As the platform encodes a form: with a boundary drawn anew. */
async function encoded(form: FormData): Promise<Encoded> {
  const request = new Request('http://127.0.0.1/', { method: 'POST', body: form })
  const contentType = request.headers.get('content-type') ?? ''
  return { contentType, bytes: new Uint8Array(await request.arrayBuffer()) }
}

function formOf(...entries: readonly (readonly [string, string | File])[]): FormData {
  const form = new FormData()
  for (const [name, value] of entries) {
    if (typeof value === 'string') form.append(name, value)
    else form.append(name, value)
  }
  return form
}

const photo = (text = 'pixels', name = 'a.png', type = 'image/png') =>
  new File([text], name, { type })

const FIELD = '--%\nContent-Disposition: form-data; name="a"\n\n1\n'
const FILE =
  '--%\nContent-Disposition: form-data; name="f"; filename="f.bin"\nContent-Type: a/b\n\nraw\n'

describe('a form with uploads', () => {
  it('is the same when it is encoded again with another boundary', async () => {
    const form = () => formOf(['a', '1'], ['photo', photo()], ['a', '2'], ['grüße', 'ü'])
    const [first, again] = [await encoded(form()), await encoded(form())]

    expect(first.contentType).not.toBe(again.contentType)
    expect(digestOf(first).form).toBe('parts')
    expect(digestOf(again)).toEqual(digestOf(first))
  })

  it('is the same when parts of different names change places', () => {
    expect(digestOf(written(`${FIELD}${FILE}--%--\n`))).toEqual(
      digestOf(written(`${FILE}${FIELD}--%--\n`, 'another-boundary')),
    )
  })

  const base: readonly (readonly [string, string | File])[] = [
    ['a', '1'],
    ['a', '2'],
    ['f', photo()],
  ]
  const changes: Readonly<Record<string, readonly (readonly [string, string | File])[]>> = {
    'another value': [
      ['a', '1'],
      ['a', '3'],
      ['f', photo()],
    ],
    'another order within a name': [
      ['a', '2'],
      ['a', '1'],
      ['f', photo()],
    ],
    'another name': [
      ['a', '1'],
      ['b', '2'],
      ['f', photo()],
    ],
    'another file name': [
      ['a', '1'],
      ['a', '2'],
      ['f', photo('pixels', 'b.png')],
    ],
    'another type of a file': [
      ['a', '1'],
      ['a', '2'],
      ['f', photo('pixels', 'a.png', 'image/gif')],
    ],
    'another content of a file': [
      ['a', '1'],
      ['a', '2'],
      ['f', photo('pixelS')],
    ],
    'a part less': [
      ['a', '1'],
      ['f', photo()],
    ],
    'a part twice': [
      ['a', '1'],
      ['a', '2'],
      ['a', '2'],
      ['f', photo()],
    ],
    'a field in place of a file': [
      ['a', '1'],
      ['a', '2'],
      ['f', 'pixels'],
    ],
    'no part at all': [],
  }
  for (const [change, entries] of Object.entries(changes)) {
    it(`differs by ${change}`, async () => {
      const [first, other] = [await encoded(formOf(...base)), await encoded(formOf(...entries))]

      expect(digestOf(other).form).toBe('parts')
      expect(digestOf(other)).not.toEqual(digestOf(first))
    })
  }

  it('does not let one part run into the next', () => {
    const part = (name: string, content: string) =>
      `--%\nContent-Disposition: form-data; name="${name}"\n\n${content}\n`
    const bodies = [
      part('a', '1') + part('b', '2'),
      part('a', '12') + part('b', ''),
      part('a', '') + part('b', '12'),
      part('a', '1\n') + part('b', '2'),
      part('ab', '12'),
    ]
    const digests = bodies.map((body) => digestOf(written(`${body}--%--\n`)).text)

    expect(new Set(digests).size).toBe(bodies.length)
    expect(digests).not.toContain(undefined)
  })

  it('is compared without the fields that are left out', async () => {
    const exclude = ['_csrf', 'meta.time', 'ü']
    const form = (token: string) =>
      formOf(['a', '1'], ['_csrf', token], ['meta[time]', token], ['meta[id]', '1'], ['ü', token])
    const [first, again] = [await encoded(form('one')), await encoded(form('two'))]
    const other = await encoded(formOf(['a', '2']))

    expect(digestOf(again, { exclude })).toEqual(digestOf(first, { exclude }))
    expect(digestOf(again)).not.toEqual(digestOf(first))
    expect(digestOf(other, { exclude })).not.toEqual(digestOf(first, { exclude }))
  })

  it('is compared byte by byte where the route says so', async () => {
    const options: BodyOptions = { multipart: 'bytes' }
    const form = formOf(['a', '1'])
    const [first, again] = [await encoded(form), await encoded(form)]

    expect(digestOf(first, options).form).toBe('bytes')
    expect(digestOf(first, options)).toEqual(digestOf(first, options))
    expect(digestOf(again, options)).not.toEqual(digestOf(first, options))
  })

  it('reads a boundary in quotes, beside other parameters and in any case', () => {
    const { bytes } = written(`${FIELD}--%--\n`, 'a b:c')
    const types = ['; boundary="a b:c"', ';charset=utf-8; Boundary="a b:c" ; x=y']

    for (const type of types) {
      expect(digestOf({ contentType: `Multipart/Form-Data${type}`, bytes }).form).toBe('parts')
    }
  })
})

describe('a form that parsers may read in different ways', () => {
  const irregular: Readonly<Record<string, string>> = {
    'text before the first boundary': `preamble\n${FIELD}--%--\n`,
    'an empty line before the first boundary': `\n${FIELD}--%--\n`,
    'text after the last boundary': `${FIELD}--%--\nepilogue`,
    'a second form after the first': `${FIELD}--%--\n${FIELD}--%--\n`,
    'no end': FIELD,
    'an end that is cut off': `${FIELD}--%-`,
    'white space behind a boundary': `${FIELD.replace('--%', '--% ')}--%--\n`,
    'a boundary inside a line of the content': `--%\nContent-Disposition: form-data; name="a"\n\n1--%\n--%--\n`,
    'a boundary behind a lone LF':
      `--%\nContent-Disposition: form-data; name="a"\n\n1\u000b\n--%--\n`.replace(
        '\u000b\n',
        '\u000b',
      ),
    'a boundary that goes on': `${FIELD}--%y\nContent-Disposition: form-data; name="b"\n\n2\n--%--\n`,
    'a part without headers': `--%\n\n1\n--%--\n`,
    'a part without a name': `--%\nContent-Disposition: form-data\n\n1\n--%--\n`,
    'a part of another disposition': `--%\nContent-Disposition: attachment; name="a"\n\n1\n--%--\n`,
    'two names': `--%\nContent-Disposition: form-data; name="a"; name="b"\n\n1\n--%--\n`,
    'two names, one in capitals': `--%\nContent-Disposition: form-data; name="a"; NAME="b"\n\n1\n--%--\n`,
    'a header twice': `--%\nContent-Disposition: form-data; name="a"\ncontent-disposition: form-data; name="b"\n\n1\n--%--\n`,
    'a folded header': `--%\nContent-Disposition: form-data;\n name="a"\n\n1\n--%--\n`,
    'a header without a colon': `--%\nContent-Disposition: form-data; name="a"\nx\n\n1\n--%--\n`,
    'a parameter that is not closed': `--%\nContent-Disposition: form-data; name="a\n\n1\n--%--\n`,
    'headers without an end': `--%\nContent-Disposition: form-data; name="a"\n--%--\n`,
    'headers of over 16 KiB': `--%\nContent-Disposition: form-data; name="a"\nX: ${'x'.repeat(20_000)}\n\n1\n--%--\n`,
    'an empty body': '',
  }
  for (const [what, body] of Object.entries(irregular)) {
    it(`is compared byte by byte: ${what}`, () => {
      expect(digestOf(written(body)).form).toBe('bytes')
      expect(digestOf(written(body))).toEqual(digestOf(written(body)))
      expect(digestOf(written(`${body} `))).not.toEqual(digestOf(written(body)))
    })
  }

  it('is told apart from the same bytes under another boundary', () => {
    const { bytes } = written('--x\n--y\n')

    expect(digestOf(typed(bytes, 'x')).form).toBe('bytes')
    expect(digestOf(typed(bytes, 'x'))).not.toEqual(digestOf(typed(bytes, 'y')))
  })

  it('is compared byte by byte where the boundary is missing, malformed or given twice', () => {
    const { bytes } = written(`${FIELD}--%--\n`)
    for (const parameters of [
      '',
      '; boundary=',
      '; boundary=x; boundary=x',
      '; boundary="x',
      ';x',
    ]) {
      const contentType = `multipart/form-data${parameters}`

      expect(digestOf({ contentType, bytes }).form).toBe('bytes')
    }
    expect(digestOf({ contentType: 'multipart/mixed; boundary=x', bytes }).form).toBe('bytes')
  })

  it('does not hold a form of very many parts in memory', () => {
    const digester = bodyDigest('multipart/form-data; boundary=x')
    const part = Buffer.from(FIELD.replaceAll('\n', '\r\n').replaceAll('%', 'x').repeat(1000))
    for (let count = 0; count < 20; count++) digester.update(part)
    digester.update(Buffer.from('--x--\r\n'))

    expect(digester.digest().form).toBe('bytes')
  })

  it('does not hold a large upload in memory', () => {
    const digester = bodyDigest('multipart/form-data; boundary=x')
    digester.update(Buffer.from(FILE.slice(0, -4).replaceAll('\n', '\r\n').replaceAll('%', 'x')))
    const chunk = new Uint8Array(1_048_576)
    const before = process.memoryUsage().arrayBuffers
    for (let count = 0; count < 64; count++) digester.update(chunk)

    expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(16 * chunk.length)
    digester.update(Buffer.from('\r\n--x--\r\n'))
    expect(digester.digest().form).toBe('parts')
  })
})

/** Pieces that make delimiters, headers and beginnings of both. */
const PIECES = [
  ...['--x', '--x--', '\r\n', '\r', '\n', '--', '-', 'x', ' ', 'Content-Disposition: form-data; '],
  ...['name="a"', 'name=b', '; filename="f"', '\r\n\r\n', 'content', '\r\n--x', '\r\n--x--\r\n'],
  FIELD.replaceAll('\n', '\r\n').replaceAll('%', 'x'),
]

describe('forms with uploads, generated', () => {
  const cuts = fc.array(fc.nat(), { maxLength: 20 })
  const hostile = fc
    .array(fc.oneof(fc.constantFrom(...PIECES), fc.string()), { maxLength: 15 })
    .map((pieces) => Buffer.from(pieces.join('')))
  const content = fc.oneof(fc.string(), fc.constantFrom('\r\n', '--', '\r\n--', '', '\r', '\n\n'))
  const name = fc.constantFrom('a', 'b', 'a[]', 'a[x]', 'ü', ' ')
  const entries = fc.array(fc.tuple(name, content), { maxLength: 6 })

  it('do not depend on how the body is cut', () => {
    fc.assert(
      fc.property(hostile, cuts, (bytes, points) => {
        const digester = bodyDigest('multipart/form-data; boundary=x')
        const ends = points.map((point) => point % (bytes.length + 1)).sort((a, b) => a - b)
        const memory = Buffer.alloc(bytes.length)
        for (const [index, end] of [...ends, bytes.length].entries()) {
          // One piece of memory for all, as a socket that is read into a fixed buffer has it.
          const chunk = bytes.subarray(ends[index - 1] ?? 0, end)
          memory.set(chunk)
          digester.update(memory.subarray(0, chunk.length))
        }

        expect(digester.digest()).toEqual(digestOf(typed(bytes, 'x')))
      }),
      { numRuns: 2000 },
    )
  })

  it('are equal exactly when the values of each name are, read back by the platform', async () => {
    await fc.assert(
      fc.asyncProperty(entries, entries, async (some, others) => {
        const [a, b] = [await encoded(formOf(...some)), await encoded(formOf(...others))]
        const isSame = (await valuesOf(a)) === (await valuesOf(b))

        expect(digestOf(a).form).toBe('parts')
        expect(JSON.stringify(digestOf(a)) === JSON.stringify(digestOf(b))).toBe(isSame)
      }),
      { numRuns: 300 },
    )
  })

  it('are never equal where the platform reads them differently', async () => {
    const place = fc.tuple(fc.nat(), fc.constantFrom(...PIECES), fc.boolean())
    const base = `${FIELD}${FILE}${FIELD}--%--\n`.replaceAll('\n', '\r\n').replaceAll('%', 'x')
    /** A body with pieces put into it, or put in place of what stands there. */
    const changed = (changes: readonly (readonly [number, string, boolean])[]): Encoded => {
      let text = base
      for (const [at, piece, isInserted] of changes) {
        const start = at % text.length
        text = text.slice(0, start) + piece + text.slice(start + (isInserted ? 0 : piece.length))
      }
      return typed(Buffer.from(text, 'latin1'), 'x')
    }
    const changes = fc.array(place, { maxLength: 2 })

    await fc.assert(
      fc.asyncProperty(changes, changes, async (some, others) => {
        const [a, b] = [changed(some), changed(others)]
        const isEqual = JSON.stringify(digestOf(a)) === JSON.stringify(digestOf(b))

        if (isEqual) expect(await read(a)).toBe(await read(b))
        else expect(Buffer.from(a.bytes).equals(b.bytes)).toBe(false)
      }),
      { numRuns: 2000 },
    )
  })
})

/** What the platform's own parser reads, in the order of names. */
async function valuesOf({ contentType, bytes }: Encoded): Promise<string> {
  const headers = { 'content-type': contentType }
  const form = await new Response(Buffer.from(bytes), { headers }).formData()
  const roots = [...new Set([...form.keys()].map((name) => name.replace(/\[.*/, '')))].sort()
  return JSON.stringify(
    roots.map((root) => [...form].filter(([name]) => name.replace(/\[.*/, '') === root)),
  )
}

async function read(form: Encoded): Promise<string | null> {
  return valuesOf(form).catch(() => null)
}
