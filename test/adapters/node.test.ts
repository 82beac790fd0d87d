import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http'
import { pipeline } from 'node:stream'
import { idempotent, runOf } from '../../src/adapters/node.ts'
import { createReprise } from '../../src/engine/reprise.ts'
import { memoryStore } from '../../src/stores/memory/store.ts'
import type { AdapterSpec, Deed, Served } from '../../src/testing/adapter-contract.ts'
import { bytesFrom, streamOf } from './deeds.ts'
import { describeAdapter } from './describe.ts'
import { describeBroken, describeDifferential, type ShapesApp } from './differential.ts'
import { listen } from './listen.ts'
import { brokenShapes, nodeShapes } from './node-shapes.ts'

async function serve(spec: AdapterSpec): Promise<Served> {
  const errors: unknown[] = []
  const handler = async (req: IncomingMessage, res: ServerResponse) => {
    const id = req.url?.split('/').at(-1)?.split('?')[0] ?? ''
    const body = await bytesFrom(req)
    answer(res, await spec.deed({ id, body, run: runOf(req) }))
  }
  const onError = (error: unknown, _: IncomingMessage, res: ServerResponse) => {
    errors.push(error)
    if (!res.headersSent) res.statusCode = 500
  }
  // Without a framework there is no error handling but the app's own.
  const unguarded: RequestListener = (req, res) => {
    handler(req, res).catch((error) => {
      onError(error, req, res)
      res.end()
    })
  }
  const routes = ['items', 'others'].map((operation): RequestListener => {
    if (spec.options === null) return unguarded
    const options = { operation, onError, ...spec.options }
    const guarded = idempotent(spec.reprise, options, handler)
    return spec.isMountedTwice ? idempotent(spec.reprise, options, guarded) : guarded
  })
  const listening = await listen((req, res) => {
    void spec.early?.().then((deed) => answer(res, deed))
    routes[req.url?.startsWith('/items/') ? 0 : 1]?.(req, res)
  })
  return { ...listening, errors }
}

function answer(res: ServerResponse, deed: Deed): void {
  res.statusCode = deed.status
  for (const [name, value] of deed.headers ?? []) res.appendHeader(name, value)
  switch (deed.how) {
    case 'send':
      res.end(deed.body)
      return
    case 'json':
      res.setHeader('Content-Type', 'application/json').end(JSON.stringify(deed.body))
      return
    case 'end':
      res.end()
      return
    case 'write':
      for (const piece of deed.body) res.write(piece)
      res.end()
      return
    case 'redirect':
      res.setHeader('Location', deed.location).end()
      return
    default:
      pipeline(streamOf(deed), res, () => {})
  }
}

describeAdapter('node:http', {
  serve,
  parserPlaces: ['none'],
  header(request, name) {
    const value = (request as IncomingMessage).headers[name.toLowerCase()]
    return Array.isArray(value) ? value[0] : value
  },
})

function serveShapes(shapes: typeof nodeShapes, isProtected: boolean): Promise<ShapesApp> {
  const handler: RequestListener = (req, res) => {
    void shapes[Number(req.url?.slice(1))]?.handler(req, res)
  }
  const reprise = createReprise({ store: memoryStore() })
  return listen(isProtected ? idempotent(reprise, { caller: () => 'me' }, handler) : handler)
}

describeDifferential('node:http', {
  shapes: nodeShapes,
  serve: (isProtected) => serveShapes(nodeShapes, isProtected),
})

describeBroken('node:http', { shapes: brokenShapes, serve: () => serveShapes(brokenShapes, true) })
