import { createReadStream } from 'node:fs'
import { basename } from 'node:path'
import { PassThrough, Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { createGzip, gzipSync } from 'node:zlib'
import type { NextFunction, Request, Response } from 'express'
import type { Shape } from './differential.ts'

type Handler = (request: Request, response: Response, next: NextFunction) => unknown

const FOLDER = import.meta.dirname
const FILE = basename(import.meta.filename)

/** Shapes for both versions. */
export const expressShapes: readonly Shape<Handler>[] = [
  { name: 'res.json of an object', handler: (_, res) => res.json({ a: 1, b: 'ü' }) },
  { name: 'res.json of null', handler: (_, res) => res.json(null) },
  { name: 'res.status and res.json', handler: (_, res) => res.status(201).json([1, 2]) },
  { name: 'res.send of a text', handler: (_, res) => res.send('grüße') },
  { name: 'res.send of an empty text', handler: (_, res) => res.send('') },
  { name: 'res.send of a Buffer', handler: (_, res) => res.send(Buffer.from([0, 128, 255])) },
  { name: 'res.send of an object', handler: (_, res) => res.send({ a: 1 }) },
  { name: 'res.send of true', handler: (_, res) => res.send(true) },
  { name: 'res.send of nothing', handler: (_, res) => res.send() },
  { name: 'res.send of a typed text', handler: (_, res) => res.type('svg').send('<svg/>') },
  { name: 'res.end', handler: (_, res) => res.end() },
  { name: 'res.status and res.end', handler: (_, res) => res.status(202).end('accepted') },
  {
    name: 'res.write and res.end',
    handler(_, res) {
      res.write('one')
      res.write('two')
      res.end()
    },
  },
  { name: 'res.sendStatus', handler: (_, res) => res.sendStatus(202) },
  { name: 'res.sendStatus of a 204', handler: (_, res) => res.sendStatus(204) },
  { name: 'a 204 with a body', handler: (_, res) => res.status(204).json({ not: 'sent' }) },
  { name: 'a 205', handler: (_, res) => res.status(205).send('not sent') },
  { name: 'a 304', handler: (_, res) => res.set('ETag', '"v"').status(304).end() },
  { name: 'res.redirect', handler: (_, res) => res.redirect('/elsewhere?a=ü') },
  { name: 'res.redirect with a status', handler: (_, res) => res.redirect(307, '/elsewhere') },
  {
    name: 'res.redirect for a browser',
    lines: ['Accept: text/html'],
    handler: (_, res) => res.redirect(303, '/elsewhere'),
  },
  { name: 'res.location', handler: (_, res) => res.status(201).location('/things/1').end() },
  {
    name: 'cookies',
    handler(_, res) {
      res.cookie('a', '1', { httpOnly: true }).cookie('b', 'ü', { path: '/x' })
      res.clearCookie('c').json({})
    },
  },
  { name: 'res.attachment', handler: (_, res) => res.attachment('übersicht.csv').send('a;b') },
  { name: 'res.jsonp', handler: (_, res) => res.jsonp({ a: '\u2028' }) },
  {
    name: 'res.format by the header Accept',
    lines: ['Accept: application/json'],
    handler: (_, res) =>
      res.format({ text: () => res.send('text'), json: () => res.json({ json: true }) }),
  },
  {
    name: 'res.format of nothing that is accepted',
    isUnkept: true,
    lines: ['Accept: image/png'],
    handler: (_, res) => res.format({ text: () => res.send('text') }),
  },
  {
    name: 'links, a vary and appended headers',
    handler(_, res) {
      res.links({ next: '/2', last: '/9' }).vary('Origin').vary('Accept')
      res.append('Warning', '199 a').append('Warning', '199 b').send('ok')
    },
  },
  {
    name: 'res.render with an engine',
    handler: (_, res) => res.render('page.html', { title: 'Title' }),
  },
  { name: 'res.sendFile', handler: (_, res) => res.sendFile(FILE, { root: FOLDER }) },
  {
    name: 'res.sendFile with headers of its own',
    handler: (_, res) => res.sendFile(FILE, { root: FOLDER, headers: { 'X-One': '1' }, maxAge: 5 }),
  },
  {
    name: 'res.sendFile of a part',
    lines: ['Range: bytes=10-19'],
    handler: (_, res) => res.sendFile(FILE, { root: FOLDER }),
  },
  {
    name: 'res.sendFile of what the client has',
    lines: ['If-None-Match: *'],
    handler: (_, res) => res.sendFile(FILE, { root: FOLDER }),
  },
  {
    name: 'res.sendFile of nothing',
    handler: (_, res) => res.sendFile('nowhere', { root: FOLDER }),
  },
  { name: 'res.download', handler: (_, res) => res.download(import.meta.filename, 'shape.txt') },
  { name: 'a file, piped', handler: (_, res) => createReadStream(import.meta.filename).pipe(res) },
  {
    name: 'a missing file, piped, with the error handed on',
    isUnkept: true,
    handler: (_, res, next) => createReadStream('/nowhere').on('error', next).pipe(res),
  },
  {
    name: 'a pipeline with backpressure',
    handler: (_, res) => pipeline(Readable.from(Array(50).fill(Buffer.alloc(9999))), res),
  },
  {
    name: 'a compressed stream',
    handler(_, res) {
      res.set('Content-Encoding', 'gzip').type('text')
      Readable.from(['compressed']).pipe(createGzip()).pipe(res)
    },
  },
  {
    name: 'compressed bytes',
    handler: (_, res) => res.set('Content-Encoding', 'gzip').send(gzipSync('bytes')),
  },
  {
    name: 'a head written by hand',
    handler: (_, res) => res.writeHead(201, { 'X-One': '1' }).end('by hand'),
  },
  {
    name: 'trailers',
    handler(_, res) {
      res.set('Trailer', 'X-Sum').write('body')
      res.addTrailers({ 'X-Sum': '1' })
      res.end()
    },
  },
  {
    name: 'early hints',
    handler(_, res) {
      res.writeEarlyHints({ link: '</s.css>; rel=preload' }, () => res.send('after'))
    },
  },
  {
    name: 'a middleware that covers res.end later',
    handler(_, res) {
      const { end, writeHead } = res
      res.writeHead = ((...args: never[]) => {
        res.setHeader('X-Covered', 'head')
        return Reflect.apply(writeHead, res, args)
      }) as typeof res.writeHead
      res.end = ((chunk: string) => Reflect.apply(end, res, [`${chunk}!`])) as typeof res.end
      res.send('covered')
    },
  },
  {
    name: 'an answer after some time',
    handler: (_, res) => void setImmediate(() => setImmediate(() => res.json({ late: true }))),
  },
  {
    name: 'an answer about the world',
    handler: (_, res) => res.status(402).json({ error: 'card declined' }),
  },
  { name: 'a route that nothing answers', handler: (_, __, next) => next() },
  {
    name: 'an error handed on',
    isUnkept: true,
    handler: (_, __, next) => next(new Error('handed on')),
  },
  {
    name: 'an error with a status of its own',
    handler: (_, __, next) => next(Object.assign(new Error('no seats'), { status: 409 })),
  },
  {
    name: 'an error thrown',
    isUnkept: true,
    handler() {
      throw new Error('thrown')
    },
  },
  {
    name: 'an error with headers set before',
    isUnkept: true,
    handler(_, res) {
      res.set('X-One', '1').status(201)
      throw Object.assign(new Error('thrown'), { headers: { 'X-Two': '2' } })
    },
  },
]

/** Shapes of version 5, which takes promises. */
export const express5Shapes: readonly Shape<Handler>[] = [
  {
    name: 'an error thrown later',
    isUnkept: true,
    async handler() {
      await Promise.resolve()
      throw new Error('thrown later')
    },
  },
]

/** Shapes that are sent in part without protection. */
export const expressBroken: readonly Shape<Handler>[] = [
  {
    name: 'an error handed on half way',
    handler(_, res, next) {
      res.write('some')
      setImmediate(() => next(new Error('half way')))
    },
  },
  {
    name: 'a pipe whose source fails half way',
    handler(_, res) {
      const source = new PassThrough().on('error', () => {})
      source.write('some')
      source.pipe(res)
      setImmediate(() => source.destroy(new Error('the source fails')))
    },
  },
]
