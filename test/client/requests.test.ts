import { getEventListeners } from 'node:events'
import { describe, expect, it } from 'vitest'
import { createClient, idempotentFetch } from '../../src/client/client.ts'
import { deriveKey, uuidV4, uuidV7 } from '../../src/client/key.ts'
import { extendDialect } from '../../src/core/dialects/extend-dialect.ts'
import { dialects } from '../../src/core/dialects/index.ts'
import { keyTimestamp, parseKey } from '../../src/core/key.ts'
import { done, START, world } from './world.ts'

const UUID = (version: number) =>
  new RegExp(`^[0-9a-f]{8}-[0-9a-f]{4}-${version}[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`)

describe('keys', () => {
  it('carry the time at which they were made, unless another kind is asked for', async () => {
    const { client, seen } = world([done])
    const { key } = await client.post('charges')
    expect(key).toMatch(UUID(7))
    expect(keyTimestamp(key ?? '')).toBe(START)
    expect(seen[0]?.key).toBe(key)

    const other = world([done], { newKey: uuidV4 })
    expect((await other.client.post('charges')).key).toMatch(UUID(4))
  })

  it('are different each time', () => {
    const keys = Array.from({ length: 10_000 }, (_, at) => (at % 2 ? uuidV7() : uuidV4()))
    expect(new Set(keys).size).toBe(keys.length)
  })

  it('follow from what is done, whatever the order of members', async () => {
    const key = await deriveKey('close-books', { month: 5, lines: [{ a: 1, b: [2, 3] }] })
    expect(key).toMatch(/^close-books-[0-9a-f]{64}$/)
    expect(await deriveKey('close-books', { lines: [{ b: [2, 3], a: 1 }], month: 5 })).toBe(key)
    for (const [operation, data] of [
      ['close-books', { month: 6, lines: [{ a: 1, b: [2, 3] }] }],
      ['close-books', { month: 5, lines: [{ a: 1, b: [3, 2] }] }],
      ['open-books', { month: 5, lines: [{ a: 1, b: [2, 3] }] }],
      ['close-books', { a: 'x', 'a,b': 'y' }],
      ['close-books', { a: 'z', 'a,b': 'y' }],
    ] as const) {
      expect(await deriveKey(operation, data)).not.toBe(key)
    }
    await expect(deriveKey('geschäft', {})).rejects.toThrow(TypeError)
  })

  it('of the caller are kept, in an option or in the headers', async () => {
    const { client, seen } = world([done])
    const header = { 'idempotency-key': '"my \\"key\\""' }
    expect((await client.post('charges', { key: 'mine' })).key).toBe('mine')
    expect((await client.post('charges', { headers: header })).key).toBe('my "key"')
    expect((await client('charges', { headers: { 'Idempotency-Key': 'get' } })).ok).toBe(true)
    expect(seen.map(({ key }) => key)).toEqual(['mine', '"my \\"key\\""', 'get'])
  })

  it.each(['', ' ', 'undefined', 'null', '[object Object]', 'ä', 'a\nb', 'x'.repeat(256)])(
    'that nobody should use are refused: %j',
    async (key) => {
      const { client, seen } = world([done])
      await expect(client.post('charges', { key })).rejects.toThrow(TypeError)
      expect(seen).toEqual([])
    },
  )

  it('are written bare, or in quotes where the dialect or an option asks for it', async () => {
    const strict = extendDialect(dialects.ietf, { name: 'strict', key: { mode: 'strict' } })
    const sent = async (options: Parameters<typeof world>[1], key: string) => {
      const { client, seen } = world([done], options)
      await client.post('charges', { key })
      return seen[0]?.key
    }
    expect(await sent({}, 'a-1')).toBe('a-1')
    expect(await sent({ dialect: strict }, 'a-1')).toBe('"a-1"')
    expect(await sent({ keyFormat: 'quoted' }, 'a"1')).toBe('"a\\"1"')
    expect(await sent({ dialect: strict, keyFormat: 'bare' }, 'a-1')).toBe('a-1')
    // What can not be written bare is not.
    expect(await sent({}, 'a 1,2')).toBe('"a 1,2"')
    expect(parseKey([(await sent({}, 'a 1,2')) ?? ''])).toEqual({ kind: 'key', key: 'a 1,2' })
  })

  it('go into the header of the dialect, on the methods that change something', async () => {
    const { client, seen } = world([done], { dialect: dialects.agents })
    for (const method of ['POST', 'PUT', 'PATCH', 'DELETE', 'GET']) await client('x', { method })
    expect(seen.map(({ headers }) => headers.has('X-Idempotency-Key'))).toEqual([
      ...[true, true, true, true],
      false,
    ])
    const few = world([done], { methods: ['POST'] })
    await few.client.put('x')
    expect(few.seen[0]?.key).toBe(null)
  })
})

describe('a request', () => {
  const bodyOf = ({ body }: { body: Uint8Array | null } = { body: null }) =>
    body === null ? null : new TextDecoder('latin1').decode(body)

  it('may have any body that can be sent twice', async () => {
    const { client, seen } = world(['cut', done])
    const form = new FormData()
    form.set('file', new Blob([new Uint8Array([0, 255])]), 'a.bin')
    const bodies: [BodyInit, string | RegExp, string | null][] = [
      ['text', 'text', 'text/plain;charset=UTF-8'],
      [new URLSearchParams({ a: '1' }), 'a=1', 'application/x-www-form-urlencoded;charset=UTF-8'],
      [new Uint8Array([200, 201]), 'ÈÉ', null],
      [new Uint8Array([1, 200, 201]).subarray(1), 'ÈÉ', null],
      [new Blob(['blob'], { type: 'a/b' }), 'blob', 'a/b'],
      [form, /filename="a.bin"[^]*\0ÿ/, null],
    ]
    for (const [body, text, type] of bodies) {
      const from = seen.length
      await client.post('x', { body })
      const sent = seen.slice(from)
      for (const one of sent) expect(bodyOf(one)).toMatch(text)
      // Letters of a charset mean the same in either case, and runtimes choose differently.
      const sentType = sent[0]?.headers.get('Content-Type')?.toLowerCase()
      if (type !== null) expect(sentType).toBe(type.toLowerCase())
    }
    // The boundary of a form is the same on both attempts, in the body and in the header.
    const again = world(['cut', done])
    await again.client.post('x', { body: form })
    expect(bodyOf(again.seen[0])).toBe(bodyOf(again.seen[1]))
    const boundary = /boundary=(.*)/.exec(again.seen[1]?.headers.get('Content-Type') ?? '')?.[1]
    expect(bodyOf(again.seen[0])).toContain(boundary)
  })

  it('is refused when its body is a stream, before anything is sent', async () => {
    const { client, seen } = world([done])
    const streams = [new ReadableStream(), (async function* () {})()]
    for (const body of streams) {
      // Node takes them as bodies, the types do not say so.
      await expect(client.post('x', { body: body as never })).rejects.toThrow('sent only once')
    }
    const used = new Request('https://a.example', { method: 'POST', body: 'x' })
    await used.text()
    await expect(client(used)).rejects.toThrow(TypeError)
    expect(seen).toEqual([])
    expect(await client.journal.list()).toEqual([])
  })

  it('may be a Request, and its options are kept', async () => {
    const inits: RequestInit[] = []
    const send: typeof fetch = async (_, init = {}) => {
      inits.push(init)
      if (inits.length === 1) throw new TypeError('fetch failed')
      return new Response('{}')
    }
    const { client } = world([], { fetch: send })
    const request = new Request('https://a.example/x', {
      ...{ method: 'PATCH', body: '{"a":1}', headers: { A: 'b' }, redirect: 'manual' },
    })
    await client(request, { headers: { C: 'd' }, cache: 'no-store' })
    expect(inits).toHaveLength(2)
    for (const { method, body, headers, redirect, cache } of inits) {
      expect([method, redirect, cache]).toEqual(['PATCH', 'manual', 'no-store'])
      expect(new Headers(headers).get('C')).toBe('d')
      expect(await new Response(body).text()).toBe('{"a":1}')
    }
  })

  it('is resolved against the base address', async () => {
    const { client, seen } = world([done])
    await client.post('charges')
    await client.post('/v2/charges')
    await client.post(new URL('https://b.example/x'))
    expect(seen.map(({ url }) => url)).toEqual([
      'https://api.example/v1/charges',
      'https://api.example/v2/charges',
      'https://b.example/x',
    ])
    await expect(createClient().post('charges')).rejects.toThrow(TypeError)
  })

  it('gets headers that are asked for before each attempt, and its own over them', async () => {
    const tokens = ['old', 'new']
    const { client, seen } = world(['cut', done], {
      headers: async (attempt) => ({
        Authorization: `Bearer ${tokens.shift()}`,
        'X-Attempt': String(attempt),
        A: 'client',
      }),
    })
    await client.post('x', { headers: { A: 'own' } })
    const sent = (name: string) => seen.map(({ headers }) => headers.get(name))
    expect(sent('Authorization')).toEqual(['Bearer old', 'Bearer new'])
    expect(sent('X-Attempt')).toEqual(['1', '2'])
    expect(sent('A')).toEqual(['own', 'own'])
  })

  it('is not left behind when the program itself fails before it is sent', async () => {
    const headers = () => {
      throw new Error('no token')
    }
    const { client, seen } = world([done], { headers })
    await expect(client.post('x')).rejects.toThrow('no token')
    expect([seen, await client.journal.list()]).toEqual([[], []])
  })

  it('takes settings that are undefined for such as are not there', async () => {
    // As JavaScript would.
    const options = { attemptsMax: undefined, deadlineMs: undefined } as never
    const { client, seen } = world(['cut'], options)
    await expect(client.post('x')).rejects.toThrow('Outcome')
    expect(seen).toHaveLength(5)
  })
})

describe('an operation that is over', () => {
  it('leaves no timer and no listener behind', async () => {
    const { client, clock } = world(['cut', done])
    const { signal } = new AbortController()
    await client.post('x', { signal })
    expect([clock.timerCount, getEventListeners(signal, 'abort').length]).toEqual([0, 0])
  })

  it('gives its connection back when it takes too long', async () => {
    const signals: (AbortSignal | null | undefined)[] = []
    const send: typeof fetch = (_, init) => {
      signals.push(init?.signal)
      return signals.length > 1 ? Promise.resolve(new Response()) : new Promise(() => {})
    }
    const { client, clock } = world([], { fetch: send })
    const sending = client.post('x')
    await expect.poll(() => signals.length).toBe(1)
    clock.advance(30_000)
    await sending
    expect(signals.map((signal) => signal?.aborted)).toEqual([true, false])
  })
})

describe('an answer', () => {
  it('is a whole response, with its address, whatever its status', async () => {
    for (const status of [200, 204, 205, 303, 304]) {
      const answer = Object.defineProperty(
        new Response(status === 200 ? 'text' : null, {
          status,
          statusText: 'So',
          headers: { A: 'b' },
        }),
        'url',
        { value: 'https://a.example/end' },
      )
      const response = await idempotentFetch(async () => answer)('https://a.example')
      expect([response.status, response.statusText, response.url]).toEqual([
        ...[status, 'So'],
        'https://a.example/end',
      ])
      expect(response.headers.get('A')).toBe('b')
      expect(await response.text()).toBe(status === 200 ? 'text' : '')
    }
  })

  it('that is a stream of events is handed over at once, and ends with the signal', async () => {
    const control = new AbortController()
    let aborted: AbortSignal | null | undefined
    const send: typeof fetch = async (_, init) => {
      aborted = init?.signal
      const headers = { 'Content-Type': 'text/event-stream' }
      return new Response(new ReadableStream(), { headers })
    }
    const { client } = world([], { fetch: send })
    const { response } = await client.post('x', { signal: control.signal })
    expect(response.body?.locked).toBe(false)
    expect(aborted?.aborted).toBe(false)
    control.abort()
    expect(aborted?.aborted).toBe(true)
  })
})

describe('a request without a key', () => {
  it('is given to fetch as it is, and its very answer comes back', async () => {
    const answer = new Response('{"a":1}')
    const asked: unknown[] = []
    const client = createClient({
      fetch: async (...args) => {
        asked.push(args)
        return answer
      },
    })
    const request = new Request('https://api.example/v1/lines')
    const init = { redirect: 'manual' } as const
    expect(await client(request, init)).toBe(answer)
    expect(asked).toEqual([[request, init]])
  })

  it('is answered with the first byte of a long stream', async () => {
    const body = new ReadableStream({
      start: (controller) => controller.enqueue(new TextEncoder().encode('{"line":1}\n')),
    })
    let count = 0
    const client = createClient({
      fetch: async () => {
        count++
        return new Response(body)
      },
    })
    const response = await client('https://api.example/v1/lines')
    const reader = response.body?.getReader()
    expect(new TextDecoder().decode((await reader?.read())?.value)).toBe('{"line":1}\n')
    expect(count).toBe(1)
  })

  it('gets the base address and the headers of the client, and nothing else', async () => {
    const { client, seen } = world([{ status: 200 }], { headers: { A: 'client', B: 'client' } })
    await client('lines?x=1', { headers: { B: 'request' } })
    await client.post('lines', { key: null, json: { a: 1 } })
    expect(seen[0]).toMatchObject({ url: 'https://api.example/v1/lines?x=1', body: null })
    expect([...(seen[0]?.headers ?? [])]).toEqual([
      ['a', 'client'],
      ['b', 'request'],
    ])
    expect(seen[1]?.headers.get('Content-Type')).toBe('application/json')
    expect(new TextDecoder().decode(seen[1]?.body ?? undefined)).toBe('{"a":1}')
  })
})

describe('a request with a key', () => {
  it('is refused in a mode that would leave the key out', async () => {
    const { client, seen } = world([done])
    await expect(client.post('charges', { mode: 'no-cors' })).rejects.toThrow("mode 'no-cors'")
    expect(seen).toHaveLength(0)
  })
})
