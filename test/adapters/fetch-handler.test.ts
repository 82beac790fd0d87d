import { describe, expect, test } from 'vitest'
import { idempotent } from '../../src/adapters/fetch.ts'
import { createReprise, memoryStore, type Reprise } from '../../src/index.ts'
import { giveUp } from './fetch-bridge.ts'
import { atOnce, slowly } from './fetch-shapes.ts'

const caller = () => 'acct_1'

function reprise(): Reprise {
  return createReprise({ store: memoryStore() })
}

function post(body: BodyInit = 'hello', signal?: AbortSignal): Request {
  const headers = { 'Idempotency-Key': 'key-1' }
  const init = { method: 'POST', body, headers, duplex: 'half', signal: signal ?? null }
  return new Request('http://127.0.0.1/items', init)
}

describe('a key with a comma', () => {
  const ask = async (key: string, options: { key?: { query: string } } = {}) => {
    const handler = idempotent(reprise(), { caller, ...options }, () => new Response('done'))
    const request = new Request(`http://127.0.0.1/items?key=${encodeURIComponent(key)}`, {
      method: 'POST',
      headers: { 'Idempotency-Key': key },
    })
    const response = await handler(request)
    return { status: response.status, text: await response.text() }
  }

  test('and a space may be two lines that were joined, and is refused with that reason', async () => {
    const { status, text } = await ask('"key, 1"')
    expect(status).toBe(400)
    expect(JSON.parse(text)).toMatchObject({
      code: 'idempotency-key-invalid',
      detail: expect.stringContaining('a comma and a space'),
    })
  })

  test('alone is one key, because lines are joined with a space', async () => {
    expect(await ask('"key,1"')).toEqual({ status: 200, text: 'done' })
  })

  test('and a space is one key where it comes in no header', async () => {
    expect(await ask('key, 1', { key: { query: 'key' } })).toEqual({ status: 200, text: 'done' })
  })
})

describe('a handler', () => {
  test('is given the very request, its body whole, and what the platform adds', async () => {
    const upload = 'x'.repeat(3_000_000)
    const seen: unknown[] = []
    const handler = idempotent(reprise(), { caller }, async (request, env: string) => {
      seen.push(request, env)
      expect(request.bodyUsed).toBe(false)
      return new Response(String((await request.text()).length))
    })
    const request = post(upload)
    expect(await (await handler(request, 'env')).text()).toBe('3000000')
    expect(seen[0]).toBe(request)
    expect(seen[1]).toBe('env')
    const again = await handler(post(upload), 'env')
    expect(again.headers.get('Idempotent-Replayed')).toBe('true')
    expect((await handler(post(`${upload}!`), 'env')).status).toBe(422)
  })

  test('may answer with a reason phrase of its own, which is replayed', async () => {
    const handler = idempotent(reprise(), { caller }, async () => {
      return new Response('fine', { status: 201, statusText: 'Quite Fine' })
    })
    expect((await handler(post())).statusText).toBe('Quite Fine')
    const again = await handler(post())
    expect(again.headers.get('Idempotent-Replayed')).toBe('true')
    expect(again.statusText).toBe('Quite Fine')
  })

  test('may name the length of its body, and the replay does too', async () => {
    const handler = idempotent(reprise(), { caller }, async () => {
      return new Response('fine', { headers: { 'Content-Length': '4' } })
    })
    await handler(post())
    expect((await handler(post())).headers.get('Content-Length')).toBe('4')
  })

  test('may read the body as a stream', async () => {
    const handler = idempotent(reprise(), { caller }, async (request) => new Response(request.body))
    expect(await (await handler(post(slowly(['one', 'two'])))).text()).toBe('onetwo')
  })

  test('does not learn that the client has gone away before its answer is stored', async () => {
    const client = new AbortController()
    let signal: AbortSignal | undefined
    const handler = idempotent(reprise(), { caller }, async (request) => {
      signal = request.signal
      client.abort(new Error('gone'))
      expect(request.signal.aborted).toBe(false)
      return new Response('done')
    })
    await handler(post('hello', client.signal))
    expect(signal?.aborted).toBe(true)
    expect(signal?.reason).toEqual(new Error('gone'))
  })

  test('leaves the request the signal that somebody has given it', async () => {
    const { signal } = new AbortController()
    const request = Object.defineProperty(post(), 'signal', { value: signal, configurable: true })
    await idempotent(reprise(), { caller }, async () => new Response('done'))(request)
    expect(request.signal).toBe(signal)
  })

  test('learns that the client goes away while its stream is being sent', async () => {
    const client = new AbortController()
    let signal: AbortSignal | undefined
    const handler = idempotent(reprise(), { caller, streams: 'bypass' }, async (request) => {
      signal = request.signal
      return new Response(slowly(['one', 'two']))
    })
    await handler(post('hello', client.signal))
    expect(signal?.aborted).toBe(false)
    client.abort()
    expect(signal?.aborted).toBe(true)
  })

  test('is told in a sentence that the body was read before', async () => {
    const handler = idempotent(reprise(), { caller }, () => new Response('never'))
    const request = post()
    await request.text()
    await expect(handler(request)).rejects.toThrow('the body was read before')
  })

  test('is not asked for a body over the limit, however long the rest takes', async () => {
    const endless = new ReadableStream({ start: (to) => to.enqueue(new Uint8Array(11)) })
    const options = { caller, fingerprint: { bodyBytesMax: 10 } }
    const handler = idempotent(reprise(), options, () => new Response('never'))
    expect((await handler(post(endless))).status).toBe(413)
  })

  test('is not asked for a body that is cut off', async () => {
    const cut = new ReadableStream({ pull: (to) => to.error(new Error('reset')) })
    const handler = idempotent(reprise(), { caller }, () => new Response('never'))
    const response = await handler(post(cut))
    expect(response.status).toBe(400)
    expect(await response.json()).toMatchObject({ code: 'idempotency-body-invalid' })
  })

  test('is asked under a key with a comma in quotes', async () => {
    const handler = idempotent(reprise(), { caller }, () => new Response('done'))
    const request = post()
    request.headers.set('Idempotency-Key', '"a,b"')
    expect((await handler(request)).headers.get('Idempotency-Key')).toBe('"a,b"')
  })

  test('runs untouched for a method that is not protected', async () => {
    const own = () => new Response('got', { headers: { 'X-Own': '1' } })
    const handler = idempotent(reprise(), { caller }, own)
    const response = await handler(new Request('http://127.0.0.1/items'))
    expect([...response.headers]).toEqual([...own().headers])
  })
})

describe('a response', () => {
  test('is the very one that the handler made, with its marks', async () => {
    const own = new Response('own', { status: 201 })
    const handler = idempotent(reprise(), { caller }, () => own)
    expect(await handler(post())).toBe(own)
    expect(own.headers.get('Idempotency-Key')).toBe('key-1')
  })

  test.each([
    ['a redirect', () => Response.redirect('http://127.0.0.1/there')],
    ['what fetch gave', () => fetch('data:text/plain,afar')],
  ])('is marked although it is %s, which can not be changed', async (_, make) => {
    const handler = idempotent(reprise(), { caller }, make)
    expect((await handler(post())).headers.get('Idempotency-Key')).toBe('key-1')
  })

  test('of a text that names no type has the type of a text when it comes again', async () => {
    const handler = idempotent(reprise(), { caller }, () => new Response('text'))
    await handler(post())
    const again = await handler(post())
    expect(again.headers.get('Idempotent-Replayed')).toBe('true')
    expect(again.headers.get('Content-Type')).toMatch(/^text\/plain;charset=utf-8$/i)
  })

  test('of a known size over the limit says on replay how much is missing', async () => {
    const handler = idempotent(reprise(), { caller, bodyBytesMax: 10 }, () => {
      return new Response('x'.repeat(11))
    })
    expect(await (await handler(post())).text()).toBe('x'.repeat(11))
    const again = await handler(post())
    expect(again.headers.get('Idempotency-Body-Omitted')).toBe('11')
  })

  test.each([
    ['bytes at hand', () => new Response('whole')],
    ['a stream of pieces at hand', () => new Response(atOnce([Buffer.from('whole')]))],
  ])('of %s is kept where streams are let through', async (_, make) => {
    const handler = idempotent(reprise(), { caller, streams: 'bypass' }, make)
    expect(await (await handler(post())).text()).toBe('whole')
    const again = await handler(post())
    expect(again.headers.get('Idempotency-Body-Omitted')).toBeNull()
    expect(await again.text()).toBe('whole')
  })

  test('of a stream that waits is not kept where streams are let through', async () => {
    let go = () => {}
    const sent = new Promise<void>((resolve) => {
      go = resolve
    })
    const waiting = () =>
      new ReadableStream({
        async pull(controller) {
          await sent
          controller.enqueue(Buffer.from('whole'))
          controller.close()
        },
      })
    const options = { caller, streams: 'bypass' } as const
    const handler = idempotent(reprise(), options, () => new Response(waiting()))
    const first = await handler(post())
    go()
    expect(await first.text()).toBe('whole')
    const again = await handler(post())
    expect(again.headers.get('Idempotency-Body-Omitted')).toBe('unknown')
    expect(await again.text()).toBe('')
  })

  test('that stalls over the limit is let through', async () => {
    const stalled = () => new ReadableStream({ start: (to) => to.enqueue(Buffer.from('xx')) })
    const handler = idempotent(reprise(), { caller, bodyBytesMax: 1 }, () => {
      return new Response(stalled())
    })
    const response = await handler(post())
    expect(response.status).toBe(200)
    await response.body?.cancel()
  })

  test('that is an error of the network is handed on', async () => {
    const own = Response.error()
    const handler = idempotent(reprise(), { caller }, () => own)
    expect(await handler(post())).toBe(own)
  })

  test('that never ends at hand is let through at the limit', async () => {
    const endless = () =>
      new ReadableStream({ pull: (controller) => controller.enqueue(new Uint8Array(1000)) })
    const options = { caller, bodyBytesMax: 10_000, streams: 'bypass' } as const
    const handler = idempotent(reprise(), options, () => new Response(endless()))
    const response = await handler(post())
    await response.body?.cancel()
    const again = await handler(post())
    expect(again.headers.get('Idempotency-Body-Omitted')).toBe('unknown')
  })

  test('that is not sent is let go of', async () => {
    const store = memoryStore()
    let letGo = () => {}
    const isLetGo = new Promise<void>((resolve) => {
      letGo = resolve
    })
    const endless = () =>
      new ReadableStream({ pull: (to) => to.enqueue(Buffer.from('xx')), cancel: () => letGo() })
    const handler = idempotent(createReprise({ store }), { caller, bodyBytesMax: 1 }, async () => {
      await giveUp(store)
      const winner = idempotent(createReprise({ store }), { caller }, () => new Response('winner'))
      await winner(post())
      return new Response(endless())
    })
    expect(await (await handler(post())).text()).toBe('winner')
    await isLetGo
  })

  test('of a body that was read before is an error', async () => {
    const handler = idempotent(reprise(), { caller }, async () => {
      const response = new Response('read')
      await response.text()
      return response
    })
    await expect(handler(post())).rejects.toThrow(TypeError)
  })
})
