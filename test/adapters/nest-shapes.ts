import { createReadStream } from 'node:fs'
import { Readable } from 'node:stream'
import {
  type ArgumentsHost,
  BadRequestException,
  Catch,
  ConflictException,
  type ExceptionFilter,
  Header,
  HttpCode,
  HttpException,
  type NestInterceptor,
  NotFoundException,
  ParseIntPipe,
  Query,
  Redirect,
  Res,
  StreamableFile,
  UseFilters,
  UseInterceptors,
} from '@nestjs/common'
import type express from 'express'
import type { FastifyReply } from 'fastify'
import { delay, from, map, of, throwError } from 'rxjs'
import type { Shape } from './differential.ts'

/** A response of either platform, by the words that both have. */
type AnyResponse = FastifyReply & Pick<express.Response, 'json'>

/** A handler of Nest. */
export type NestHandler = (...args: never[]) => unknown

/** A way to answer in Nest. */
export interface NestShape extends Shape<NestHandler> {
  /** Decorators of the method. */
  readonly decorators?: readonly MethodDecorator[]
  /** Decorators of its parameters. */
  readonly parameters?: readonly ParameterDecorator[]
}

const BYTES = Uint8Array.from({ length: 256 }, (_, byte) => byte)
const LONG = 'Zwölf Boxkämpfer jagen Viktor quer über den Deich. '.repeat(6000)
const wrapping: NestInterceptor = {
  intercept: (_context, next) => next.handle().pipe(map((data: unknown) => ({ data }))),
}

class Teapot extends Error {}
class TeapotFilter implements ExceptionFilter {
  catch(error: Error, host: ArgumentsHost): void {
    const response = host.switchToHttp().getResponse<AnyResponse>()
    response.status(418).header('X-Filter', 'yes').send({ told: error.message })
  }
}
Catch(Teapot)(TeapotFilter)

async function* inPieces(...pieces: readonly string[]): AsyncIterable<Buffer> {
  for (const piece of pieces) yield Buffer.from(piece)
}

function thrower(error: unknown): () => never {
  return () => {
    throw error
  }
}

function withResponse(
  handler: (response: AnyResponse) => unknown,
): Pick<NestShape, 'parameters' | 'handler'> {
  return { parameters: [Res()], handler }
}

/** A stream that fails half way. */
async function* breaking(): AsyncIterable<Buffer> {
  yield Buffer.from('half of ')
  throw new Error('The source is gone.')
}

/** Answers that break when their head is written. */
export const nestBroken: readonly NestShape[] = [
  {
    name: 'a file that fails half way',
    handler: () => new StreamableFile(Readable.from(breaking())),
  },
  { name: 'an async iterable that fails half way', handler: () => breaking() },
  {
    name: 'a web stream that fails half way',
    handler: () => Readable.toWeb(Readable.from(breaking())),
  },
]

/** Ways that Nest knows on both platforms. */
export const nestShapes: readonly NestShape[] = [
  { name: 'an object', handler: () => ({ id: 'it_1', name: 'ü 🎉' }) },
  { name: 'an object in a promise', handler: async () => ({ id: 'it_1' }) },
  { name: 'an array', handler: () => [1, 'two', null] },
  { name: 'a text', handler: () => 'Grüße 🎉' },
  { name: 'an empty text', handler: () => '' },
  { name: 'a number', handler: () => 42 },
  { name: 'true', handler: () => true },
  { name: 'null', handler: () => null },
  { name: 'nothing', handler: () => undefined },
  { name: 'nothing in a promise', handler: async () => undefined },
  { name: 'a value with toJSON', handler: () => ({ at: new Date(0), toJSON: () => ({ own: 1 }) }) },
  { name: 'a long text', handler: () => LONG },
  { name: 'the value of an observable', handler: () => of({ id: 'it_1' }) },
  { name: 'the last value of an observable', handler: () => from([1, 2, { last: true }]) },
  { name: 'the value of a slow observable', handler: () => of('late').pipe(delay(1)) },
  {
    name: 'an observable that fails',
    handler: () => throwError(() => new ConflictException('taken')),
  },
  { name: 'an observable in a promise', handler: async () => of({ id: 'it_1' }) },
  { name: 'another status', decorators: [HttpCode(202)], handler: () => ({ queued: true }) },
  { name: 'a 204', decorators: [HttpCode(204)], handler: () => undefined },
  {
    name: 'headers',
    decorators: [Header('X-One', '1'), Header('Cache-Control', 'no-store')],
    handler: () => ({ ok: true }),
  },
  { name: 'a page', decorators: [Header('Content-Type', 'text/html')], handler: () => '<p>ü</p>' },
  { name: 'a redirect', decorators: [Redirect('/elsewhere', 303)], handler: () => undefined },
  {
    name: 'a redirect that the handler decides',
    decorators: [Redirect('/elsewhere')],
    handler: () => ({ url: '/there', statusCode: 307 }),
  },
  { name: 'a file of bytes', handler: () => new StreamableFile(BYTES) },
  {
    name: 'a file with its type, name and length',
    handler: () =>
      new StreamableFile(Readable.from(inPieces('abc', 'def')), {
        ...{ type: 'text/csv', disposition: 'attachment; filename="a.csv"', length: 6 },
      }),
  },
  {
    name: 'a file from the disk',
    handler: () => new StreamableFile(createReadStream(import.meta.filename)),
  },
  {
    name: 'a file that is not there',
    isUnkept: true,
    handler: () => new StreamableFile(createReadStream('/nowhere/at/all')),
  },
  { name: 'an async iterable', handler: () => inPieces('one ', 'two') },
  { name: 'a web stream', handler: () => new Blob(['web ', 'stream']).stream() },
  {
    name: 'a web response',
    handler: () => new Response('made', { status: 201, headers: { 'X-Made': 'by fetch' } }),
  },
  {
    name: 'send() of the platform',
    ...withResponse((response) => response.status(201).send({ a: 1 })),
  },
  {
    name: 'send() of the platform, later',
    ...withResponse(async (response) => {
      await Promise.resolve()
      response.header('X-Late', 'yes').send('late')
    }),
  },
  {
    name: 'a status and header beside a returned value',
    parameters: [Res({ passthrough: true })],
    handler(response: AnyResponse) {
      response.status(206).header('X-Beside', 'yes')
      return { part: 1 }
    },
  },
  {
    name: 'several cookies',
    parameters: [Res({ passthrough: true })],
    handler(response: AnyResponse) {
      response.header('Set-Cookie', ['a=1', 'b=2'])
      return 'welcome'
    },
  },
  { name: 'an exception', handler: thrower(new NotFoundException('no such order')) },
  {
    name: 'an exception with a body',
    handler: thrower(new HttpException({ code: 'declined' }, 402)),
  },
  {
    name: 'an exception that frees the key',
    isUnkept: true,
    handler: thrower(new BadRequestException(['a is missing'])),
  },
  { name: 'an exception in a promise', handler: async () => thrower(new ConflictException())() },
  { name: 'an error', isUnkept: true, handler: thrower(new Error('broken')) },
  {
    name: 'what a filter made',
    decorators: [UseFilters(TeapotFilter)],
    handler: thrower(new Teapot('tea')),
  },
  {
    name: 'what an interceptor made',
    decorators: [UseInterceptors(wrapping)],
    handler: () => ({ a: 1 }),
  },
  {
    name: 'what a pipe refused',
    isUnkept: true,
    parameters: [Query('limit', ParseIntPipe)],
    handler: (limit: number) => ({ limit }),
  },
]
