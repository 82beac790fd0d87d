import { once } from 'node:events'
import { connect, type IncomingHttpHeaders, type IncomingHttpStatusHeader } from 'node:http2'
import { Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import fastify from 'fastify'
import { afterEach, describe, expect, it } from 'vitest'
import { idempotency, idempotent } from '../../src/adapters/fastify.ts'
import { createReprise } from '../../src/engine/reprise.ts'
import { memoryStore } from '../../src/stores/memory/store.ts'
import { gate, warningsDuring } from './node-world.ts'

/** What of a reply the handlers use. */
interface Reply {
  code(status: number): this
  header(name: string, value: unknown): this
  type(value: string): this
  send(payload: unknown): unknown
}

type Handler = (request: { body: unknown }, reply: Reply) => unknown

const closing: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const close of closing.splice(0)) await close()
})

/** Serves a route over HTTP/2 without encryption; gives what asks it. */
async function serve(handler: Handler, mount: 'hook' | 'plugin' = 'hook') {
  const app = fastify({ http2: true })
  const reprise = createReprise({ store: memoryStore() })
  const options = { caller: () => 'acct_1' }
  if (mount === 'plugin') await app.register(idempotency, { reprise, ...options })
  const preHandler = mount === 'hook' ? [idempotent(reprise, options)] : []
  app.post('/items/:id', { preHandler }, handler)
  const address = await app.listen({ host: '127.0.0.1', port: 0 })
  const session = connect(address)
  closing.push(async () => {
    session.destroy()
    await app.close()
  })
  const open = (body = '{"amount":100}') =>
    session
      .request({
        ...{ ':method': 'POST', ':path': '/items/1', 'idempotency-key': 'key-1' },
        'content-type': 'application/json',
      })
      .end(body)
  return async (body?: string): Promise<Answer> => {
    const stream = open(body)
    const [headers] = await once(stream, 'response')
    return { headers, text: () => text(stream) }
  }
}

interface Answer {
  readonly headers: IncomingHttpHeaders & IncomingHttpStatusHeader
  text(): Promise<string>
}

describe('Fastify over HTTP/2', () => {
  it.each(['hook', 'plugin'] as const)(
    'runs once and replays status, headers and body, without a warning: %s',
    async (mount) => {
      let runs = 0
      const ask = await serve((request, reply) => {
        runs++
        return reply.code(201).header('X-Run', runs).send({ got: request.body })
      }, mount)
      const warnings = await warningsDuring(async () => {
        const first = await ask()
        expect(first.headers).toMatchObject({ ':status': 201, 'x-run': '1' })
        expect(first.headers['idempotency-key']).toBe('key-1')
        const body = await first.text()
        expect(JSON.parse(body)).toEqual({ got: { amount: 100 } })

        const again = await ask('{ "amount": 100 }')
        const replayed = { ':status': 201, 'x-run': '1', 'idempotent-replayed': 'true' }
        expect(again.headers).toMatchObject(replayed)
        expect(again.headers['content-type']).toBe(first.headers['content-type'])
        expect(await again.text()).toBe(body)
      })
      expect([runs, warnings]).toEqual([1, []])
    },
  )

  it('refuses another body, and a duplicate while the first runs', async () => {
    const [begun, goOn] = [gate(), gate()]
    const ask = await serve(async () => {
      begun.open()
      await goOn.passed
      return 'done'
    })
    const first = ask()
    await begun.passed
    const running = await ask()
    expect(running.headers).toMatchObject({ ':status': 409, 'idempotency-stored': 'false' })
    expect(Number(running.headers['retry-after'])).toBeGreaterThanOrEqual(1)
    expect(JSON.parse(await running.text())).toMatchObject({ code: 'idempotency-in-progress' })
    expect((await ask('{"amount":1}')).headers[':status']).toBe(422)
    goOn.open()
    expect(await (await first).text()).toBe('done')
    expect((await ask()).headers['idempotent-replayed']).toBe('true')
  })

  it('keeps a stream up to the limit and replays it', async () => {
    const ask = await serve((_, reply) =>
      reply
        .type('text/plain')
        .send(Readable.from(['one', 'two'].map((piece) => Buffer.from(piece)))),
    )
    expect(await (await ask()).text()).toBe('onetwo')
    const again = await ask()
    expect(again.headers['idempotent-replayed']).toBe('true')
    expect(await again.text()).toBe('onetwo')
  })

  it('lets events through at once, and leaves no record in progress', async () => {
    const goOn = gate()
    async function* events() {
      yield Buffer.from('data: one\n\n')
      await goOn.passed
      yield Buffer.from('data: two\n\n')
    }
    const ask = await serve((_, reply) =>
      reply.type('text/event-stream').send(Readable.from(events())),
    )
    // Its head is there before the second event is made.
    const first = await ask()
    expect(first.headers).toMatchObject({ ':status': 200, 'idempotency-stored': 'false' })
    const during = await ask()
    expect(during.headers).toMatchObject({ ':status': 200, 'idempotency-body-omitted': 'unknown' })
    goOn.open()
    expect(await first.text()).toBe('data: one\n\ndata: two\n\n')
  })

  it('marks what the error handling makes of a throw, and does not run it again', async () => {
    const ask = await serve(() => {
      throw new Error('The handler failed.')
    })
    const first = await ask()
    expect(first.headers).toMatchObject({ ':status': 500, 'idempotency-stored': 'false' })
    expect(JSON.parse(await first.text())).toMatchObject({ message: 'The handler failed.' })
    expect(JSON.parse(await (await ask()).text())).toMatchObject({
      code: 'idempotency-outcome-unknown',
    })
  })
})
