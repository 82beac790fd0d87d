import { once } from 'node:events'
import type { IncomingMessage } from 'node:http'
import { connect, constants, createServer } from 'node:http2'
import type { AddressInfo } from 'node:net'
import { PassThrough } from 'node:stream'
import { text } from 'node:stream/consumers'
import { pipeline } from 'node:stream/promises'
import fastify from 'fastify'
import { describe, expect, it } from 'vitest'
import { idempotent as onFastify } from '../../src/adapters/fastify.ts'
import { createReprise } from '../../src/engine/reprise.ts'
import { memoryStore } from '../../src/stores/memory/store.ts'
import { CLOSE, client, gate, guarded, opened, post, serving, settled } from './node-world.ts'

/** The system has given the server what was sent when these turns are over. */
async function noticed(): Promise<void> {
  for (let turn = 0; turn < 8; turn++) await new Promise((resolve) => setImmediate(resolve))
}

describe('HTTP/2: a client that goes away', () => {
  async function serveHttp2(listener: ReturnType<typeof guarded>) {
    // Its requests and responses are like those of HTTP/1, as far as they go.
    const server = createServer((req, res) => listener(req as never, res as never))
    await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve))
    const { port } = server.address() as AddressInfo
    const open = () => {
      const socket = client(port)
      const session = connect(`http://127.0.0.1:${port}`, { createConnection: () => socket })
      opened.push({ close: async () => session.destroy() })
      const headers = { ':method': 'POST', 'idempotency-key': 'k1' }
      const stream = session.on('error', () => {}).request(headers, { endStream: false })
      return { socket, stream: stream.on('error', () => {}) }
    }
    opened.push({ close: async () => void server.close() })
    const ask = async (body: string) => {
      const stream = open().stream.end(body)
      const [headers] = await once(stream, 'response')
      return { status: headers[':status'], body: await text(stream) }
    }
    return { open, ask }
  }

  it('before its body is whole has nothing run and leaves the key free', async () => {
    const bodies: string[] = []
    const asked = gate()
    const listener = guarded(async (req, res) => {
      bodies.push(await text(req))
      res.writeHead(201).end(`got ${bodies.length}`)
    })
    const { open, ask } = await serveHttp2((req, res) => {
      req.once('readable', asked.open)
      listener(req, res)
    })
    const { stream, socket } = open()
    stream.write('the first half')
    await asked.passed
    await noticed()
    // A client of Node that cancels its stream ends the body first, as if that were all of it.
    socket.destroy()
    await noticed()
    expect(bodies).toEqual([])
    expect(await ask('the first half and the second')).toEqual({ status: 201, body: 'got 1' })
    expect(bodies).toEqual(['the first half and the second'])
  })

  it('while the handler waits does not keep it from reading and piping the body', async () => {
    const [begun, goOn, done] = [gate(), gate(), gate()]
    const bodies: string[] = []
    const { open, ask } = await serveHttp2(
      guarded(
        async (req, res) => {
          begun.open()
          await goOn.passed
          const through = new PassThrough()
          const [body] = await Promise.all([text(through), pipeline(req, through)])
          bodies.push(body)
          done.open()
          res.writeHead(201).end('done')
        },
        { waitMs: 10_000 },
      ),
    )
    const body = 'x'.repeat(100_000)
    const { stream } = open()
    stream.end(body)
    await begun.passed
    stream.close(constants.NGHTTP2_CANCEL)
    await once(stream, 'close')
    await noticed()
    goOn.open()
    await done.passed
    expect(await ask(body)).toEqual({ status: 201, body: 'done' })
    expect(bodies).toEqual([body])
  })
})

describe('Fastify over HTTP/2', () => {
  it('runs nothing for a request whose client goes away before its body is whole', async () => {
    const asked = gate()
    let runs = 0
    const app = fastify({ http2: true })
    app.removeAllContentTypeParsers()
    app.addContentTypeParser('*', (_request, _payload, done) => done(null))
    const reprise = createReprise({ store: memoryStore() })
    const protect = onFastify(reprise, { caller: () => 'me' })
    const front = async () => asked.open()
    app.post('/', { preHandler: [front, protect] }, async (_, reply) => {
      runs++
      return reply.code(201).send('done')
    })
    const address = await app.listen({ host: '127.0.0.1', port: 0 })
    const socket = client(Number(new URL(address).port))
    const session = connect(address, { createConnection: () => socket }).on('error', () => {})
    opened.push({ close: () => app.close() }, { close: async () => session.destroy() })
    const headers = { ':method': 'POST', 'idempotency-key': 'k1', 'content-type': 'text/plain' }
    const stream = session.request(headers, { endStream: false }).on('error', () => {})
    stream.write('the first half')
    await asked.passed
    await noticed()
    socket.destroy()
    await noticed()
    expect(runs).toBe(0)
  })
})

describe('HTTP/1.1: a connection whose client has gone', () => {
  /** What code behind the protection may ask a connection. */
  const MEMBERS = [
    ...['readable', 'writable', 'destroyed', 'closed', 'errored', 'readyState', 'pending'],
    ...['readableEnded', 'readableAborted', 'writableEnded', 'writableFinished', 'remoteAddress'],
  ] as const

  function seenOf({ socket }: IncomingMessage): Readonly<Record<string, unknown>> {
    return Object.fromEntries(MEMBERS.map((name) => [name, Reflect.get(socket, name)]))
  }

  const leavings = { 'has ended its side': 'end', 'has closed': 'destroy', 'has reset': 'reset' }
  for (const [name, how] of Object.entries(leavings)) {
    it(`looks as before to the handler when the client ${name} it`, async () => {
      const [begun, goOn] = [gate(), gate()]
      const seen: unknown[] = []
      const listener = guarded(async (req, res) => {
        seen.push(seenOf(req))
        begun.open()
        await goOn.passed
        seen.push(seenOf(req))
        res.end('done')
      })
      const { port } = await serving(listener)
      const socket = client(port)
      socket.write(post({ body: '{}' }))
      await begun.passed
      if (how === 'reset') socket.resetAndDestroy()
      else if (how === 'end') socket.end()
      else socket.destroy()
      await noticed()
      goOn.open()
      await settled(port, post({ body: '{}', lines: CLOSE }))
      expect(seen[1]).toEqual(seen[0])
    })
  }

  const cuts: Readonly<Record<string, (req: IncomingMessage) => unknown>> = {
    'without an error': (req) => req.socket.destroy(),
    'with an error': (req) => req.socket.destroy(new Error('not today')),
  }
  for (const [name, cut] of Object.entries(cuts)) {
    it(`is cut by the handler after part of its answer ${name}, and the key is not held`, async () => {
      const [begun, goOn] = [gate(), gate()]
      let runs = 0
      const listener = guarded(async (req, res) => {
        runs++
        res.write('part')
        begun.open()
        await goOn.passed
        cut(req)
      })
      const { port } = await serving(listener)
      const socket = client(port)
      socket.write(post({ body: '{}' }))
      await begun.passed
      socket.end()
      await noticed()
      goOn.open()
      // Whether the effect took place is not known, and the key says so; nobody holds it.
      const again = await settled(port, post({ body: '{}', lines: CLOSE }))
      expect(again).toContain('idempotency-outcome-unknown')
      expect(runs).toBe(1)
    })
  }

  it('hides it from a request that is whole, although another behind it is not', async () => {
    const [begun, goOn, second] = [gate(), gate(), gate()]
    const ran: string[] = []
    const events: string[] = []
    const handle = guarded(async (req, res) => {
      ran.push(`${req.url} ${await text(req)}`)
      for (const event of ['aborted', 'close']) res.on(event, () => events.push(event))
      begun.open()
      await goOn.passed
      res.end(
        `done ${events.join()} ${req.destroyed && !req.complete} ${res.closed} ${req.socket.destroyed}`,
      )
    })
    const { port } = await serving((req, res) => {
      if (req.url === '/2') second.open()
      handle(req, res)
    })
    const socket = client(port)
    socket.write(post({ key: 'k1', path: '/1', body: '{}' }))
    await begun.passed
    const half = post({ key: 'k2', path: '/2', body: '{"amount":100}' }).slice(0, -5)
    socket.write(half)
    await second.passed
    await noticed()
    socket.resetAndDestroy()
    await noticed()
    goOn.open()
    const again = await settled(port, post({ key: 'k1', path: '/1', body: '{}', lines: CLOSE }))
    expect(again).toContain('done  false false false')
    expect(ran).toEqual(['/1 {}'])
    const whole = post({ key: 'k2', path: '/2', body: '{"amount":100}', lines: CLOSE })
    expect(await settled(port, whole)).toContain('done')
    expect(ran).toEqual(['/1 {}', '/2 {"amount":100}'])
  })
})
