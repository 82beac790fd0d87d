/**
 * NestJS on Express and on Fastify.
 *
 * @module
 */

import {
  type CanActivate,
  ClassSerializerInterceptor,
  Controller,
  HttpCode,
  HttpException,
  type NestInterceptor,
  Post,
  Res,
  StreamableFile,
  type Type,
  UseGuards,
  UseInterceptors,
} from '@nestjs/common'
import { Reflector } from '@nestjs/core'
import type { Response } from 'express'
import type { FastifyReply } from 'fastify'
import { map, tap, timeout } from 'rxjs'
import { appModule, createApp, decorate, listen, type NestApp } from '../../adapters/nest-app.ts'
import { missing } from './express.ts'
import { load } from './packages.ts'
import { type Framework, piecesIn, type Serving, textIn, valueIn, type World } from './world.ts'

const INTERCEPTORS: Readonly<Record<string, () => NestInterceptor | Promise<NestInterceptor>>> = {
  ClassSerializerInterceptor: async () => {
    const [instanceToPlain, plainToInstance] = await Promise.all([
      load('class-transformer', 'instanceToPlain'),
      load('class-transformer', 'plainToInstance'),
    ])
    const transformerPackage = {
      ...{ instanceToPlain, plainToInstance },
      ...{ classToPlain: instanceToPlain, plainToClass: plainToInstance },
    }
    return new ClassSerializerInterceptor(new Reflector(), { transformerPackage })
  },
  'a log of every answer': () => ({ intercept: (_, next) => next.handle().pipe(tap(() => {})) }),
  'a timeout': () => ({ intercept: (_, next) => next.handle().pipe(timeout(60_000)) }),
  'an envelope': () => ({
    intercept: (_, next) =>
      next
        .handle()
        .pipe(map((data: unknown) => (data instanceof StreamableFile ? data : { data }))),
  }),
}

/** Guards of Nest run before every interceptor. */
const THROTTLER = 'ThrottlerGuard'

async function guards({ before }: World): Promise<MethodDecorator[]> {
  if (!before.includes(THROTTLER)) return []
  const limits = { throttlers: [{ ttl: 60_000, limit: 1000 }] }
  const storage: unknown = await made('ThrottlerStorageService')
  const guard = await made(THROTTLER, limits, storage, new Reflector())
  // Nest does this to guards that it makes itself.
  await guard.onModuleInit()
  return [UseGuards(guard)]
}

type ThrottlerGuard = CanActivate & { onModuleInit(): Promise<void> }

/** Makes an object of a class of `@nestjs/throttler`. */
async function made(name: string, ...args: readonly unknown[]): Promise<ThrottlerGuard> {
  // Whoever loads it knows what it takes and makes.
  return Reflect.construct(await load('@nestjs/throttler', name), args) as ThrottlerGuard
}

type Platform = 'express' | 'fastify'

/** Middleware of the platform, which is always in front. */
const ON_PLATFORM: Readonly<Record<Platform, Readonly<Record<string, (app: NestApp) => unknown>>>> =
  {
    express: {
      compression: async (app) => app.use((await load('compression'))({ threshold: 0 })),
      helmet: async (app) => app.use((await load('helmet'))()),
      cors: (app) => app.enableCors({ origin: true }),
    },
    fastify: {
      '@fastify/compress': async (app) =>
        Reflect.apply(Reflect.get(app, 'register'), app, [
          await load('@fastify/compress'),
          { threshold: 0 },
        ]),
      '@fastify/helmet': async (app) =>
        Reflect.apply(Reflect.get(app, 'register'), app, [await load('@fastify/helmet')]),
    },
  }

type AnyResponse = Response | FastifyReply

const WAYS: Readonly<Record<string, (response: AnyResponse, world: World) => unknown>> = {
  json: (_, world) => valueIn(world),
  text: (_, world) => textIn(world),
  'a status of its own': (response, world) => {
    response.status(202)
    return valueIn(world)
  },
  nothing: () => undefined,
  'a file': (_, world) => new StreamableFile(Buffer.concat(piecesIn(world))),
  'a header': (response, world) => {
    response.header('X-Own', '1')
    return valueIn(world)
  },
  'late json': async (_, world) => {
    await new Promise((resolve) => setImmediate(resolve))
    return valueIn(world)
  },
  'throw 402': () => {
    throw new HttpException('card declined', 402)
  },
  'throw 500': () => {
    throw new Error('the handler fails')
  },
}

function frameworkOf(platform: Platform): Framework {
  const inFront = ON_PLATFORM[platform]
  return {
    name: `NestJS on ${platform}`,
    neighbours: Object.keys(INTERCEPTORS),
    onlyBefore: [THROTTLER, ...Object.keys(inFront)],
    ways: Object.keys(WAYS),
    async serve(serving: Serving) {
      const { world, reprise, adapters } = serving
      const idempotency =
        reprise === null
          ? []
          : [adapters.IdempotencyModule.forRoot({ reprise, caller: () => 'me' })]
      const app = await createApp(platform, appModule([await controllerOf(serving)], idempotency))
      for (const name of world.before) await inFront[name]?.(app)
      return { port: await listen(app), close: () => app.close() }
    },
  }
}

async function controllerOf({ world, reprise, adapters, onEffect }: Serving): Promise<Type> {
  class Things {
    handle(response: AnyResponse): unknown {
      onEffect()
      return (WAYS[world.way] ?? missing(world.way))(response, world)
    }
  }
  // Nest calls the interceptors of a method from the one that was put on first.
  decorate(Things, 'handle', [
    Post('t'),
    HttpCode(201),
    ...(await guards(world)),
    ...(await interceptors(world.before)),
    ...(reprise === null ? [] : [adapters.Idempotent()]),
    ...(await interceptors(world.behind)),
    [Res({ passthrough: true })],
  ])
  Controller()(Things)
  return Things
}

async function interceptors(names: readonly string[]): Promise<MethodDecorator[]> {
  const made: MethodDecorator[] = []
  for (const name of names) {
    const make = INTERCEPTORS[name]
    if (make !== undefined) made.push(UseInterceptors(await make()))
  }
  return made
}

export const ofNest: readonly Framework[] = [frameworkOf('express'), frameworkOf('fastify')]
