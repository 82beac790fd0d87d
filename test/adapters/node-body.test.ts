import { once } from 'node:events'
import type { IncomingMessage } from 'node:http'
import { connect } from 'node:net'
import { text } from 'node:stream/consumers'
import { describe, expect, it } from 'vitest'
import { fieldOf } from '../../src/adapters/body-field.ts'
import { NodeBody, type ParsedBody } from '../../src/adapters/node-body.ts'
import { bodyDigest } from '../../src/core/fingerprint.ts'
import { listen } from './listen.ts'

/** Sends a request in pieces and gives what arrives to a function, whose result comes back. */
async function receive<T>(
  pieces: readonly string[],
  take: (request: IncomingMessage, client: ReturnType<typeof connect>) => Promise<T>,
): Promise<T> {
  let settle: (result: Promise<T>) => void = () => {}
  const result = new Promise<T>((resolve) => {
    settle = resolve
  })
  const server = await listen(async (request, response) => {
    const taken = take(request, client)
    settle(taken)
    await taken.catch(() => undefined)
    response.end()
  })
  const client = connect({ port: server.port, host: '127.0.0.1', noDelay: true })
  client.on('error', () => {})
  try {
    for (const piece of pieces) {
      client.write(piece)
      await new Promise((resolve) => setImmediate(resolve))
    }
    return await result
  } finally {
    client.destroy()
    await server.close()
  }
}

/** A whole request with a body. */
function message(body: string, type = 'text/plain'): string {
  return `POST / HTTP/1.1\r\nHost: a\r\nContent-Type: ${type}\r\nContent-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`
}

const CHUNKED = 'POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n'

function digestOf(body: string, type: string | null = 'text/plain') {
  const digester = bodyDigest(type)
  digester.update(Buffer.from(body))
  return digester.digest()
}

const bodyOf = (request: IncomingMessage, parsed: ParsedBody = {}) => new NodeBody(request, parsed)

describe('the body of a Node request', () => {
  it('is digested and left to whoever reads it next', async () => {
    const [digest, read] = await receive([message('grüße')], async (request) => {
      return [await bodyOf(request).digest('text/plain', {}), await text(request)]
    })
    expect(digest).toEqual(digestOf('grüße'))
    expect(read).toBe('grüße')
  })

  it('is whole when it comes in pieces', async () => {
    const pieces = [CHUNKED, '3\r\none\r\n', '3\r\ntwo\r\n', '0\r\n\r\n']
    const [digest, read] = await receive(pieces, async (request) => {
      return [await bodyOf(request).digest('text/plain', {}), await text(request)]
    })
    expect(digest).toEqual(digestOf('onetwo'))
    expect(read).toBe('onetwo')
  })

  it('is left to listeners for data that come later', async () => {
    const read = await receive([message('data')], async (request) => {
      await bodyOf(request).digest('text/plain', {})
      const chunks: string[] = []
      request.on('data', (chunk) => chunks.push(String(chunk)))
      await once(request, 'end')
      return chunks.join('')
    })
    expect(read).toBe('data')
  })

  it('is left in the encoding that was set', async () => {
    const [digest, read] = await receive([message('grüße')], async (request) => {
      request.setEncoding('hex')
      const digest = await bodyOf(request).digest('text/plain', {})
      let read = ''
      for await (const chunk of request) read += chunk
      return [digest, read]
    })
    expect(digest).toEqual(digestOf('grüße'))
    expect(read).toBe(Buffer.from('grüße').toString('hex'))
  })

  it('is digested piece by piece and never joined', async () => {
    const large = 'Reprise! '.repeat(400_000)
    const [digest, pieces] = await receive([message(large)], async (request) => {
      const digest = await bodyOf(request).digest('text/plain', {})
      const pieces: string[] = []
      request.on('data', (chunk) => pieces.push(String(chunk)))
      await once(request, 'end')
      return [digest, pieces]
    })
    expect(digest).toEqual(digestOf(large))
    expect(pieces.join('')).toBe(large)
    expect(Math.max(...pieces.map(({ length }) => length))).toBeLessThan(large.length / 4)
  })

  it.each(['utf8', 'base64'] as const)(
    'is put back in pieces in the encoding %s',
    async (encoding) => {
      const chunks = ['4\r\ngr\u00fc\r\n', '4\r\n\u00dfe!\r\n', '0\r\n\r\n']
      const [digest, read] = await receive([CHUNKED, ...chunks], async (request) => {
        request.setEncoding(encoding)
        const digest = await bodyOf(request).digest('text/plain', {})
        let read = ''
        for await (const chunk of request) read += chunk
        return [digest, read]
      })
      expect(digest).toEqual(digestOf('gr\u00fc\u00dfe!'))
      expect(Buffer.from(read, encoding).toString()).toBe('gr\u00fc\u00dfe!')
    },
  )

  it('ends for whoever reads it when it is empty', async () => {
    const [digest, read] = await receive([message('')], async (request) => {
      return [await bodyOf(request).digest('text/plain', {}), await text(request)]
    })
    expect(digest).toEqual(digestOf(''))
    expect(read).toBe('')
  })

  it('is read once for its field and its digest', async () => {
    const form = 'a=1&idempotency_key=k'
    const type = 'application/x-www-form-urlencoded'
    const [field, digest, read] = await receive([message(form, type)], async (request) => {
      const body = bodyOf(request)
      const field = fieldOf(await body.read({}), 'idempotency_key')
      return [field, await body.digest(type, {}), await text(request)]
    })
    expect(field).toBe('k')
    expect(digest).toEqual(digestOf(form, type))
    expect(read).toBe(form)
  })

  it('has the fields of its own alone', async () => {
    const fields = await receive([message('{"a":"1"}', 'application/json')], async (request) => {
      const body = bodyOf(request)
      const read = await body.read({})
      return [fieldOf(read, 'a'), fieldOf(read, 'toString')]
    })
    expect(fields).toEqual(['1', undefined])
  })

  it.each(['bytes', 'text'])('has its fields where a parser left the %s', async (form) => {
    const json = '{"a":"1"}'
    const left = form === 'bytes' ? Buffer.from(json) : json
    const field = await receive([message(json, 'application/json')], async (request) => {
      await text(request)
      return fieldOf(await bodyOf(request, { body: left }).read({}), 'a')
    })
    expect(field).toBe('1')
  })

  it('has no field when it is not what its type says', async () => {
    const field = await receive([message('{', 'application/json')], async (request) => {
      return fieldOf(await bodyOf(request).read({}), 'a')
    })
    expect(field).toBeUndefined()
  })

  it('is compared by its bytes, where a parser kept them', async () => {
    const digest = await receive([message('bytes')], async (request) => {
      await text(request)
      return bodyOf(request, { body: {}, rawBody: Buffer.from('bytes') }).digest('text/plain', {})
    })
    expect(digest).toEqual(digestOf('bytes'))
  })

  it('is compared by what a parser made of it', async () => {
    const json = '{ "b": 1, "a": "ü" }'
    const digest = await receive([message(json, 'application/json')], async (request) => {
      const body: unknown = JSON.parse(await text(request))
      return bodyOf(request, { body }).digest('application/json', {})
    })
    expect(digest).toEqual(digestOf(json, 'application/json'))
  })

  it('is read although a parser that skipped it left an empty object', async () => {
    const digest = await receive([message('not for the parser')], async (request) => {
      return bodyOf(request, { body: {} }).digest('text/plain', {})
    })
    expect(digest).toEqual(digestOf('not for the parser'))
  })

  it('is refused when it was read and nothing is left of it', async () => {
    const failed = receive([message('gone')], async (request) => {
      await text(request)
      return bodyOf(request).digest('text/plain', {})
    })
    await expect(failed).rejects.toMatchObject({ code: 'reprise-options-invalid' })
  })

  it('is refused for its field when it was read and nothing is left of it', async () => {
    const failed = receive([message('{"a":"1"}', 'application/json')], async (request) => {
      await text(request)
      return fieldOf(await bodyOf(request).read({}), 'a')
    })
    await expect(failed).rejects.toMatchObject({
      code: 'reprise-options-invalid',
      detail: expect.stringContaining('mount idempotent() before what reads it'),
    })
  })

  it('has its fields where only the bytes were kept', async () => {
    const json = '{"a":"1"}'
    const field = await receive([message(json, 'application/json')], async (request) => {
      await text(request)
      return fieldOf(await bodyOf(request, { rawBody: Buffer.from(json) }).read({}), 'a')
    })
    expect(field).toBe('1')
  })

  it('is refused when a parser of uploads left the fields alone', async () => {
    const type = 'multipart/form-data; boundary=x'
    const failed = receive([message('--x--', type)], async (request) => {
      await text(request)
      return bodyOf(request, { body: { name: 'a' } }).digest(type, {})
    })
    await expect(failed).rejects.toMatchObject({ code: 'reprise-options-invalid' })
  })

  it('is refused as soon as it is too long', async () => {
    const failed = receive([CHUNKED, '5\r\nlong!\r\n'], async (request) => {
      return bodyOf(request).digest('text/plain', { bodyBytesMax: 4 })
    })
    await expect(failed).rejects.toMatchObject({ code: 'idempotency-body-too-large' })
  })

  it('is refused when the client leaves before its end', async () => {
    const failed = receive([CHUNKED, '3\r\none\r\n'], async (request, client) => {
      client.resetAndDestroy()
      return bodyOf(request).digest('text/plain', {})
    })
    await expect(failed).rejects.toThrow(/aborted|cut off/)
  })

  it('is not taken for empty when it was thrown away unread', async () => {
    const failed = receive([message('unread')], async (request) => {
      request.destroy()
      await once(request, 'close')
      return bodyOf(request).digest('text/plain', {})
    })
    await expect(failed).rejects.toMatchObject({ code: 'idempotency-body-invalid' })
  })

  it('keeps no listeners when it is read', async () => {
    const [before, after] = await receive([message('data')], async (request) => {
      const count = () => ['readable', 'error', 'close'].map((name) => request.listenerCount(name))
      const before = count()
      await bodyOf(request).digest('text/plain', {})
      return [before, count()]
    })
    expect(after).toEqual(before)
  })
})
