import { createReadStream } from 'node:fs'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { PassThrough, pipeline, Readable } from 'node:stream'
import { pipeline as piped } from 'node:stream/promises'
import { createGzip, gzipSync } from 'node:zlib'
import type { Shape } from './differential.ts'

type Handler = (request: IncomingMessage, response: ServerResponse) => void | Promise<void>

const BYTES = Uint8Array.from({ length: 256 }, (_, byte) => byte)

/** Written piece by piece, each when the one before is said to be through. */
async function byCallbacks(response: ServerResponse, pieces: readonly string[]): Promise<void> {
  for (const piece of pieces) {
    await new Promise<void>((resolve, reject) => {
      response.write(piece, (error) => (error == null ? resolve() : reject(error)))
    })
  }
}

/** A stream that gives some and then fails. */
function failing(): Readable {
  const source = new PassThrough()
  source.write('some')
  setImmediate(() => source.destroy(new Error('the source fails')))
  return source
}

export const nodeShapes: readonly Shape<Handler>[] = [
  { name: 'an empty end', handler: (_, res) => void res.end() },
  { name: 'a text', handler: (_, res) => void res.end('grüße') },
  { name: 'an empty text', handler: (_, res) => void res.end('') },
  { name: 'a text in Latin-1', handler: (_, res) => void res.end('gr\u00fc\u00dfe', 'latin1') },
  { name: 'a text in base64', handler: (_, res) => void res.end('aGVsbG8=', 'base64') },
  { name: 'bytes', handler: (_, res) => void res.end(BYTES) },
  {
    name: 'an end with a callback only',
    handler: (_, res) => new Promise((resolve) => void res.end(resolve)),
  },
  {
    name: 'an end with bytes and a callback',
    handler: (_, res) => new Promise((resolve) => void res.end(BYTES, resolve)),
  },
  {
    name: 'an explicit head with an object',
    handler: (_, res) => void res.writeHead(201, { 'X-One': '1', 'x-two': ['a', 'b'] }).end('ok'),
  },
  {
    name: 'an explicit head whose empty list takes a header away',
    handler(_, res) {
      res.setHeader('X-One', '1')
      res.writeHead(200, { 'x-one': [] }).end('ok')
    },
  },
  {
    name: 'an explicit head with a flat list, names repeated',
    handler(_, res) {
      res.writeHead(200, 'Fine', ['Set-Cookie', 'a=1', 'X-One', '1', 'Set-Cookie', 'b=2'])
      res.end('ok')
    },
  },
  {
    name: 'an explicit head with a list of pairs',
    handler(_, res) {
      // Documented, though not in the types.
      const pairs = [
        ['Link', '</a>'],
        ['X-One', '1'],
        ['Link', '</b>'],
      ] as unknown as string[]
      res.writeHead(202, pairs).end('ok')
    },
  },
  {
    name: 'an explicit head over headers that are set',
    handler(_, res) {
      res.setHeader('X-One', 'set').setHeader('X-Two', 'set')
      res.writeHead(200, { 'x-one': 'written', 'Content-Length': 21 })
      res.end(JSON.stringify([res.getHeader('X-One'), res.hasHeader('x-two')]).padEnd(21))
    },
  },
  {
    name: 'an explicit head with a flat list over headers that are set',
    handler(_, res) {
      res.setHeader('X-One', 'set')
      res.writeHead(200, ['X-One', 'a', 'X-One', 'b']).end('ok')
    },
  },
  { name: 'an explicit head without headers', handler: (_, res) => void res.writeHead(204).end() },
  {
    name: 'an explicit head with a message of its own',
    handler: (_, res) => void res.writeHead(200, 'Quite Fine').end('ok'),
  },
  {
    name: 'a status and a message that are assigned',
    handler(_, res) {
      res.statusCode = 418
      res.statusMessage = 'Short And Stout'
      res.end('tea')
    },
  },
  {
    name: 'what is assigned after the head',
    handler(_, res) {
      res.write('early')
      res.statusCode = 500
      res.statusMessage = 'Too Late'
      res.end()
    },
  },
  {
    name: 'the header methods',
    handler(_, res) {
      res.setHeader('X-Gone', '1')
      res.appendHeader('Vary', 'Accept').appendHeader('Vary', 'Origin')
      res.removeHeader('X-Gone')
      res.end(JSON.stringify([res.getHeaders(), res.hasHeader('vary'), res.headersSent]))
    },
  },
  {
    name: 'a header in Latin-1 before a text',
    handler: (_, res) => void res.setHeader('X-Name', 'Jos\u00e9').end('text'),
  },
  {
    name: 'a header in Latin-1 before bytes',
    handler: (_, res) => void res.writeHead(200, { 'X-Name': 'Jos\u00e9' }).end(BYTES),
  },
  {
    name: 'several writes',
    handler(_, res) {
      res.write('one')
      res.write(Buffer.from('two'))
      res.write('w6Q=', 'base64')
      res.end('end')
    },
  },
  {
    name: 'several writes of a known length',
    handler(_, res) {
      res.setHeader('Content-Length', 6)
      res.write('one')
      res.end('two')
    },
  },
  {
    name: 'writes that wait for their callbacks',
    async handler(_, res) {
      await byCallbacks(res, ['one', 'two', 'three'])
      res.end()
    },
  },
  {
    name: 'bytes whose memory is used again',
    async handler(_, res) {
      const bytes = Buffer.from('first')
      await new Promise<void>((resolve) => void res.write(bytes, () => resolve()))
      bytes.fill('x')
      res.end()
    },
  },
  {
    name: 'writes that are corked',
    handler(_, res) {
      res.cork()
      res.write('one')
      res.write('two')
      res.uncork()
      res.write('three')
      res.end(String(res.writableCorked))
    },
  },
  {
    name: 'an end while corked',
    // Node 24 sends what was corked after the chunk that ends the body, with or without protection.
    written: 'onetwothree',
    handler(_, res) {
      res.cork()
      res.write('one')
      res.write('two')
      res.end('three')
    },
  },
  {
    name: 'an end while corked, in part written before',
    written: 'onetwothree',
    handler(_, res) {
      res.write('one')
      res.cork()
      res.write('two')
      res.end('three')
    },
  },
  {
    name: 'an end while corked, of a body of known length',
    handler(_, res) {
      res.cork()
      res.end('one')
    },
  },
  {
    name: 'an empty write',
    handler(_, res) {
      res.write('')
      res.end('end')
    },
  },
  {
    name: 'a flushed head',
    handler(_, res) {
      res.setHeader('X-One', '1').flushHeaders()
      res.end(`sent: ${res.headersSent}`)
    },
  },
  {
    name: 'trailers',
    handler(_, res) {
      res.writeHead(200, { Trailer: 'X-Sum' })
      res.write('body')
      res.addTrailers({ 'X-Sum': '42' })
      res.end()
    },
  },
  {
    name: 'early hints and a processing notice',
    async handler(_, res) {
      await new Promise<void>((resolve) => {
        res.writeEarlyHints({ link: '</style.css>; rel=preload' }, resolve)
      })
      res.writeProcessing()
      res.end('ok')
    },
  },
  {
    name: 'an expectation to continue',
    lines: ['Expect: 100-continue'],
    handler: (_, res) => void res.end('ok'),
  },
  {
    name: 'the body of the request, piped back',
    handler: (req, res) => void req.pipe(res),
  },
  {
    name: 'a long stream with backpressure',
    handler: (_, res) => piped(Readable.from(Array(80).fill(Buffer.alloc(10_000, 'x'))), res),
  },
  {
    name: 'a file, piped',
    handler: (_, res) => void createReadStream(import.meta.filename).pipe(res),
  },
  {
    name: 'two streams, one after the other',
    handler(_, res) {
      const first = Readable.from(['one'])
      first.pipe(res, { end: false })
      first.on('end', () => Readable.from(['two']).pipe(res))
    },
  },
  {
    name: 'a compressed stream',
    handler(_, res) {
      res.setHeader('Content-Encoding', 'gzip')
      pipeline(Readable.from(['compressed']), createGzip(), res, () => {})
    },
  },
  {
    name: 'compressed bytes',
    handler: (_, res) => void res.setHeader('Content-Encoding', 'gzip').end(gzipSync('bytes')),
  },
  { name: 'a 204 with a body', handler: (_, res) => void res.writeHead(204).end('not sent') },
  {
    name: 'a 304 with a body',
    handler: (_, res) => void res.writeHead(304, { ETag: '"v"' }).end('not sent'),
  },
  {
    name: 'a redirect',
    handler: (_, res) => void res.writeHead(303, { Location: '/elsewhere' }).end(),
  },
  { name: 'a response by HTTP/1.0', version: '1.0', handler: (_, res) => void res.end('old') },
  {
    name: 'a stream by HTTP/1.0',
    version: '1.0',
    handler(_, res) {
      res.write('old ')
      res.end('stream')
    },
  },
  {
    name: 'a length that is removed',
    handler(_, res) {
      res.setHeader('Content-Length', 5)
      res.removeHeader('Content-Length')
      res.removeHeader('Transfer-Encoding')
      res.end('until the end')
    },
  },
  {
    name: 'no date',
    handler(_, res) {
      res.sendDate = false
      res.end('ok')
    },
  },
  {
    name: 'a connection that is to be closed',
    handler: (_, res) => void res.setHeader('Connection', 'close').end('ok'),
  },
  {
    name: 'what a handler sees of its response',
    handler(_, res) {
      const seen: unknown[] = [res.headersSent, res.writableEnded, res.writableFinished]
      res.write('body')
      seen.push(res.headersSent, res.writableEnded, res.writableFinished, res.destroyed)
      seen.push(
        ...tried([
          () => res.setHeader('X', '1'),
          () => res.removeHeader('X'),
          () => res.writeHead(500),
          () => res.write(null),
          () => res.write(5),
        ]),
      )
      res.end(JSON.stringify(seen))
    },
  },
  ...[false, true].map((isSetBefore) => ({
    name: `what a handler sees behind a head, with headers ${isSetBefore ? '' : 'not '}set before`,
    handler(_: unknown, res: ServerResponse) {
      if (isSetBefore) res.setHeader('X-Before', '1')
      res.writeHead(203, 'Fine', { 'X-Given': ['2', '3'], 'Content-Type': 'text/plain' })
      const seen: unknown[] = [res.headersSent, res.statusCode, res.statusMessage]
      seen.push(res.getHeaders(), res.hasHeader('x-given'), res.writableEnded)
      seen.push(
        ...tried([
          () => res.setHeader('X', '1'),
          () => res.removeHeader('X-Given'),
          () => res.writeHead(500),
        ]),
      )
      res.statusCode = 500
      res.end(JSON.stringify(seen))
    },
  })),
  {
    name: 'heads that Node refuses',
    handler(_, res) {
      const seen: string[] = []
      for (const act of [
        () => res.writeHead(99),
        () => res.writeHead(200, { 'X Y': '1' }),
        () => res.writeHead(200, { X: 'a\nb' }),
        () => res.end(5 as unknown as string),
      ]) {
        try {
          act()
        } catch (error) {
          seen.push(String(error))
        }
      }
      res.end(`${res.headersSent} ${seen.join('; ')}`)
    },
  },
  {
    name: 'a length that must be right',
    handler(_, res) {
      res.strictContentLength = true
      res.writeHead(200, { 'Content-Length': 29 })
      try {
        res.write('x'.repeat(30))
      } catch (error) {
        res.end(error instanceof Error && 'code' in error ? String(error.code).slice(0, 29) : '')
      }
    },
  },
  {
    name: 'a second end',
    handler(_, res) {
      res.end('first')
      res.end()
      res.end(() => {})
    },
  },
  {
    name: 'an error without a body',
    isUnkept: true,
    handler: (_, res) => void res.writeHead(503, { 'Retry-After': '1' }).end(),
  },
  {
    name: 'a response that is destroyed',
    isUnkept: true,
    isCut: true,
    handler: (_, res) => void res.destroy(),
  },
  {
    name: 'a source that fails before it gives anything',
    isUnkept: true,
    isCut: true,
    handler: (_, res) => piped(createReadStream('/nowhere'), res).catch(() => {}),
  },
]

/** Shapes that Node itself answers only in part: with protection nothing is sent of them. */
export const brokenShapes: readonly Shape<Handler>[] = [
  {
    name: 'a pipeline whose source fails half way',
    handler: (_, res) => piped(failing(), res).catch(() => {}),
  },
  {
    name: 'a pipe whose source fails half way',
    handler(_, res) {
      failing()
        .on('error', () => {})
        .pipe(res)
    },
  },
  {
    name: 'a response that is destroyed half way',
    handler(_, res) {
      res.write('some')
      setImmediate(() => res.destroy(new Error('no more')))
    },
  },
  {
    name: 'a connection that is destroyed half way',
    handler(req, res) {
      res.write('some')
      setImmediate(() => req.socket.destroy())
    },
  },
]

/** What comes of each act: that it was done, or how Node refuses it. */
function tried(acts: readonly (() => unknown)[]): readonly string[] {
  return acts.map((act) => {
    try {
      act()
      return 'done'
    } catch (error) {
      return error instanceof Error ? `${error.name} ${error.message}` : String(error)
    }
  })
}
