import type { ServerResponse } from 'node:http'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { brotliCompressSync, createGzip, deflateSync, gzipSync } from 'node:zlib'
import express, { type RequestHandler } from 'express'
import { expect, it, test } from 'vitest'
import { idempotent } from '../../src/adapters/express.ts'
import { createReprise } from '../../src/engine/reprise.ts'
import { memoryStore } from '../../src/stores/memory/store.ts'
import { bodyOf, exchangeBytes } from './differential.ts'
import { CLOSE, post, serving } from './node-world.ts'

async function app(behind: RequestHandler, handler: RequestHandler): Promise<number> {
  const own = express()
  const reprise = createReprise({ store: memoryStore() })
  own.post('/', idempotent(reprise, { caller: () => 'me' }), behind, handler)
  return (await serving(own)).port
}

/** Holds the end of an answer back for some turns, as a session that is saved first does. */
const delayEnd: RequestHandler = (_request, response, next) => {
  const end = response.end
  response.end = function (this: ServerResponse, ...args: unknown[]) {
    setTimeout(() => Reflect.apply(end, this, args), 5)
    return this
  } as typeof response.end
  next()
}

/** Compresses what is written, as the package compression does. */
const compress: RequestHandler = (_request, response, next) => {
  const { write, end } = response
  const gzip = createGzip()
  gzip.on('data', (chunk: Buffer) => Reflect.apply(write, response, [chunk]))
  gzip.on('end', () => Reflect.apply(end, response, []))
  response.write = ((chunk: Buffer) => {
    if (!response.headersSent)
      response.setHeader('Content-Encoding', 'gzip').vary('Accept-Encoding')
    return gzip.write(chunk)
  }) as typeof response.write
  response.end = (() => void gzip.end()) as unknown as typeof response.end
  next()
}

for (const [what, behind] of Object.entries({ delayEnd, compress })) {
  for (const how of ['pipe', 'pipeline']) {
    it(`a source that has ended has not failed: ${how} with ${what}`, async () => {
      let effects = 0
      const port = await app(behind, (_request, response) => {
        effects++
        const source = Readable.from(['one', 'two'], { objectMode: false })
        if (how === 'pipe') source.pipe(response)
        else void pipeline(source, response)
      })
      const lines = `${CLOSE}Accept-Encoding: gzip\r\n`
      const first = await exchangeBytes(port, post({ lines }))
      expect(first).toContain('200 OK')
      const again = await exchangeBytes(port, post({ lines }))
      expect(again).toContain('Idempotent-Replayed: true')
      expect(bodyOf(again)).toBe(bodyOf(first))
      expect(effects).toBe(1)
    })
  }
}

const CODED = {
  gzip: gzipSync('a text'),
  deflate: deflateSync('a text'),
  br: brotliCompressSync('a text'),
}

for (const [coding, bytes] of Object.entries(CODED)) {
  test(`an answer in ${coding} is decoded for a client that does not take ${coding}`, async () => {
    const port = await app(
      (_request, _response, next) => next(),
      (_request, response) => {
        response.set({ 'Content-Encoding': coding, Vary: 'Origin, accept-encoding', ETag: '"v1"' })
        response.set({ 'Content-Digest': 'x', 'Content-Type': 'text/plain' })
        response.end(bytes)
      },
    )
    const accepting = `${CLOSE}Accept-Encoding: br;q=0.5, gzip, deflate\r\n`
    const first = await exchangeBytes(port, post({ lines: accepting }))
    expect(first).toContain(`Content-Encoding: ${coding}\r\n`)

    for (const lines of [
      '',
      'Accept-Encoding: identity\r\n',
      `Accept-Encoding: ${coding};q=0, *\r\n`,
    ]) {
      const plain = await exchangeBytes(port, post({ lines: CLOSE + lines }))
      expect(plain).toContain('Idempotent-Replayed: true')
      expect(plain).not.toContain('Content-Encoding')
      expect(plain).not.toContain('Content-Digest')
      expect(plain).toContain('ETag: W/"v1"\r\n')
      expect(plain).toContain('Content-Length: 6\r\n')
      expect(bodyOf(plain)).toBe('a text')
    }
    for (const lines of [accepting, `${CLOSE}Accept-Encoding: *\r\n`]) {
      const again = await exchangeBytes(port, post({ lines }))
      expect(again).toContain(`Content-Encoding: ${coding}\r\n`)
      expect(again).toContain('ETag: "v1"\r\n')
      expect(bodyOf(again)).toBe(bytes.toString('latin1'))
    }
  })
}

for (const [what, headers] of Object.entries({
  'whose coding was not negotiated': { 'Content-Encoding': 'gzip' },
  'in a coding that is not known': { 'Content-Encoding': 'own', Vary: 'Accept-Encoding' },
  'that does not decode': { 'Content-Encoding': 'br', Vary: 'Accept-Encoding' },
})) {
  test(`an answer ${what} is replayed as it is`, async () => {
    const port = await app(
      (_request, _response, next) => next(),
      (_request, response) => void response.set(headers).end(gzipSync('a text')),
    )
    const first = await exchangeBytes(port, post({ lines: CLOSE }))
    const again = await exchangeBytes(port, post({ lines: CLOSE }))
    expect(again).toContain('Idempotent-Replayed: true')
    expect(again).toContain(`Content-Encoding: ${headers['Content-Encoding']}\r\n`)
    expect(bodyOf(again)).toBe(bodyOf(first))
  })
}
