import { once } from 'node:events'
import { createServer, type IncomingMessage, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { describe, expect, it, onTestFinished } from 'vitest'
import { createClient } from '../../src/client/client.ts'

interface Seen {
  readonly method: string | undefined
  readonly path: string | undefined
  readonly key: IncomingMessage['headers'][string]
  readonly authorization: string | undefined
  readonly body: string
}

/** A server of the test's own; answers 201 and echoes the key unless `handle` does otherwise. */
async function serve(handle: RequestListener = () => {}): Promise<{ url: string; seen: Seen[] }> {
  const seen: Seen[] = []
  const server = createServer((req, res) => void answer(req, res))
  const answer: (...pair: Parameters<RequestListener>) => Promise<void> = async (req, res) => {
    const { method, url: path, headers } = req
    const { 'idempotency-key': key, authorization } = headers
    seen.push({ method, path, key, authorization, body: await text(req) })
    handle(req, res)
    if (!res.writableEnded)
      res.writeHead(201, key ? { 'Idempotency-Key': key } : {}).end('{"id":1}')
  }
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const { port } = server.address() as AddressInfo
  return { url: `http://127.0.0.1:${port}`, seen }
}

const redirectTo =
  (status: number, target: () => string): RequestListener =>
  (req, res) => {
    if (req.url === '/pay') res.writeHead(status, { Location: target() }).end()
  }

const init = { json: { amount: 1 }, headers: { Authorization: 'Bearer a' } }

describe('a redirect of a request with a key', () => {
  it.each([307, 308])(
    'is followed by %i with method, key and body, on the first attempt',
    async (status) => {
      const { url, seen } = await serve(redirectTo(status, () => '/pay/'))
      const { response, attempts, key } = await createClient().post(`${url}/pay`, init)
      expect([response.status, response.redirected, response.url, attempts]).toEqual([
        ...[201, true, `${url}/pay/`],
        1,
      ])
      const same = { method: 'POST', key, body: '{"amount":1}', authorization: 'Bearer a' }
      expect(seen).toEqual([
        { ...same, path: '/pay' },
        { ...same, path: '/pay/' },
      ])
    },
  )

  it('is followed with bytes that are no text', async () => {
    const { url, seen } = await serve(redirectTo(308, () => '/pay/'))
    const body = new Uint8Array(70_000).fill(200)
    expect((await createClient().put(`${url}/pay`, { body })).response.status).toBe(201)
    expect(seen[1]?.body).toBe(seen[0]?.body)
    expect(seen[1]?.body.length).toBe(70_000)
  })

  it.each([301, 302, 303])('is by %i a look at a page, without key and body', async (status) => {
    const { url, seen } = await serve(redirectTo(status, () => '/result'))
    const { response } = await createClient().post(`${url}/pay`, init)
    expect([response.status, response.url]).toEqual([201, `${url}/result`])
    expect(seen[1]).toEqual({
      ...{ method: 'GET', path: '/result', key: undefined, body: '' },
      authorization: 'Bearer a',
    })
  })

  it.each([307, 308])(
    'takes the key to no other host by %i, unless it is told to',
    async (status) => {
      const other = await serve()
      const { url } = await serve(redirectTo(status, () => `${other.url}/elsewhere`))
      const { response } = await createClient().post(`${url}/pay`, init)
      expect([response.status, response.headers.get('Location')]).toEqual([
        status,
        `${other.url}/elsewhere`,
      ])
      expect(other.seen).toEqual([])

      const trusting = createClient({ redirects: 'any' })
      const { response: followed, key } = await trusting.post(`${url}/pay`, init)
      expect(followed.status).toBe(201)
      expect(other.seen).toMatchObject([{ method: 'POST', key, authorization: undefined }])
    },
  )

  it('to a page on another host takes neither key nor token there', async () => {
    const other = await serve()
    const { url } = await serve(redirectTo(303, () => `${other.url}/thanks`))
    expect((await createClient().post(`${url}/pay`, init)).response.status).toBe(201)
    expect(other.seen).toMatchObject([{ method: 'GET', key: undefined, authorization: undefined }])
  })

  it.each([
    ['https on the usual port of the same host', 'https://api.example/b', 2],
    ['https on another port', 'https://api.example:8443/b', 1],
    ['another port', 'http://api.example:8080/b', 1],
    ['back to http', 'http://api.example/b', 1, 'https://api.example/a'],
    ['another protocol', 'ftp://api.example/b', 1],
  ])('by 308 leads to %s: %s', async (_, location, calls, from = 'http://api.example/a') => {
    const asked: unknown[] = []
    const client = createClient({
      redirects: location.startsWith('http') ? 'same-host' : 'any',
      fetch: async (input) => {
        asked.push(input)
        const headers = { Location: location }
        return new Response(null, asked.length === 1 ? { status: 308, headers } : { status: 204 })
      },
    })
    await client.post(from)
    expect(asked).toEqual([from, location].slice(0, calls))
  })

  it('without an end is a failure', async () => {
    const { url } = await serve(redirectTo(308, () => '/pay'))
    const client = createClient({ attemptsMax: 1 })
    await expect(client.post(`${url}/pay`, init)).rejects.toMatchObject({
      cause: { message: expect.stringContaining('more than 20 times') },
    })
  })

  it('is left alone where the caller wants to see it', async () => {
    const { url, seen } = await serve(redirectTo(307, () => '/pay/'))
    const { response } = await createClient().post(`${url}/pay`, { ...init, redirect: 'manual' })
    expect([response.status, seen.length]).toEqual([307, 1])
  })
})
