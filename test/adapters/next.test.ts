import { describe, expect, test } from 'vitest'
import { idempotent, runOf } from '../../src/adapters/next.ts'
import { createReprise, memoryStore } from '../../src/index.ts'
import { type AdapterSpec } from '../../src/testing/adapter-contract.ts'
import { describeAdapter } from './describe.ts'
import { bodyOf, deedResponse, type Fetch, raced, serveFetch } from './fetch-bridge.ts'
import { testDifferences } from './fetch-differential.ts'
import { fetchShapes } from './fetch-shapes.ts'

describeAdapter('Next', {
  serve: (spec) => serveFetch(routed(spec)),
  // The options of this adapter are given the `Request` itself.
  header: (request, name) => (request as Request).headers.get(name) ?? undefined,
  parserPlaces: ['after', 'none'],
  rendersErrors: false,
})

interface RouteContext {
  readonly params: Promise<{ readonly id: string }>
}

type Route = (request: Request, context: RouteContext) => Response | Promise<Response>

/** What Next does with the files of two routes. */
function routed(spec: AdapterSpec): Fetch {
  const items = routeOf(spec, '/items/:id')
  const others = routeOf(spec, '/others/:id')
  return raced(spec.early, (request) => {
    const { pathname } = new URL(request.url)
    const route = pathname.startsWith('/items/') ? items : others
    return route(request, { params: Promise.resolve({ id: pathname.split('/').at(-1) ?? '' }) })
  })
}

function routeOf({ deed, reprise, options, ...spec }: AdapterSpec, operation: string): Route {
  const handler: Route = async (request, { params }) => {
    const body = await bodyOf(request, spec.parser)
    return deedResponse(await deed({ ...(await params), body, run: runOf(request) }))
  }
  if (options === null) return handler
  const protect = (inner: Route) => idempotent(reprise, { operation, ...options }, inner)
  return spec.isMountedTwice ? protect(protect(handler)) : protect(handler)
}

const caller = () => 'acct_1'

describe('Next', () => {
  testDifferences({
    shapes: fetchShapes,
    serve: ({ handler }, reprise) =>
      serveFetch(reprise ? idempotent(reprise, { caller }, () => handler()) : handler),
  })
})

function post(body = 'hello'): Request {
  const headers = { 'Idempotency-Key': 'key-1' }
  return new Request('http://127.0.0.1/items/7', { method: 'POST', headers, body })
}

describe('a route handler', () => {
  test('is given the very request and the context', async () => {
    const given: unknown[] = []
    const POST = idempotent(
      createReprise({ store: memoryStore() }),
      { caller },
      async (request: Request, context: RouteContext) => {
        given.push(request, context, await context.params, await request.text())
        return new Response()
      },
    )
    const request = post()
    const context = { params: Promise.resolve({ id: '7' }) }
    await POST(request, context)
    expect(given).toEqual([request, context, { id: '7' }, 'hello'])
    expect(given[0]).toBe(request)
    expect(given[1]).toBe(context)
  })

  test.each([
    ['redirect()', 'NEXT_REDIRECT;replace;/thanks?a=1;b=2;307;', 307, '/thanks?a=1;b=2'],
    ['permanentRedirect()', 'NEXT_REDIRECT;replace;/moved;308;', 308, '/moved'],
    ['notFound()', 'NEXT_HTTP_ERROR_FALLBACK;404', 404, null],
    ['notFound() of older versions', 'NEXT_NOT_FOUND', 404, null],
  ])('answers by %s, and again', async (_, digest, status, location) => {
    let runs = 0
    const POST = idempotent(createReprise({ store: memoryStore() }), { caller }, async () => {
      runs++
      throw Object.assign(new Error('NEXT'), { digest })
    })
    for (const replayed of [null, 'true']) {
      const response = await POST(post())
      expect(response.status).toBe(status)
      expect(response.headers.get('location')).toBe(location)
      expect(response.headers.get('idempotent-replayed')).toBe(replayed)
      expect(response.body).toBeNull()
    }
    expect(runs).toBe(1)
  })

  test.each<[string, Error]>([
    ['an error', new Error('failed')],
    ['an error with a digest of another kind', Object.assign(new Error(), { digest: 'DYNAMIC' })],
    // Whatever can be thrown is thrown somewhere.
    ['no error at all', 'a text' as unknown as Error],
  ])('throws %s on', async (_, thrown) => {
    const POST = idempotent(createReprise({ store: memoryStore() }), { caller }, async () => {
      throw thrown
    })
    await expect(POST(post())).rejects.toBe(thrown)
  })
})
