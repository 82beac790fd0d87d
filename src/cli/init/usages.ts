/**
 * How each framework uses the engine.
 *
 * @module
 */

import type { Framework } from './detect.ts'

/** How a framework uses the engine. */
export interface Usage {
  /** Imports besides those that every engine has. */
  readonly imports: readonly string[]
  /** What the module gives on from the adapter. */
  readonly exports?: string
  /** What refuses a request that nobody signed; nothing where {@link ends} does it. */
  readonly refusal: string
  /** What the caller is asked of, with its type, and how its credentials are read. */
  readonly request: readonly [name: string, type: string]
  readonly credentials: string
  /** Whether the options are handed to `idempotent()` here, or kept for each route. */
  readonly isMiddleware: boolean
  /** First member of the options, where the adapter takes the engine there. */
  readonly member?: string
  /** What comes after the options. */
  readonly ends?: (isTyped: boolean) => string
  /** How a route uses it, for the next steps. */
  readonly route: string
}

// `expose` keeps Koa from taking it for a failure of the server.
const SIGN_IN = `throw Object.assign(new Error('Sign in first.'), { status: 401, expose: true })`
const WITH_HEADERS = '{ headers: { authorization?: string | undefined } }'

/** By framework. */
export const USAGES: Readonly<Record<Framework, Usage>> = {
  express: {
    imports: [`import { idempotent, txOf } from 'reprise/express'`],
    ...{ refusal: SIGN_IN, isMiddleware: true },
    ...{ request: ['req', ''], credentials: `req.get('Authorization')` },
    route: `app.post('/charges', express.json(), once, handler)`,
  },
  hono: {
    imports: [
      `import { HTTPException } from 'hono/http-exception'`,
      `import { idempotent, txOf } from 'reprise/hono'`,
    ],
    ...{ refusal: `throw new HTTPException(401, { message: 'Sign in first.' })` },
    ...{ isMiddleware: true, request: ['c', ''], credentials: `c.req.header('Authorization')` },
    route: `app.post('/charges', once, handler)`,
  },
  koa: {
    imports: [`import { idempotent, txOf } from 'reprise/koa'`],
    ...{ refusal: SIGN_IN, isMiddleware: true },
    ...{ request: ['ctx', ''], credentials: `ctx.get('Authorization')` },
    route: `router.post('/charges', once, handler)`,
  },
  fastify: {
    imports: [`import { txOf } from 'reprise/fastify'`],
    exports: `export { idempotency } from 'reprise/fastify'`,
    ...{ refusal: SIGN_IN, isMiddleware: false, member: 'reprise,' },
    ...{ request: ['request', WITH_HEADERS], credentials: 'request.headers.authorization' },
    route: `await app.register(idempotency, once)`,
  },
  nest: {
    imports: [
      `import { UnauthorizedException } from '@nestjs/common'`,
      `import { txOf } from 'reprise/nest'`,
    ],
    exports: `export { IdempotencyModule, Idempotent } from 'reprise/nest'`,
    ...{ refusal: `throw new UnauthorizedException('Sign in first.')`, member: 'reprise,' },
    ...{ isMiddleware: false, request: ['request', WITH_HEADERS] },
    credentials: 'request.headers.authorization',
    route: `imports: [IdempotencyModule.forRoot(once)], then @Post() @Idempotent()`,
  },
  next: {
    imports: [`import { idempotent, txOf } from 'reprise/next'`],
    ...{ refusal: '', isMiddleware: false, request: ['request', 'Request'] },
    credentials: `request.headers.get('Authorization')`,
    ends: nextProtect,
    route: 'export const POST = protect(handler)',
  },
  node: {
    imports: [`import { idempotent, txOf } from 'reprise/node'`],
    ...{ refusal: '', isMiddleware: false, request: ['request', 'IncomingMessage'] },
    credentials: 'request.headers.authorization',
    ends: nodeProtect,
    route: 'createServer(protect(handler))',
  },
}

function nextProtect(isTyped: boolean): string {
  const type = '(request: Request, ...context: Context) => Promise<Response>'
  const [generic, handler, request, context] = isTyped
    ? ['<Context extends readonly unknown[]>', `handler: ${type}`, 'request: Request', ': Context']
    : ['', 'handler', 'request', '']
  return `
/** Protects the handler of a method; who has not signed in is refused. */
export function protect${generic}(${handler}) {
  const protectedHandler = idempotent(reprise, once, handler)
  return async (${request}, ...context${context}) => {
    if (!request.headers.has('Authorization')) {
      return new Response('Sign in first.', { status: 401 })
    }
    return protectedHandler(request, ...context)
  }
}
`
}

function nodeProtect(isTyped: boolean): string {
  const type = '(request: IncomingMessage, response: ServerResponse) => void | Promise<void>'
  const [handler, request, response] = isTyped
    ? [`handler: ${type}`, 'request: IncomingMessage', 'response: ServerResponse']
    : ['handler', 'request', 'response']
  return `
/** Protects a handler; who has not signed in is refused. */
export function protect(${handler}) {
  const protectedHandler = idempotent(reprise, once, handler)
  return (${request}, ${response}) => {
    if (request.headers.authorization) protectedHandler(request, response)
    else response.writeHead(401).end('Sign in first.')
  }
}
`
}
