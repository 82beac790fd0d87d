import { once } from 'node:events'
import { Readable } from 'node:stream'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import { memoryStore } from '../../src/stores/memory/store.ts'
import { bodyOf, exchangeBytes } from './differential.ts'
import { CLOSE, client, gate, guarded, post, receiving, serving, settled } from './node-world.ts'

describe('a response that is held back', () => {
  it('gives every event once, when it is sent', async () => {
    const seen: string[] = []
    const closed = gate()
    const { port } = await serving(
      guarded((_, res) => {
        for (const name of ['prefinish', 'finish', 'close']) {
          res.on(name, () => seen.push(name))
        }
        res.on('close', closed.open)
        res.end('ok', () => seen.push(`called back, finished: ${res.writableFinished}`))
        seen.push(`ended: ${res.writableEnded}, finished: ${res.writableFinished}`)
      }),
    )
    await exchangeBytes(port, post({ lines: CLOSE }))
    await closed.passed
    // Which of the two comes first at the finish is up to the version of Node.
    const finish = ['called back, finished: true', 'finish']
    expect([...seen.slice(0, 2), ...seen.slice(2, 4).sort(), ...seen.slice(4)]).toEqual([
      ...['ended: true, finished: false', 'prefinish', ...finish, 'close'],
    ])
  })

  it('tells of what is written after the end', async () => {
    const told: unknown[] = []
    const closed = gate()
    const note = (error?: Error | null) => {
      told.push(error != null && 'code' in error ? error.code : error)
    }
    const { port } = await serving(
      guarded((_, res) => {
        res.on('error', note).on('close', closed.open)
        res.end('first')
        told.push(res.write('second', note))
        res.end('third')
      }),
    )
    expect(await exchangeBytes(port, post({ lines: CLOSE }))).toMatch(/first$/)
    await closed.passed
    expect(told).toEqual([false, ...Array(3).fill('ERR_STREAM_WRITE_AFTER_END')])
  })

  it('lets nobody change a head behind the end', async () => {
    const told: unknown[] = []
    const { port } = await serving(
      guarded((_, res) => {
        res.statusCode = 203
        res.end('ok')
        told.push(res.headersSent, res.writableEnded, Reflect.get(res, 'finished'))
        for (const act of [() => res.setHeader('X', '1'), () => res.writeHead(500)]) {
          try {
            act()
          } catch (error) {
            told.push(error instanceof Error && 'code' in error && error.code)
          }
        }
        res.statusCode = 500
      }),
    )
    expect(await exchangeBytes(port, post({ lines: CLOSE }))).toMatch(/^HTTP\/1\.1 203 [^]*ok$/)
    expect(told).toEqual([true, true, false, ...Array(2).fill('ERR_HTTP_HEADERS_SENT')])
  })

  it('is kept without a body where its status has none', async () => {
    const store = memoryStore()
    const { port } = await serving(
      guarded((_, res) => void res.writeHead(204, { 'X-Kept': 'head' }).end('not sent'), { store }),
    )
    await exchangeBytes(port, post({ lines: CLOSE }))
    const [listed] = (await store.list({ limit: 1 })).records
    const found = await store.find(listed?.record.id ?? '')
    const kept = Buffer.from(found?.record.response?.sealed ?? '').toString('latin1')
    expect(kept).toContain('head')
    expect(kept).not.toContain('not sent')
  })

  it('has the headers that others set when its head is made', async () => {
    const { port } = await serving(
      guarded((_, res) => {
        const { writeHead } = res
        const cover = (...args: unknown[]) => {
          res.setHeader('X-Late', '1')
          return Reflect.apply(writeHead, res, args)
        }
        res.writeHead = cover as typeof res.writeHead
        res.end('ok')
      }),
    )
    expect(await exchangeBytes(port, post({ lines: CLOSE }))).toContain('X-Late: 1')
    expect(await exchangeBytes(port, post({ lines: CLOSE }))).toContain('X-Late: 1')
  })

  it('keeps covers that were put on it while it was held', async () => {
    const kept = gate()
    let isKept = false
    const { port } = await serving(
      guarded((_, res) => {
        const { end } = res
        const cover = (...args: unknown[]) => Reflect.apply(end, res, args)
        res.end = cover as typeof res.end
        res.once('finish', () => {
          isKept = res.end === cover
          kept.open()
        })
        res.end('ok')
      }),
    )
    await exchangeBytes(port, post({ lines: CLOSE }))
    await kept.passed
    expect(isKept).toBe(true)
  })

  it('keeps covers that were there before, and calls them once', async () => {
    const calls: string[] = []
    const listener = guarded((_, res) => void res.end('ok'))
    const { port } = await serving((req, res) => {
      const { end } = res
      const cover = (...args: unknown[]) => {
        calls.push(`end(${String(args[0])})`)
        return Reflect.apply(end, res, args)
      }
      res.end = cover as typeof res.end
      res.once('finish', () => calls.push(`kept: ${res.end === cover}`))
      listener(req, res)
    })
    await exchangeBytes(port, post({ lines: CLOSE }))
    expect(calls).toEqual(['end(ok)', 'kept: true'])
  })

  it('lets events through one by one, and gives a marker when asked again', async () => {
    const goOn = gate()
    const { port } = await serving(
      guarded(async (_, res) => {
        res.writeHead(200, { 'Content-Type': 'text/event-stream' })
        res.write('data: 1\n\n')
        await goOn.passed
        res.end('data: 2\n\n')
      }),
    )
    const socket = client(port)
    socket.write(post({ lines: CLOSE }))
    expect(await receiving(socket, 'data: 1')).toContain('Idempotency-Key: k1')
    goOn.open()
    expect(await receiving(socket, '0\r\n\r\n')).toContain('data: 2')
    const again = await exchangeBytes(port, post({ lines: CLOSE }))
    expect(again).toContain('Idempotency-Body-Omitted: unknown')
  })

  it('lets every stream through where the route says so', async () => {
    const goOn = gate()
    const { port } = await serving(
      guarded(
        async (_, res) => {
          res.flushHeaders()
          await goOn.passed
          res.end('late')
        },
        { streams: 'bypass' },
      ),
    )
    const socket = client(port)
    socket.write(post({ lines: CLOSE }))
    await receiving(socket, '\r\n\r\n')
    goOn.open()
    expect(await receiving(socket, 'late')).toContain('late')
  })

  it('stops its source at the limit, and lets it go on when the head is stored', async () => {
    const results: boolean[] = []
    const { port } = await serving(
      guarded(
        async (_, res) => {
          results.push(res.write('1234'), res.write('5'))
          await once(res, 'drain')
          results.push(res.write('6'))
          res.end()
        },
        { bodyBytesMax: 4 },
      ),
    )
    const answer = await exchangeBytes(port, post({ lines: CLOSE }))
    expect(results).toEqual([true, false, true])
    expect(bodyOf(answer)).toBe('123456')
    expect(answer).toMatch(/\r\n0\r\n\r\n$/)
  })

  it('is sent whole when its source is gone before it is stored', async () => {
    const closed = gate()
    const store = new Proxy(memoryStore(), {
      get(inner, name) {
        const member: unknown = Reflect.get(inner, name, inner)
        if (typeof member !== 'function') return member
        return async (...args: unknown[]) => {
          if (name === 'finish') await closed.passed.then(() => nextTurn())
          return Reflect.apply(member, inner, args)
        }
      },
    })
    const [length, bodyBytesMax] = [20_000_000, 30_000_000]
    const source = Readable.from([Buffer.alloc(length)]).on('close', closed.open)
    const { port } = await serving(
      guarded((_, res) => void source.pipe(res.setHeader('Content-Length', length)), {
        ...{ store, bodyBytesMax },
      }),
    )
    const answer = await exchangeBytes(port, post({ lines: CLOSE }))
    expect(answer.length).toBeGreaterThan(length)
  })

  it('gives way to another answer when its run has lost, even while it is written', async () => {
    const store = memoryStore()
    const [begun, goOn] = [gate(), gate()]
    const loser = await serving(
      guarded(
        async (_, res) => {
          res.setHeader('X-Loser', '1').writeHead(201, 'Lost', ['X-Lost', '1'])
          begun.open()
          await goOn.passed
          res.end('loser')
        },
        { store },
      ),
    )
    const winner = await serving(guarded((_, res) => void res.end('winner'), { store }))
    const first = exchangeBytes(loser.port, post({ lines: CLOSE }))
    await begun.passed
    const [running] = (await store.list({ limit: 1 })).records
    if (running !== undefined) {
      const { id, owner, fence } = running.record
      await store.release({ id, owner: owner ?? '', fence }, 'forget')
    }
    const second = await exchangeBytes(winner.port, post({ lines: CLOSE }))
    goOn.open()
    const lost = await first
    expect(second).toContain('winner')
    expect(lost).toContain('winner')
    expect(lost).toContain('HTTP/1.1 200 OK')
    expect(lost).not.toMatch(/X-Los/)
  })
})

describe('a handler of Node that fails', () => {
  it('is answered by 500 and told as a warning', async () => {
    const warned = once(process, 'warning')
    const { port } = await serving(
      guarded(() => {
        throw new Error('the handler fails')
      }),
    )
    expect(await exchangeBytes(port, post({ lines: CLOSE }))).toContain('HTTP/1.1 500')
    expect(await warned).toEqual([expect.objectContaining({ message: 'the handler fails' })])
  })

  it('is cut off when its head is written', async () => {
    const errors: unknown[] = []
    const { port } = await serving(
      guarded(
        async (_, res) => {
          res.write('some')
          await Promise.reject(new Error('half way'))
        },
        { onError: (error) => void errors.push(error) },
      ),
    )
    expect(await exchangeBytes(port, post({ lines: CLOSE }))).toBe('')
    expect(errors).toEqual([expect.objectContaining({ message: 'half way' })])
    expect(await settled(port, post({ lines: CLOSE }))).toContain('outcome-unknown')
  })

  it('is cut off when even its error handling fails', async () => {
    const warned = once(process, 'warning')
    const { port } = await serving(
      guarded(() => Promise.reject(new Error('first')), {
        onError() {
          throw new Error('second')
        },
      }),
    )
    expect(await exchangeBytes(port, post({ lines: CLOSE }))).toBe('')
    expect(await warned).toEqual([expect.objectContaining({ message: 'second' })])
  })
})
