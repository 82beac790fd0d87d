import type { IncomingMessage, ServerResponse } from 'node:http'
import {
  All,
  type ArgumentsHost,
  Controller,
  Module,
  type NestApplicationOptions,
  type NestInterceptor,
  Post,
  Req,
  Res,
  StreamableFile,
  type Type,
} from '@nestjs/common'
import { BaseExceptionFilter, NestFactory } from '@nestjs/core'
import type { NestExpressApplication } from '@nestjs/platform-express'
import { FastifyAdapter, type NestFastifyApplication } from '@nestjs/platform-fastify'
import type express from 'express'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { from, race } from 'rxjs'
import { idempotent as onExpress } from '../../src/adapters/express.ts'
import { idempotent as onFastify } from '../../src/adapters/fastify.ts'
import { IdempotencyModule, Idempotent, runOf } from '../../src/adapters/nest.ts'
import { createReprise } from '../../src/engine/reprise.ts'
import { memoryStore } from '../../src/stores/memory/store.ts'
import {
  type AdapterSpec,
  type Deed,
  type DeedHandler,
  ROUTES,
  type Served,
} from '../../src/testing/adapter-contract.ts'
import { bytesFrom, streamOf } from './deeds.ts'
import type { FrameworkHarness } from './describe.ts'
import type { ShapesApp } from './differential.ts'
import type { NestShape } from './nest-shapes.ts'

const BODY_LIMIT = 50 * 2 ** 20

/** Applies decorators to a method without their syntax, which Node does not strip. */
export function decorate(
  target: Type,
  name: string,
  decorators: readonly (MethodDecorator | ParameterDecorator[])[],
): void {
  const descriptor = Object.getOwnPropertyDescriptor(target.prototype, name)
  if (descriptor === undefined) throw new TypeError(`${target.name} has no ${name}`)
  for (const decorator of decorators) {
    if (Array.isArray(decorator)) {
      for (const [index, one] of decorator.entries()) one(target.prototype, name, index)
    } else decorator(target.prototype, name, descriptor)
  }
  Object.defineProperty(target.prototype, name, descriptor)
}

/** An app with one controller, and what is imported. */
export function appModule(
  controllers: readonly Type[],
  imports: readonly NonNullable<Parameters<typeof Module>[0]['imports']>[number][],
): Type {
  class App {
    readonly name = 'app'
  }
  Module({ controllers: [...controllers], imports: [...imports] })(App)
  return App
}

/** Both platforms by the words that they share. */
export type Platform = 'express' | 'fastify'
export type NestApp = NestExpressApplication | NestFastifyApplication

/** Makes an app on a platform. */
export async function createApp(
  platform: Platform,
  module: Type,
  options: NestApplicationOptions = {},
): Promise<NestApp> {
  const quiet = { logger: false, abortOnError: false, forceCloseConnections: true } as const
  if (platform === 'express') {
    const app = await NestFactory.create<NestExpressApplication>(module, { ...quiet, ...options })
    if (options.bodyParser !== false) app.useBodyParser('json', { limit: BODY_LIMIT })
    return app
  }
  const adapter = new FastifyAdapter({ bodyLimit: BODY_LIMIT, forceCloseConnections: true })
  return NestFactory.create<NestFastifyApplication>(module, adapter, { ...quiet, ...options })
}

/** Listens, and says where. */
export async function listen(app: NestApp): Promise<number> {
  await app.listen(0, '127.0.0.1')
  const address: unknown = app.getHttpServer().address()
  return typeof address === 'object' && address !== null && 'port' in address
    ? Number(address.port)
    : 0
}

/** Serves ways to answer. */
export async function serveShapes(
  platform: Platform,
  shapes: readonly NestShape[],
  isProtected: boolean,
): Promise<ShapesApp> {
  const reprise = createReprise({ store: memoryStore() })
  const idempotency = IdempotencyModule.forRoot({ reprise, caller: () => 'acct_1' })
  const module = appModule([shapesController(shapes, isProtected)], [idempotency])
  const app = await createApp(platform, module)
  return { port: await listen(app), close: () => app.close() }
}

function shapesController(shapes: readonly NestShape[], isProtected: boolean): Type {
  class Shapes {
    readonly name = 'shapes'
  }
  for (const [index, { handler, decorators = [], parameters = [] }] of shapes.entries()) {
    const value = (...args: never[]) => handler(...args)
    Object.defineProperty(Shapes.prototype, `shape${index}`, { value, configurable: true })
    decorate(Shapes, `shape${index}`, [
      ...[Post(String(index)), ...decorators, [...parameters]],
      ...(isProtected ? [Idempotent()] : []),
    ])
  }
  Controller()(Shapes)
  return Shapes
}

/** The contract's harness of a platform. */
export function nestHarness(platform: Platform): FrameworkHarness {
  return {
    serve: (spec) => serve(platform, spec),
    // The contract hands on what the options' functions were given.
    header: (request, name) => (request as IncomingMessage).headers[name]?.toString(),
    parserPlaces: ['before', 'none'],
  }
}

async function serve(platform: Platform, spec: AdapterSpec): Promise<Served> {
  const { options, reprise, parser, isMountedTwice } = spec
  const imports = options === null ? [] : [IdempotencyModule.forRoot({ reprise, ...options })]
  const module = appModule([controllerOf(spec)], imports)
  const app = await createApp(platform, module, { bodyParser: parser !== 'none' })
  const errors: unknown[] = []
  app.useGlobalFilters(new RecordingFilter(app.getHttpAdapter(), errors))
  if (spec.early !== undefined) app.useGlobalInterceptors(racing(spec.early))
  if (isMountedTwice && options !== null) mountAgain(app, { ...spec, options })
  if (parser === 'none') leaveBodies(app)
  return { port: await listen(app), errors, close: () => app.close() }
}

/** An interceptor in front that answers with what is there first. */
function racing(early: () => Promise<Deed>): NestInterceptor {
  return {
    intercept: (context, next) => {
      const response = context.switchToHttp().getResponse<AnyResponse>()
      return race(next.handle(), from(early().then((deed) => valueOf(response, deed))))
    },
  }
}

function mountAgain(
  app: NestApp,
  {
    reprise,
    options,
  }: Pick<AdapterSpec, 'reprise'> & { options: NonNullable<AdapterSpec['options']> },
): void {
  if (isFastify(app)) {
    // Nest brings a Fastify of its own, whose types are not those of the other.
    const hook = onFastify(reprise, options) as unknown as () => Promise<void>
    app.getHttpAdapter().getInstance().addHook('preHandler', hook)
  } else app.use(onExpress(reprise, options))
}

/** Fastify has parsers of its own. */
function leaveBodies(app: NestApp): void {
  if (!isFastify(app)) return
  const instance = app.getHttpAdapter().getInstance()
  instance.removeAllContentTypeParsers()
  instance.addContentTypeParser('*', (_request, _payload, done) => done(null))
}

function isFastify(app: NestApp): app is NestFastifyApplication {
  return app.getHttpAdapter().getType() === 'fastify'
}

class RecordingFilter extends BaseExceptionFilter {
  readonly #errors: unknown[]

  constructor(adapter: ConstructorParameters<typeof BaseExceptionFilter>[0], errors: unknown[]) {
    super(adapter)
    this.#errors = errors
  }

  override catch(error: unknown, host: ArgumentsHost): void {
    this.#errors.push(error)
    Reflect.apply(super.catch, this, [error, host])
  }
}

type AnyRequest = FastifyRequest<{ Params: { id: string } }> | express.Request<{ id: string }>
type AnyResponse = FastifyReply | express.Response

function controllerOf({ deed, options, parser }: AdapterSpec): Type {
  class Items {
    async handle(request: AnyRequest, response: AnyResponse): Promise<unknown> {
      const body =
        parser === 'none' ? await bytesFrom('raw' in request ? request.raw : request) : request.body
      const answer: Awaited<ReturnType<DeedHandler>> = await deed({
        ...{ id: request.params.id, body, run: runOf(request) },
      })
      return valueOf(response, answer)
    }
  }
  decorate(Items, 'handle', [
    ...(options === null ? [] : [Idempotent()]),
    All(ROUTES.map((route) => route.slice(1))),
    [Req(), Res({ passthrough: true })],
  ])
  Controller()(Items)
  return Items
}

/** What a handler returns to Nest, where it has a way for it. */
async function valueOf(response: AnyResponse, deed: Deed): Promise<unknown> {
  response.status(deed.status)
  const names = new Set(deed.headers?.map(([name]) => name))
  for (const name of names) {
    const values = deed.headers?.flatMap(([other, value]) => (other === name ? [value] : []))
    response.header(name, values?.length === 1 ? values[0] : values)
  }
  switch (deed.how) {
    case 'send':
      return typeof deed.body === 'string' ? deed.body : new StreamableFile(deed.body)
    case 'json':
      return deed.body
    case 'end':
      return undefined
    case 'stream':
    case 'file':
      return new StreamableFile(streamOf(deed))
    case 'write':
      return byHand(response, deed.body)
    case 'redirect':
      return redirected(response, deed)
  }
}

/** Nest is told nothing: the handler has answered. */
function silence(): Promise<never> {
  return new Promise(() => {})
}

function byHand(response: AnyResponse, pieces: readonly (string | Uint8Array)[]): Promise<never> {
  if ('raw' in response) {
    for (const [name, value = ''] of Object.entries(response.getHeaders())) {
      response.raw.setHeader(name, value)
    }
    response.hijack()
  }
  const raw: ServerResponse = 'raw' in response ? response.raw : response
  for (const piece of pieces) raw.write(piece)
  raw.end()
  return silence()
}

function redirected(
  response: AnyResponse,
  { status, location }: { status: number; location: string },
): Promise<never> {
  if ('raw' in response) response.redirect(location, status)
  else response.redirect(status, location)
  return silence()
}
