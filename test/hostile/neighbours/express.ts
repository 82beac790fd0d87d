/**
 * Express 4 and 5.
 *
 * @module
 */

import { createRequire } from 'node:module'
import { join } from 'node:path'
import { Readable, Writable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import express5, { type RequestHandler, type Response } from 'express'
import { listen } from '../../adapters/listen.ts'
import { load } from './packages.ts'
import { type Framework, piecesIn, type Serving, textIn, valueIn, type World } from './world.ts'

// Has no types of its own; as far as it is used here it is like version 5.
const express4 = createRequire(import.meta.url)('express4') as typeof express5

/** Takes everything and keeps nothing. */
function nowhere(): Writable {
  return new Writable({ write: (_chunk, _encoding, done) => done() })
}

const session = { secret: 'not a secret', resave: false, saveUninitialized: true }

const MAKERS: Readonly<Record<string, () => Promise<RequestHandler>>> = {
  compression: async () => (await load('compression'))(),
  'compression of everything': async () => (await load('compression'))({ threshold: 0 }),
  'express-session': async () => (await load('express-session'))(session),
  'express-session that is saved each time': async () =>
    (await load('express-session'))({ ...session, resave: true, rolling: true }),
  'cookie-session': async () => {
    const cookies: RequestHandler = (await load('cookie-session'))({ keys: ['not a secret'] })
    return (request, response, next) =>
      cookies(request, response, () => {
        Object.assign(Reflect.get(request, 'session') ?? {}, { visits: 1 })
        next()
      })
  },
  'cookie-parser': async () => (await load('cookie-parser'))(),
  morgan: async () => (await load('morgan'))('combined', { stream: nowhere() }),
  'pino-http': async () => (await load('pino-http'))({}, nowhere()),
  helmet: async () => (await load('helmet'))(),
  cors: async () => (await load('cors'))({ origin: true, credentials: true }),
  'express-rate-limit': async () =>
    (await load('express-rate-limit'))({
      limit: 1000,
      standardHeaders: 'draft-7',
      validate: false,
    }),
  'connect-timeout': async () => (await load('connect-timeout'))('60s'),
  multer: async () => {
    const upload: { none(): RequestHandler } = (await load('multer'))()
    return upload.none()
  },
  'response-time': async () => (await load('response-time'))(),
  'body-parser json': async () => (await load('body-parser', 'json'))(),
  'body-parser urlencoded': async () => (await load('body-parser', 'urlencoded'))(),
  envelope: async () => (_request, response, next) => {
    const { json } = response
    response.json = (value: unknown) => json.call(response, { data: value })
    next()
  },
  'a header for every answer': async () => (_request, response, next) => {
    response.set('X-Neighbour', 'yes').append('Link', '</help>; rel=help')
    next()
  },
  'an end that waits': async () => (_request, response, next) => {
    const { end } = response
    response.end = ((...args: unknown[]) => {
      setImmediate(() => Reflect.apply(end, response, args))
      return response
    }) as typeof response.end
    next()
  },
}

/** Express renders the stack of an error, which is another with protection. */
function plainError(members: object): Error {
  return Object.assign(new Error('the handler fails'), { stack: 'the handler fails' }, members)
}

type Way = (response: Response, world: World) => unknown

const WAYS: Readonly<Record<string, Way>> = {
  json: (response, world) => response.status(201).json(valueIn(world)),
  text: (response, world) => response.send(textIn(world)),
  buffer: (response, world) => response.type('text/plain').send(Buffer.from(textIn(world))),
  'empty 204': (response) => response.status(204).end(),
  'status only': (response) => response.sendStatus(202),
  pipe: (response, world) => {
    response.type('text/plain')
    return Readable.from(piecesIn(world)).pipe(response)
  },
  pipeline: (response, world) => {
    response.type('text/plain')
    return pipeline(Readable.from(piecesIn(world)), response)
  },
  sendFile: (response) => response.sendFile(join(import.meta.dirname, 'package.json')),
  'writeHead, write, end': (response, world) => {
    response.writeHead(201, { 'Content-Type': 'text/plain', 'X-Head': '1' })
    for (const piece of piecesIn(world)) response.write(piece)
    response.end()
  },
  'end alone': (response, world) => {
    response.type('text/plain')
    response.end(textIn(world))
  },
  'a message': (response, world) => {
    response.statusMessage = 'Quite Fine'
    response.status(200).json(valueIn(world))
  },
  'several cookies': (response, world) =>
    response.cookie('a', '1').cookie('b', '2', { httpOnly: true }).json(valueIn(world)),
  redirect: (response) => response.redirect(303, '/elsewhere'),
  'throw 402': () => {
    throw plainError({ status: 402, expose: true })
  },
  'throw 500': () => {
    throw plainError({ status: 500 })
  },
  'late json': async (response, world) => {
    await new Promise((resolve) => setImmediate(resolve))
    return response.json(valueIn(world))
  },
  'strong etag': (response, world) => response.set('ETag', '"v1"').json(valueIn(world)),
}

function frameworkOf(name: string, express: typeof express5): Framework {
  return {
    name,
    neighbours: Object.keys(MAKERS),
    ways: Object.keys(WAYS),
    async serve({ world, reprise, adapters, onEffect }: Serving) {
      const app = express()
      const [before, behind] = await Promise.all([made(world.before), made(world.behind)])
      const guard: RequestHandler[] =
        reprise === null ? [] : [adapters.onExpress(reprise, { caller: () => 'me' })]
      const handler: RequestHandler = async (_request, response, next) => {
        onEffect()
        try {
          await WAYS[world.way]?.(response, world)
        } catch (error) {
          // Version 4 does not look at promises.
          next(error)
        }
      }
      app.post('/t', ...before, ...guard, ...behind, handler)
      // Express prints errors where there is no environment that says otherwise.
      app.set('env', 'test')
      return listen(app)
    },
  }
}

function made(names: readonly string[]): Promise<RequestHandler[]> {
  return Promise.all(names.map((name) => MAKERS[name]?.() ?? missing(name)))
}

/** @throws RangeError */
export function missing(name: string): never {
  throw new RangeError(`No neighbour has the name ${name}`)
}

export const frameworks: readonly Framework[] = [
  frameworkOf('Express 5', express5),
  frameworkOf('Express 4', express4),
]
