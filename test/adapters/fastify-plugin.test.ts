import { connect } from 'node:net'
import { PassThrough, Readable } from 'node:stream'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { gzipSync } from 'node:zlib'
import fastify, {
  type FastifyInstance,
  type FastifyReply,
  type FastifyRequest,
  type InjectOptions,
} from 'fastify'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { type FastifyOptions, idempotency, idempotent, runOf } from '../../src/adapters/fastify.ts'
import { sendThrough } from '../../src/adapters/fastify-send.ts'
import { createReprise, type Reprise } from '../../src/engine/reprise.ts'
import type { Store } from '../../src/engine/store.ts'
import { memoryStore } from '../../src/stores/memory/store.ts'

let app: FastifyInstance
let store: Store
let reprise: Reprise
let runs: number

beforeEach(() => {
  app = fastify({ forceCloseConnections: true })
  store = memoryStore()
  reprise = createReprise({ store })
  runs = 0
})

afterEach(async () => {
  await app.close()
  await reprise.close({ graceMs: 0 })
})

const caller = () => 'acct_1'

/** Says which run made it. */
function create(): { run: number } {
  return { run: ++runs }
}

function post(options: InjectOptions = {}) {
  const headers = { 'idempotency-key': 'key-1', ...options.headers }
  return app.inject({ method: 'POST', url: '/orders', payload: { a: 1 }, ...options, headers })
}

function register(options: Partial<FastifyOptions> = {}) {
  return app.register(idempotency, { reprise, caller, ...options })
}

async function records(): Promise<number> {
  return (await store.list({ limit: 10 })).records.length
}

/** Takes the record away from the run that holds it, as a lease that lapses does. */
async function loseLease(): Promise<void> {
  const record = (await store.list({ limit: 1 })).records[0]?.record
  if (record?.owner == null) throw new TypeError('Nobody holds the record.')
  const { id, owner, fence } = record
  await store.release({ id, owner, fence }, 'forget')
}

describe('the Fastify plugin', () => {
  test('protects the routes that are declared after it, also those of the scope around it', async () => {
    await register()
    app.post('/orders', create)
    await app.register(async (inner) => void inner.post('/inner', create))
    for (const url of ['/orders', '/inner']) {
      const first = await post({ url })
      const again = await post({ url })
      expect(first.headers['idempotent-replayed']).toBeUndefined()
      expect(again.headers['idempotent-replayed']).toBe('true')
      expect(again.body).toBe(first.body)
    }
    expect(runs).toBe(2)
  })

  test('leaves a route alone that says so', async () => {
    await register()
    app.post('/orders', { config: { idempotency: false } }, create)
    await post()
    await post()
    expect(runs).toBe(2)
  })

  test('has a route say otherwise', async () => {
    await register()
    app.put('/orders', { config: { idempotency: { methods: ['PUT'], required: true } } }, create)
    expect((await app.inject({ method: 'PUT', url: '/orders' })).statusCode).toBe(400)
    await post({ method: 'PUT' })
    expect((await post({ method: 'PUT' })).headers['idempotent-replayed']).toBe('true')
  })

  test('refuses at start what can never work, for itself and for a route', async () => {
    await register()
    const config = { idempotency: { methods: ['GET'] } }
    expect(() => app.post('/orders', { config }, create)).toThrow(/GET, which is never recorded/)
    await expect(fastify().register(idempotency, { reprise, caller, methods: [] })).rejects.toThrow(
      /methods is empty/,
    )
  })

  test('refuses a misspelt option of the plugin and of a route, and takes those of register', async () => {
    const own = { requred: true } as Partial<FastifyOptions>
    const refused = async () => fastify().register(idempotency, { reprise, caller, ...own })
    await expect(refused()).rejects.toThrow('did you mean `required`?')
    await app.register(idempotency, { reprise, caller, prefix: '/v1' } as FastifyOptions)
    expect(() => app.post('/charges', { config: { idempotency: own } }, create)).toThrow(
      '`requred` is no option of idempotent(): did you mean `required`?',
    )
  })

  test('comes after every hook that may refuse, and after the schema', async () => {
    await register()
    const schema = { body: { type: 'object', required: ['a'] } }
    const authenticate = async (request: FastifyRequest, reply: FastifyReply) => {
      if (request.headers.authorization === undefined) await reply.code(401).send('who are you?')
    }
    app.post('/orders', { schema, preHandler: authenticate }, create)
    const refusal = await post()
    expect([refusal.statusCode, refusal.headers['idempotency-key']]).toEqual([401, undefined])
    const headers = { authorization: 'me' }
    expect((await post({ headers, payload: {} })).statusCode).toBe(400)
    expect(await records()).toBe(0)
    expect((await post({ headers })).json()).toEqual({ run: 1 })
  })

  test('records nothing for a path that is not there', async () => {
    await register()
    app.post('/orders', create)
    expect((await post({ url: '/nowhere' })).statusCode).toBe(404)
    expect(await records()).toBe(0)
  })
})

describe('the Fastify hook', () => {
  const once = () => idempotent(reprise, { caller })

  test('compares what the handler sees', async () => {
    const schema = { body: { type: 'object', properties: { a: { type: 'integer' } } } }
    app.post('/orders', { schema, preHandler: once() }, create)
    await post({ payload: { a: 1 } })
    expect((await post({ payload: { a: '1' } })).headers['idempotent-replayed']).toBe('true')
    expect((await post({ payload: { a: 2 } })).statusCode).toBe(422)
  })

  test('compares the raw body where there is one', async () => {
    const preValidation = async (request: FastifyRequest) => {
      Object.assign(request, { rawBody: Buffer.from(JSON.stringify(request.body)), body: {} })
    }
    app.post('/orders', { preValidation, preHandler: once() }, create)
    await post({ payload: { a: 1 } })
    expect((await post({ payload: { a: 2 } })).statusCode).toBe(422)
    expect((await post({ payload: { a: 1 } })).headers['idempotent-replayed']).toBe('true')
  })

  test('leaves a body to the handler that no parser touched, also one that is injected', async () => {
    app.addContentTypeParser('text/csv', (_request, payload, done) => done(null, payload))
    app.post('/orders', { preHandler: once() }, async ({ body }) => {
      let text = ''
      // The parser handed the stream on.
      for await (const chunk of body as AsyncIterable<Buffer>) text += chunk.toString()
      return { run: ++runs, text }
    })
    const headers = { 'content-type': 'text/csv' }
    expect((await post({ headers, payload: 'a,b' })).json()).toEqual({ run: 1, text: 'a,b' })
    expect((await post({ headers, payload: 'a,b' })).json()).toEqual({ run: 1, text: 'a,b' })
    expect((await post({ headers, payload: 'a,c' })).statusCode).toBe(422)
  })

  test('tells that it can not compare a stream that somebody made of the body', async () => {
    app.addContentTypeParser('text/csv', (_request, payload, done) => {
      done(null, payload.pipe(new PassThrough()))
    })
    app.post('/orders', { preHandler: once() }, create)
    const answer = await post({ headers: { 'content-type': 'text/csv' }, payload: 'a,b' })
    expect(answer.json().message).toMatch(/stream that only the handler can read/)
    expect(runs).toBe(0)
  })

  test('sends a replay with what earlier hooks set, and has it noted by those that come after', async () => {
    const noted: unknown[] = []
    app.addHook('onRequest', async (_request, reply) => {
      reply.header('X-Early', 'yes').header('Vary', ['a', 'b'])
    })
    app.addHook('onResponse', async (_request, reply) => {
      noted.push([reply.statusCode, reply.getHeader('content-type'), reply.getHeader('x-early')])
    })
    app.post('/orders', { preHandler: once() }, async (_request, reply) => {
      reply.code(201)
      return create()
    })
    const first = await post()
    const again = await post()
    const { date: _, 'idempotency-expires': __, ...headers } = first.headers
    expect(headers).toMatchObject({ 'x-early': 'yes', vary: ['a', 'b'] })
    expect(again.headers).toMatchObject({ ...headers, 'idempotent-replayed': 'true' })
    expect([again.statusCode, again.body]).toEqual([201, first.body])
    const one = [201, 'application/json; charset=utf-8', 'yes']
    expect(noted).toEqual([one, one])
    expect(runs).toBe(1)
  })

  test('keeps what an onSend hook made of an answer, and does not have it made twice', async () => {
    let sendings = 0
    app.addHook('onSend', async (_request, reply, payload) => {
      reply.header('X-Sending', String(++sendings)).header('Content-Security-Policy', 'none')
      await nextTurn()
      return `${String(payload)}!`
    })
    app.post('/orders', { preHandler: once() }, create)
    const first = await post()
    const again = await post()
    expect([first.body, again.body]).toEqual(['{"run":1}!', '{"run":1}!'])
    expect(again.headers['content-length']).toBe('10')
    expect(again.headers['content-security-policy']).toBe('none')
    const refusal = await post({ payload: { a: 2 } })
    expect(refusal.json()).toMatchObject({ code: 'idempotency-key-reused' })
    expect(refusal.headers).toMatchObject({ 'x-sending': '3', 'content-security-policy': 'none' })
    expect(runs).toBe(1)
  })

  /** What hooks do to a replay, which says what it said first, with their headers. */
  const replayHooks: Readonly<Record<string, (reply: FastifyReply, payload: unknown) => unknown>> =
    {
      'leaves it': (_, payload) => payload,
      'makes it a stream': (_, payload) => Readable.from([payload, '!']),
      'makes it a web stream': (_, payload) => new Blob([String(payload), '!']).stream(),
      'makes it events': (reply, payload) => {
        reply.type('text/event-stream')
        return Readable.from([payload, '!'])
      },
      'makes it nothing': () => null,
      'makes it a 204': (reply, payload) => {
        reply.code(204)
        return payload
      },
      'adds a trailer': (reply, payload) => {
        reply.trailer('x-end', async () => 'end')
        return payload
      },
      'adds a trailer to a stream': (reply, payload) => {
        reply.trailer('x-end', async () => 'end')
        return Readable.from([payload])
      },
      'compresses it': (reply, payload) => {
        reply.header('Content-Encoding', 'gzip')
        return gzipSync(String(payload))
      },
      'breaks it': () =>
        new Readable({
          read() {
            this.destroy(new Error('no source'))
          },
        }),
      'sends it by hand': (reply) => {
        reply.raw.writeHead(200, { 'X-Hook': 'raw' })
        reply.raw.write('by hand')
        reply.raw.end()
      },
      'sends its head': (reply) => {
        reply.raw.setHeader('X-Hook', 'raw').flushHeaders()
        reply.raw.end('by hand')
      },
      'says a header that is not plain': (reply, payload) => {
        reply.header('X-Other', 'ü')
        return payload
      },
      throws: () => {
        throw new Error('a hook fails')
      },
    }

  for (const [name, hook] of Object.entries(replayHooks)) {
    test(`sends a replay as it was though a hook ${name}, at once or later`, async () => {
      let mode: 'off' | 'once' | 'later' = 'off'
      app.addHook('onSend', (_request, reply, payload, done) => {
        const act = () => {
          try {
            done(null, hook(reply, payload))
          } catch (error) {
            // What is thrown here is an error.
            done(error as Error)
          }
        }
        reply.header('X-Hook', 'raw')
        if (mode === 'once') act()
        else if (mode === 'later') setImmediate(act)
        else done(null, payload)
      })
      app.post('/orders', { preHandler: once() }, async (_request, reply) => {
        reply.header('Vary', ['a', 'b']).header('ETag', '"1"')
        return create()
      })
      const first = await post()
      for (const next of ['once', 'later'] as const) {
        mode = next
        const again = await post()
        expect([again.statusCode, again.body]).toEqual([200, first.body])
        const { date: _, 'idempotency-expires': __, ...headers } = first.headers
        expect(again.headers).toMatchObject({ ...headers, 'idempotent-replayed': 'true' })
        expect(again.headers).not.toHaveProperty('content-encoding')
        expect(again.headers).not.toHaveProperty('trailer')
      }
      expect(runs).toBe(1)
    })
  }

  test('sends a replay whose client has left while a hook worked, and goes on', async () => {
    const [began, closed, gone] = [signal(), signal(), signal()]
    const seen: boolean[] = []
    let sendings = 0
    app.addHook('onSend', async (_request, reply, payload) => {
      if (++sendings !== 2) return payload
      reply.raw.once('close', closed.give)
      began.give()
      await gone.given
      seen.push(reply.raw.destroyed, reply.raw.closed)
      return payload
    })
    app.post('/orders', { preHandler: once() }, create)
    await app.listen({ host: '127.0.0.1', port: 0 })
    await post()
    const socket = connect(portOf(app), '127.0.0.1')
    const head = 'POST /orders HTTP/1.1\r\nHost: a\r\nIdempotency-Key: key-1\r\n'
    socket.write(`${head}Content-Type: application/json\r\nContent-Length: 7\r\n\r\n{"a":1}`)
    await began.given
    socket.resetAndDestroy()
    await closed.given
    gone.give()
    expect((await post()).headers['idempotent-replayed']).toBe('true')
    expect([runs, seen]).toEqual([1, [false, false]])
  })

  test('gives a replay up when a hook sends it by hand from a source that fails', async () => {
    let sendings = 0
    app.addHook('onSend', (_request, reply, payload, done) => {
      if (++sendings === 1) return done(null, payload)
      const source = new PassThrough()
      source.on('error', () => {}).pipe(reply.raw)
      source.write('half of ')
      setImmediate(() => source.destroy(new Error('The source is gone.')))
    })
    app.post('/orders', { preHandler: once() }, create)
    await post()
    await expect(post()).rejects.toThrow('The source is gone.')
    expect(runs).toBe(1)
  })

  test('keeps what was said of the connection, also for a replay', async () => {
    app.addHook('onRequest', async (_request, reply) => {
      reply.raw.setHeader('Connection', 'close')
    })
    app.post('/orders', { preHandler: once() }, create)
    for (const replayed of [undefined, 'true']) {
      const { headers } = await post()
      expect(headers).toMatchObject({ connection: 'close' })
      expect(headers['idempotent-replayed']).toBe(replayed)
    }
  })

  test('keeps the headers that earlier hooks set, also on answers that are not the handler’s', async () => {
    app.addHook('onRequest', async (_request, reply) => {
      reply.header('Access-Control-Allow-Origin', '*').header('X-Of', 'hook')
    })
    app.post('/orders', { preHandler: once() }, async (_request, reply) => {
      reply.header('X-Of', 'handler')
      return create()
    })
    for (const payload of [{ a: 1 }, { a: 1 }, { a: 2 }]) {
      const { headers } = await post({ payload })
      expect(headers['access-control-allow-origin']).toBe('*')
    }
  })

  test('sends the answer of the run that took over, without the headers of the one that lost', async () => {
    const other = fastify()
    const preHandler = idempotent(createReprise({ store }), { caller })
    other.post('/orders', { preHandler }, async () => ({ by: 'the other' }))
    app.addHook('onRequest', async (_request, reply) => void reply.header('X-Before', 'yes'))
    app.post('/orders', { preHandler: once() }, async (_request, reply) => {
      await loseLease()
      const headers = { 'idempotency-key': 'key-1' }
      await other.inject({ method: 'POST', url: '/orders', payload: { a: 1 }, headers })
      return reply.header('X-Lost', 'yes').send({ by: 'the one that lost' })
    })
    const answer = await post()
    expect(answer.json()).toEqual({ by: 'the other' })
    expect(answer.headers).toMatchObject({ 'idempotent-replayed': 'true', 'x-before': 'yes' })
    expect(answer.headers['x-lost']).toBeUndefined()
  })

  test('has the error handler answer when the policy itself fails', async () => {
    const policy = () => {
      throw new Error('no policy')
    }
    app.setErrorHandler((error: Error, _request, reply) =>
      reply.code(500).send({ told: error.message }),
    )
    const preHandler = idempotent(reprise, { caller, policy })
    app.post('/orders', { preHandler }, async (_request, reply) => {
      reply.header('X-Handler', 'yes').type('text/x-own')
      return 'done'
    })
    const answer = await post()
    expect(answer.statusCode).toBe(500)
    expect(answer.json()).toEqual({ told: 'no policy' })
    expect(answer.headers['x-handler']).toBeUndefined()
  })

  test('ends a run that returns nothing, though its client has gone', async () => {
    const began = signal()
    const gone = signal()
    app.post('/orders', { preHandler: once() }, async (_request, reply) => {
      runs++
      began.give()
      await gone.given
      reply.code(204)
    })
    await app.listen({ host: '127.0.0.1', port: 0 })
    const socket = connect(portOf(app), '127.0.0.1')
    const head = 'POST /orders HTTP/1.1\r\nHost: a\r\nIdempotency-Key: key-1\r\n'
    socket.write(`${head}Content-Length: 0\r\n\r\n`)
    await began.given
    socket.resetAndDestroy()
    // The reset is there; after some turns the server has seen it.
    for (let turn = 0; turn < 8; turn++) await nextTurn()
    gone.give()
    const headers = { 'idempotency-key': 'key-1', prefer: 'wait=10' }
    const again = await app.inject({ method: 'POST', url: '/orders', headers })
    expect([again.statusCode, again.headers['idempotent-replayed']]).toEqual([204, 'true'])
    expect(runs).toBe(1)
  })

  test('cuts the connection where an answer can not be sent, and leaves nobody waiting', async () => {
    app.addHook('preHandler', async (_, reply) => {
      const headers = [['x-line', 'one\ntwo']] as const
      await sendThrough(reply, { status: 200, headers, body: new Uint8Array() })
    })
    app.post('/orders', create)
    await app.listen({ port: 0, host: '127.0.0.1' })
    const asked = fetch(`http://127.0.0.1:${portOf(app)}/orders`, { method: 'POST' })
    await expect(asked).rejects.toThrow('fetch failed')
    expect(runs).toBe(0)
  })

  test('gives the handler its run', async () => {
    app.post('/orders', { preHandler: once() }, (request) => {
      runOf(request)?.release()
      return create()
    })
    await post()
    expect((await post()).json()).toEqual({ run: 2 })
  })
})

function signal(): { given: Promise<void>; give: () => void } {
  let give = () => {}
  const given = new Promise<void>((resolve) => {
    give = resolve
  })
  return { given, give }
}

function portOf({ server }: FastifyInstance): number {
  const address = server.address()
  return typeof address === 'object' ? (address?.port ?? 0) : 0
}
