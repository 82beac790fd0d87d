import { once } from 'node:events'
import { connect, constants, createServer } from 'node:http2'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { describe, expect, it } from 'vitest'
import { gate, guarded, opened, warningsDuring } from './node-world.ts'

describe('HTTP/2', () => {
  async function serveHttp2(listener: ReturnType<typeof guarded>) {
    // Its requests and responses are like those of HTTP/1, as far as they go.
    const server = createServer((req, res) => listener(req as never, res as never))
    await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve))
    const session = connect(`http://127.0.0.1:${(server.address() as AddressInfo).port}`)
    opened.push({
      async close() {
        session.close()
        server.close()
      },
    })
    const send = () => {
      const stream = session.request({ ':method': 'POST', 'idempotency-key': 'k1' })
      return stream.end('body')
    }
    const ask = async () => {
      const stream = send()
      const [headers] = await once(stream, 'response')
      return { headers, body: await text(stream) }
    }
    return { send, ask }
  }

  it('is served by the compatibility API', async () => {
    let runs = 0
    const { ask } = await serveHttp2(
      guarded(async (req, res) => {
        res.setHeader('X-Run', String(++runs))
        res.writeHead(201, { 'Content-Type': 'text/plain' })
        res.write('got ')
        res.end(await text(req))
      }),
    )
    const warnings = await warningsDuring(async () => {
      const headers = { ':status': 201, 'x-run': '1' }
      expect(await ask()).toMatchObject({ headers, body: 'got body' })
      const again = { headers: { ...headers, 'idempotent-replayed': 'true' }, body: 'got body' }
      expect(await ask()).toMatchObject(again)
    })
    expect(warnings).toEqual([])
  })

  it('answers although the client has gone away', async () => {
    const [begun, goOn] = [gate(), gate()]
    const { send, ask } = await serveHttp2(
      guarded(async (_, res) => {
        begun.open()
        await goOn.passed
        res.end('done')
      }),
    )
    const stream = send().on('error', () => {})
    await begun.passed
    stream.close(constants.NGHTTP2_CANCEL)
    await once(stream, 'close')
    expect((await ask()).headers).toMatchObject({ ':status': 409 })
    goOn.open()
    let again = await ask()
    while (again.body.includes('idempotency-in-progress')) again = await ask()
    expect(again).toMatchObject({ headers: { 'idempotent-replayed': 'true' }, body: 'done' })
  })
})
