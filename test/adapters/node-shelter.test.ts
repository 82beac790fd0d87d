import { once } from 'node:events'
import type { IncomingMessage } from 'node:http'
import { connect, type Socket } from 'node:net'
import { Readable } from 'node:stream'
import { json, text } from 'node:stream/consumers'
import express from 'express'
import Koa from 'koa'
import { describe, expect, it } from 'vitest'
import { idempotent as forExpress } from '../../src/adapters/express.ts'
import { idempotent as forKoa } from '../../src/adapters/koa.ts'
import type { NodeHandler } from '../../src/adapters/node.ts'
import { createReprise } from '../../src/engine/reprise.ts'
import { memoryStore } from '../../src/stores/memory/store.ts'
import { exchangeBytes } from './differential.ts'
import {
  CLOSE,
  client,
  gate,
  guarded,
  post,
  receiving,
  serving,
  settled,
  warningsDuring,
} from './node-world.ts'

/** What was sent before has been seen by the server when a connection made later is served. */
async function noticed(port: number): Promise<void> {
  await exchangeBytes(port, 'nonsense\r\n\r\n')
}

describe('a client that goes away cancels nothing:', () => {
  /** Leaves while the handler works, by a reset or by a plain close, and asks again. */
  async function leaving(
    port: number,
    { begun, goOn, how }: { begun: Promise<unknown>; goOn: () => void; how: 'reset' | 'end' },
  ): Promise<string> {
    const socket = client(port)
    socket.write(post({ body: '{}' }))
    await begun
    if (how === 'reset') socket.resetAndDestroy()
    else socket.destroy()
    await once(socket, 'close')
    await noticed(port)
    goOn()
    return settled(port, post({ body: '{}', lines: CLOSE }))
  }

  /** Apps whose handlers wait in the middle, then answer in a way that looks at the connection. */
  const apps = {
    'a handler of Node': (work: () => Promise<void>) =>
      guarded(async (_, res) => {
        await work()
        res.end('done')
      }),
    'a pipe of Node': (work: () => Promise<void>) =>
      guarded(async (_, res) => {
        await work()
        Readable.from(['do', 'ne']).pipe(res)
      }),
    'a handler of Node that has begun to write': (work: () => Promise<void>) =>
      guarded(async (_, res) => {
        res.write('do')
        await work()
        res.end('ne')
      }),
    'res.sendFile of Express': (work: () => Promise<void>) => {
      const app = express().set('env', 'test')
      const reprise = createReprise({ store: memoryStore() })
      app.post('/', forExpress(reprise, { caller: () => 'me' }), async (_, res) => {
        await work()
        res.sendFile('listen.ts', { root: import.meta.dirname })
      })
      return app
    },
    'a body of Koa': (work: () => Promise<void>) => koaApp(work, () => 'done'),
    'a stream of Koa': (work: () => Promise<void>) => koaApp(work, () => Readable.from(['done'])),
  }

  function koaApp(work: () => Promise<void>, body: () => unknown) {
    const app = new Koa()
    app.silent = true
    const reprise = createReprise({ store: memoryStore() })
    app.use(forKoa(reprise, { caller: () => 'me' }))
    app.use(async (ctx) => {
      await work()
      ctx.body = body()
    })
    return app.callback()
  }

  /** Apps that take the body and then their time before they come to the protection. */
  const lateApps = {
    Express: (work: () => Promise<void>, run: () => void) => {
      const app = express()
        .set('env', 'test')
        .use(express.json({ type: () => true }))
      const reprise = createReprise({ store: memoryStore() })
      const wait = async (_: unknown, __: unknown, next: () => void) => {
        await work()
        next()
      }
      app.post('/', wait, forExpress(reprise, { caller: () => 'me' }), (_, res) => {
        run()
        res.sendFile('listen.ts', { root: import.meta.dirname })
      })
      return app
    },
    Koa: (work: () => Promise<void>, run: () => void) => {
      const app = new Koa()
      app.silent = true
      const reprise = createReprise({ store: memoryStore() })
      app.use(async (ctx, next) => {
        const body: unknown = await json(ctx.req)
        Object.assign(ctx.request, { body })
        await work()
        await next()
      })
      app.use(forKoa(reprise, { caller: () => 'me' }))
      app.use((ctx) => {
        run()
        ctx.body = Readable.from(['done'])
      })
      return app.callback()
    },
  }

  for (const [name, make] of Object.entries(lateApps)) {
    it(`${name} answers and is replayed where the client left before the protection`, async () => {
      const [begun, goOn] = [gate(), gate()]
      let runs = 0
      const work = async () => {
        begun.open()
        await goOn.passed
      }
      const { port } = await serving(make(work, () => runs++))
      const leave = { begun: begun.passed, goOn: goOn.open, how: 'reset' } as const
      const again = await leaving(port, leave)
      expect(again).toContain('HTTP/1.1 200')
      expect(again).toContain('Idempotent-Replayed: true')
      expect(again).not.toContain('Content-Length: 0')
      expect(runs).toBe(1)
    })
  }

  for (const how of ['reset', 'end'] as const) {
    for (const [name, make] of Object.entries(apps)) {
      it(`${name} answers and is replayed after ${how === 'end' ? 'an end' : 'a reset'}`, async () => {
        const [begun, goOn] = [gate(), gate()]
        let runs = 0
        const listener = make(async () => {
          runs++
          begun.open()
          await goOn.passed
        })
        const { port } = await serving(listener)
        const again = await leaving(port, { begun: begun.passed, goOn: goOn.open, how })
        expect(again).toContain('HTTP/1.1 200')
        expect(again).toContain('Idempotent-Replayed: true')
        expect(runs).toBe(1)
      })
    }
  }

  it('leaves the body to the handler when the client goes before it runs', async () => {
    const [asked, goOn] = [gate(), gate()]
    const bodies: string[] = []
    const listener = guarded(
      async (req, res) => {
        bodies.push(await text(req))
        res.end('done')
      },
      {
        caller: async () => {
          asked.open()
          await goOn.passed
          return 'me'
        },
      },
    )
    const { port } = await serving(listener)
    const again = await leaving(port, { begun: asked.passed, goOn: goOn.open, how: 'reset' })
    expect(bodies).toEqual(['{}'])
    expect(again).toContain('Idempotent-Replayed: true')
  })

  it('runs nothing when the client goes before its request is whole', async () => {
    const [asked, closed] = [gate(), gate()]
    let runs = 0
    const listener = guarded(
      (_, res) => {
        runs++
        res.end()
      },
      { onError: () => {} },
    )
    const { port } = await serving((req, res) => {
      asked.open()
      res.once('close', closed.open)
      listener(req, res)
    })
    const socket = client(port)
    socket.write(`${post({ lines: '' }).replace('Content-Length: 0', 'Content-Length: 9')}half`)
    await asked.passed
    socket.resetAndDestroy()
    await closed.passed
    expect(runs).toBe(0)
  })

  it('answers a client that has only ended its own side', async () => {
    const [begun, goOn] = [gate(), gate()]
    const { port } = await serving(
      guarded(async (_, res) => {
        begun.open()
        await goOn.passed
        res.end('still here')
      }),
    )
    const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true })
    socket.end(post({ body: '{}' }))
    await begun.passed
    await noticed(port)
    goOn.open()
    expect(await text(socket)).toContain('still here')
  })

  it('tells of it when the answer is on its way', async () => {
    const [begun, goOn] = [gate(), gate()]
    const seen: string[] = []
    const told = gate()
    const { port } = await serving(
      guarded(async (req, res) => {
        res.on('close', () => {
          seen.push('response closed')
          told.open()
        })
        req.socket.on('close', () => seen.push('socket closed'))
        begun.open()
        await goOn.passed
        seen.push(`destroyed: ${res.destroyed}, writable: ${req.socket.writable}`)
        res.end('done')
      }),
    )
    const socket = client(port)
    socket.write(post())
    await begun.passed
    socket.resetAndDestroy()
    await once(socket, 'close')
    await noticed(port)
    goOn.open()
    await told.passed
    expect(seen[0]).toBe('destroyed: false, writable: true')
    expect(seen.slice(1).sort()).toEqual(['response closed', 'socket closed'])
  })
})

describe('a connection', () => {
  it('serves pipelined requests in their order', async () => {
    const late = gate()
    const handle: NodeHandler<IncomingMessage> = async (req, res) => {
      if (req.url === '/1') await late.passed
      else late.open()
      res.end(`answer ${req.url}`)
    }
    const requests =
      post({ key: 'k1', path: '/1', body: '{}' }) + post({ key: 'k2', path: '/2', lines: CLOSE })
    const { port } = await serving(guarded(handle))
    const answers = await exchangeBytes(port, requests)
    expect(answers.match(/answer \/\d/g)).toEqual(['answer /1', 'answer /2'])
  })

  it('is used again after bodies that nobody read, and keeps nothing of them', async () => {
    const sockets = new Set<Socket>()
    const emits = new Set<unknown>()
    const closed = gate()
    let count = 0
    const { port } = await serving(
      guarded((req, res) => {
        sockets.add(req.socket)
        emits.add(req.socket.emit)
        req.once('close', () => ++count === 30 && closed.open())
        res.end('ok')
      }),
    )
    const socket = client(port)
    const warnings = await warningsDuring(async () => {
      for (let n = 0; n < 30; n++) {
        socket.write(post({ key: `k${n}`, body: 'unread' }))
        await receiving(socket, 'ok')
      }
      await closed.passed
    })
    socket.destroy()
    expect(warnings).toEqual([])
    const [own, ...others] = sockets
    expect(others).toEqual([])
    // What withholds its events is put up once, and lets them see whether it is open.
    expect(emits.size).toBe(1)
    const names = Object.getOwnPropertyNames(own)
    expect(names.filter((name) => /^(?:destroyed|writable)$/.test(name))).toEqual([])
  })

  it('is used again after a body that is too long', async () => {
    const { port } = await serving(
      guarded((_, res) => void res.end('ok'), { fingerprint: { bodyBytesMax: 10 } }),
    )
    const socket = client(port)
    socket.write(post({ key: 'k1', body: 'x'.repeat(300_000) }))
    expect(await receiving(socket, 'idempotency-body-too-large')).toContain('413')
    socket.write(post({ key: 'k2', body: 'short' }))
    expect(await receiving(socket, 'ok')).toContain('200')
    socket.destroy()
  })
})
