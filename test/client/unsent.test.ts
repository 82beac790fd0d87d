import { once } from 'node:events'
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net'
import { createServer as createTlsServer } from 'node:tls'
import { describe, expect, it, onTestFinished } from 'vitest'
import { createClient } from '../../src/client/client.ts'
import { memoryJournal } from '../../src/client/journal.ts'
import { isUnsent } from '../../src/client/unsent.ts'
import { done, thrownBy, world } from './world.ts'

async function portOf(server: Server): Promise<number> {
  const sockets = new Set<Socket>()
  server.on('connection', (socket) => sockets.add(socket.on('error', () => {})))
  server.on('tlsClientError', () => {})
  await once(server.listen(0, '127.0.0.1'), 'listening')
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  return (server.address() as AddressInfo).port
}

/** A port on which nobody listens. */
async function closedPort(): Promise<number> {
  const server = createServer()
  const port = await portOf(server)
  server.close()
  await once(server, 'close')
  return port
}

const refused = async () => {
  throw Object.assign(new TypeError('fetch failed'), {
    cause: Object.assign(new Error('connect ECONNREFUSED'), {
      ...{ code: 'ECONNREFUSED', syscall: 'connect' },
    }),
  })
}

describe('an operation that did not leave', () => {
  it.each<[string, () => Promise<string>]>([
    ['the connection is refused', async () => `http://127.0.0.1:${await closedPort()}/`],
    ['each address of the host refuses', async () => `http://localhost:${await closedPort()}/`],
    ['the host has no address', async () => 'http://nowhere.invalid/'],
    [
      'the server, which has no certificate, refuses the hello of TLS',
      async () => `https://127.0.0.1:${await portOf(createTlsServer({}))}/`,
    ],
    [
      'the server ends the handshake of TLS',
      async () => {
        const ends = createServer((socket) => void socket.once('data', () => socket.end()))
        return `https://127.0.0.1:${await portOf(ends)}/`
      },
    ],
  ])('is told so where %s, and the journal has it as never sent', async (_, url) => {
    const client = createClient({ attemptsMax: 2, backoffMs: 1 })
    const error = await thrownBy(client.post(await url(), { json: 1 }))
    expect(error).toMatchObject({ reason: 'network', sent: false, attempts: 2 })
    expect(await client.journal.list()).toMatchObject([
      { state: 'queued', sentAt: null, attempts: 2 },
    ])
  })

  it('is sent again to an origin without keys, also by the option not to repeat anything', async () => {
    let calls = 0
    const answers = [refused, refused, async () => new Response('{}', { status: 201 })]
    const { client } = world([], {
      ...{ unprotected: 'refuse', attemptsMax: 1 },
      fetch: () => answers[calls++]?.() ?? refused(),
    })
    expect(await thrownBy(client.post('a'))).toMatchObject({ sent: false })
    expect(await client.resume()).toMatchObject([{ error: { reason: 'network', sent: false } }])
    expect(await client.resume()).toMatchObject([{ result: { attempts: 3 } }])
  })

  it('is dropped when the caller aborts it', async () => {
    const control = new AbortController()
    const { client } = world([], {
      fetch: refused,
      onEvent: ({ type }) => type === 'retry' && control.abort(new Error('enough')),
    })
    await expect(client.post('a', { signal: control.signal })).rejects.toThrow('enough')
    expect(await client.journal.list()).toEqual([])
  })

  it('because somebody else has logged in while it was written down is told so as well', async () => {
    const journal = memoryJournal()
    let user = 'alice'
    const { client } = world([done], {
      caller: () => user,
      journal: {
        ...journal,
        async put(entry) {
          await journal.put(entry)
          if (entry.state === 'sent') user = 'bob'
        },
      },
    })
    expect(await thrownBy(client.post('a'))).toMatchObject({ reason: 'caller', sent: false })
    expect(await journal.list()).toMatchObject([{ state: 'queued', sentAt: null }])
  })
})

describe('a failure before the first byte', () => {
  it.each([
    ...['CERT_HAS_EXPIRED', 'DEPTH_ZERO_SELF_SIGNED_CERT', 'SELF_SIGNED_CERT_IN_CHAIN'],
    ...['UNABLE_TO_VERIFY_LEAF_SIGNATURE', 'ERR_TLS_CERT_ALTNAME_INVALID'],
    ...['UND_ERR_CONNECT_TIMEOUT', 'ERR_SSL_TLSV1_ALERT_PROTOCOL_VERSION'],
  ])('is known by the code %s', (code) => {
    const cause = Object.assign(new Error('x'), { code })
    expect(isUnsent(new TypeError('fetch failed', { cause }))).toBe(true)
  })
})

describe('an operation that may have left', () => {
  it('is told so where the server ends the connection, and stays so when the next one is refused', async () => {
    const ends = createServer((socket) => void socket.once('data', () => socket.end()))
    const url = `http://127.0.0.1:${await portOf(ends)}/`
    let calls = 0
    const { client } = world([], {
      attemptsMax: 2,
      fetch: (input, init) => (calls++ === 0 ? fetch(input, init) : refused()),
    })
    expect(await thrownBy(client.post(url))).toMatchObject({ sent: true, attempts: 2 })
    expect(await client.resume()).toMatchObject([{ error: { sent: true } }])
    expect(await client.journal.list()).toMatchObject([{ state: 'sent' }])
  })

  it('is told so where a redirect leads to a host that refuses', async () => {
    let calls = 0
    const moved = async () => new Response(null, { status: 307, headers: { Location: '/b' } })
    const { client } = world([], {
      attemptsMax: 1,
      fetch: () => (calls++ === 0 ? moved() : refused()),
    })
    expect(await thrownBy(client.post('a'))).toMatchObject({ reason: 'network', sent: true })
  })

  it('is told so where the server answered and the last attempt was refused', async () => {
    let calls = 0
    const busy = async () => new Response(null, { status: 429 })
    const { client } = world([], {
      attemptsMax: 2,
      fetch: () => (calls++ === 0 ? busy() : refused()),
    })
    expect(await thrownBy(client.post('a'))).toMatchObject({ reason: 'network', sent: true })
  })

  it.each([
    new TypeError('Failed to fetch'),
    Object.assign(new Error('read ECONNRESET'), { code: 'ECONNRESET', syscall: 'read' }),
    Object.assign(new Error('x'), { code: 'EHOSTUNREACH', syscall: 'read' }),
    // Sent by the server after the handshake, when the request may be on its way.
    Object.assign(new Error('x'), { code: 'ERR_SSL_TLSV13_ALERT_CERTIFICATE_REQUIRED' }),
    new AggregateError([
      Object.assign(new Error('x'), { syscall: 'connect' }),
      Object.assign(new Error('x'), { syscall: 'write' }),
    ]),
    'text',
  ])('is everything that fails in another way: %s', (error) => {
    expect(isUnsent(error)).toBe(false)
  })
})
