import { once } from 'node:events'
import { connect } from 'node:net'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { idempotent } from '../../src/adapters/node.ts'
import { createReprise } from '../../src/engine/reprise.ts'
import { memoryStore } from '../../src/stores/memory/index.ts'
import { type Listening, listen } from '../adapters/listen.ts'
import { warningsDuring } from '../adapters/node-world.ts'
import { Chance } from '../engine/chance.ts'
import { headerCorpus } from './headers.ts'
import { mutated } from './mutate.ts'

const VALUES = 400
const CRLF = '\r\n'

let server: Listening
/** Keys and bodies that the handler was called with. */
let ran: string[] = []

beforeAll(async () => {
  const reprise = createReprise({ store: memoryStore() })
  const handle = idempotent(reprise, { caller: () => 'me' }, async (request, response) => {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk)
    ran.push(`${request.url} ${Buffer.concat(chunks).toString('latin1')}`)
    response.writeHead(201).end(`run ${ran.length}`)
  })
  server = await listen(handle)
})
afterAll(() => server.close())

/** Sends bytes, then nothing more; what came back until the server closed. */
async function exchange(bytes: string): Promise<string> {
  const socket = connect(server.port, '127.0.0.1')
  // A server that refuses may reset the connection while we still write.
  socket.on('error', () => {})
  let received = ''
  socket.setEncoding('latin1').on('data', (chunk) => {
    received += chunk
  })
  socket.end(Buffer.from(bytes, 'latin1'))
  await once(socket, 'close')
  return received
}

function statuses(received: string): number[] {
  return [...received.matchAll(/HTTP\/1\.1 (\d{3}) /g)].map(([, status]) => Number(status))
}

function post(lines: readonly string[], body = ''): string {
  return ['POST /charges HTTP/1.1', 'Host: a', ...lines, '', body].join(CRLF)
}

describe('bytes over a socket', () => {
  it('any bytes as the key get an answer below 500, and the server lives', async () => {
    const chance = new Chance(1)
    const corpus = headerCorpus()
    for (let number = 1; number <= VALUES; number++) {
      const value = mutated(chance, corpus)
      const request = post(
        [`Idempotency-Key: ${value}`, 'Content-Length: 2', 'Connection: close'],
        '{}',
      )
      const answered = statuses(await exchange(request))
      const isServed = answered.every((status) => status < 500)
      expect([number, value, answered, isServed]).toEqual([number, value, answered, true])
    }
    const last = await exchange(
      post(['Idempotency-Key: last', 'Content-Length: 0', 'Connection: close']),
    )
    expect(statuses(last)).toEqual([201])
  })

  // The body hides a second request: whoever disagrees about its length would run it.
  const HIDDEN = `POST /hidden HTTP/1.1${CRLF}Host: a${CRLF}Idempotency-Key: h${CRLF}Content-Length: 0${CRLF}${CRLF}`
  const chunked = `0${CRLF}${CRLF}${HIDDEN}`
  const SMUGGLED: readonly [name: string, bytes: string][] = [
    [
      'two lengths',
      post(
        ['Idempotency-Key: s1', 'Content-Length: 0', `Content-Length: ${HIDDEN.length}`],
        HIDDEN,
      ),
    ],
    ['two lengths in one line', post(['Idempotency-Key: s2', 'Content-Length: 0, 5'], HIDDEN)],
    [
      'a length and chunks',
      post(
        ['Idempotency-Key: s3', `Content-Length: ${chunked.length}`, 'Transfer-Encoding: chunked'],
        chunked,
      ),
    ],
    [
      'chunks and a length',
      post(
        ['Idempotency-Key: s4', 'Transfer-Encoding: chunked', `Content-Length: ${chunked.length}`],
        chunked,
      ),
    ],
    [
      'a coding that is none',
      post(
        ['Idempotency-Key: s5', 'Transfer-Encoding: xchunked', `Content-Length: ${chunked.length}`],
        chunked,
      ),
    ],
    [
      'a coding behind a tab',
      post(['Idempotency-Key: s6', 'Transfer-Encoding:\tchunked, identity'], chunked),
    ],
    ['a space before the colon', post(['Idempotency-Key: s7', 'Content-Length : 5'], HIDDEN)],
    ['a negative length', post(['Idempotency-Key: s8', 'Content-Length: -1'], HIDDEN)],
    ['a length with a sign', post(['Idempotency-Key: s9', 'Content-Length: +0'], HIDDEN)],
    [
      'a folded line',
      post(['Idempotency-Key: s10', ' folded', 'Content-Length: 0', 'Connection: close']),
    ],
    [
      'a folded length',
      post(['Idempotency-Key: s11', 'Content-Length:', ' 0', 'Connection: close'], HIDDEN),
    ],
    [
      'a bare line feed in the key',
      post(['Idempotency-Key: s12\nX-Injected: 1', 'Content-Length: 0']),
    ],
    [
      'a bare carriage return in the key',
      post(['Idempotency-Key: s13\rX-Injected: 1', 'Content-Length: 0']),
    ],
    ['a zero byte in the key', post(['Idempotency-Key: s14\u0000', 'Content-Length: 0'])],
    [
      'a chunk with a wrong length',
      post(['Idempotency-Key: s15', 'Transfer-Encoding: chunked'], `z${CRLF}${HIDDEN}`),
    ],
    [
      'a chunk of immense length',
      post(
        ['Idempotency-Key: s16', 'Transfer-Encoding: chunked'],
        `ffffffffffffffff${CRLF}${HIDDEN}`,
      ),
    ],
  ]

  it.each(SMUGGLED)('%s: no hidden request runs', async (_, bytes) => {
    ran = []
    const answered = statuses(await exchange(bytes))
    expect(answered.every((status) => status < 500)).toBe(true)
    expect(ran.filter((run) => run.includes('/hidden'))).toEqual([])
    // What is ambiguous is refused; what was read runs once at most.
    expect(ran.length).toBeLessThanOrEqual(1)
  })

  it('a body whose framing breaks is refused, and is no failure of the server', async () => {
    ran = []
    const warnings = await warningsDuring(async () => {
      const lines = ['Idempotency-Key: b1', 'Transfer-Encoding: chunked']
      for (const body of [`z${CRLF}`, `5${CRLF}ab`, `2${CRLF}abc${CRLF}`]) {
        expect(statuses(await exchange(post(lines, body)))).not.toContain(500)
      }
    })
    expect([warnings, ran]).toEqual([[], []])
  })

  it('a key that is sent twice is refused, in one line and in two, equal or not', async () => {
    ran = []
    for (const lines of [
      ['Idempotency-Key: d1', 'Idempotency-Key: d2'],
      ['Idempotency-Key: d1', 'idempotency-key: d1'],
      ['Idempotency-Key: d1, d2'],
      ['Idempotency-Key: "d1"', 'Idempotency-Key: "d1"'],
    ]) {
      const answer = await exchange(post([...lines, 'Content-Length: 0', 'Connection: close']))
      expect([lines, statuses(answer)]).toEqual([lines, [400]])
      expect(answer).toContain('idempotency-key-invalid')
    }
    expect(ran).toEqual([])
  })
})
