/**
 * One contract for every framework: D-60, D-61.
 *
 * @module
 */

import { createRequire } from 'node:module'
import { getRequestListener } from '@hono/node-server'
import { bodyParser } from '@koa/bodyparser'
import { Module } from '@nestjs/common'
import { NestFactory } from '@nestjs/core'
import type { NestExpressApplication } from '@nestjs/platform-express'
import { FastifyAdapter, type NestFastifyApplication } from '@nestjs/platform-fastify'
import express from 'express'
import fastify, { type FastifyInstance } from 'fastify'
import { Hono } from 'hono'
import Koa from 'koa'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { dashboardMiddleware as onExpress } from '../../src/dashboard/express.ts'
import { dashboardPlugin } from '../../src/dashboard/fastify.ts'
import { dashboardHandler } from '../../src/dashboard/hono.ts'
import { createDashboard, type Dashboard } from '../../src/dashboard/index.ts'
import { dashboardMiddleware as onKoa } from '../../src/dashboard/koa.ts'
import { dashboardRoute } from '../../src/dashboard/next.ts'
import { dashboardListener } from '../../src/dashboard/node.ts'
import { type Listening, listen } from '../adapters/listen.ts'
import { memoryAdmin } from './memory-admin.ts'

/** Version 4, which has no types here; what is used of it is the same. */
const express4 = createRequire(import.meta.url)('express4') as typeof express

const BASE = '/deep/ops'

type Serve = (dashboard: Dashboard) => Promise<Listening>

/** A server of Nest's that listens. */
async function listening(app: NestExpressApplication | NestFastifyApplication): Promise<Listening> {
  await app.listen(0, '127.0.0.1')
  return { port: Number(new URL(await app.getUrl()).port), close: () => app.close() }
}

class App {
  readonly name = 'app'
}
Module({})(App)

const quiet = { logger: false, forceCloseConnections: true } as const

const MOUNTS: Readonly<Record<string, Serve>> = {
  'node:http': (dashboard) => listen(dashboardListener(dashboard, { base: BASE })),
  'node:http, not told where': (dashboard) => listen(dashboardListener(dashboard)),
  'express 5': (dashboard) => listen(express().use(BASE, onExpress(dashboard))),
  'express 5 behind a body parser, in a router': (dashboard) => {
    const router = express.Router().use('/ops', onExpress(dashboard))
    return listen(express().use(express.json()).use('/deep', router))
  },
  'express 4': (dashboard) => listen(express4().use(BASE, onExpress(dashboard))),
  koa: (dashboard) => listen(new Koa().use(onKoa(dashboard, BASE)).callback()),
  'koa behind a body parser': (dashboard) =>
    listen(new Koa().use(bodyParser()).use(onKoa(dashboard, BASE)).callback()),
  fastify: async (dashboard) => {
    const app = fastify({ forceCloseConnections: true })
    await app.register(dashboardPlugin, { prefix: BASE, dashboard })
    const address = await app.listen({ port: 0, host: '127.0.0.1' })
    return { port: Number(new URL(address).port), close: () => app.close() }
  },
  hono: (dashboard) => {
    const app = new Hono().all(`${BASE}/*`, dashboardHandler(dashboard))
    return listen(getRequestListener(app.fetch))
  },
  'hono in a route': (dashboard) => {
    const inner = new Hono().all('/ops/*', dashboardHandler(dashboard))
    return listen(getRequestListener(new Hono().route('/deep', inner).fetch))
  },
  next: (dashboard) => {
    const { GET, POST } = dashboardRoute(dashboard)
    return listen(
      getRequestListener((request) => {
        const rest = new URL(request.url).pathname.slice(BASE.length).split('/').filter(Boolean)
        const params = Promise.resolve(rest.length === 0 ? {} : { path: rest })
        return (request.method === 'POST' ? POST : GET)(request, { params })
      }),
    )
  },
  'nest on express': async (dashboard) => {
    const app = await NestFactory.create<NestExpressApplication>(App, quiet)
    app.use(BASE, onExpress(dashboard))
    return listening(app)
  },
  'nest on fastify': async (dashboard) => {
    const adapter = new FastifyAdapter({ forceCloseConnections: true })
    const app = await NestFactory.create<NestFastifyApplication>(App, adapter, quiet)
    // Nest brings a Fastify of its own, with types of its own.
    const instance = app.getHttpAdapter().getInstance() as unknown as FastifyInstance
    await instance.register(dashboardPlugin, { prefix: BASE, dashboard })
    return listening(app)
  },
}

describe.each(Object.entries(MOUNTS))('D-60 the dashboard on %s', (_, serve) => {
  const admin = memoryAdmin()
  const seen: string[] = []
  let server: Listening
  let origin: string
  beforeAll(async () => {
    const authorize = ({ headers }: Request) => {
      seen.push(headers.get('x-from') ?? '')
      return headers.get('x-from') === 'ops' ? { user: 'ops', can: 'all' as const } : null
    }
    server = await serve(createDashboard({ admin, authorize, refreshMs: 100 }))
    origin = `http://127.0.0.1:${server.port}`
  })
  afterAll(() => server?.close())

  const ask = (path: string, init: RequestInit = {}, more: Record<string, string> = {}) =>
    fetch(`${origin}${BASE}${path}`, { ...init, headers: { 'x-from': 'ops', ...more } })

  it.each(['', '/', '/requests', '/requests/abc', '/stuck/'])(
    'D-61 gives the page at %j, and all that it loads',
    async (path) => {
      const response = await ask(path)
      expect(response.status).toBe(200)
      expect(response.headers.get('content-security-policy')).toContain("default-src 'none'")
      const html = await response.text()
      const [, base = ''] = /data-base="([^"]*)"/.exec(html) ?? []
      expect(new URL(base, response.url).pathname).toBe(`${BASE}/`)
      const loaded = [...html.matchAll(/(?:src|href)="([^"]+\.(?:js|css))"/g)]
      expect(loaded).toHaveLength(3)
      for (const [, url = ''] of loaded) {
        const file = await fetch(new URL(url, response.url))
        expect(file.status).toBe(200)
        expect((await file.text()).length).toBeGreaterThan(100)
      }
    },
  )

  it('D-61 gives the page of an error, with a way back', async () => {
    const response = await ask('/errors/reprise-lease-lost')
    expect(response.status).toBe(200)
    const [, home = ''] = /<a href="([^"]*)">Dashboard</.exec(await response.text()) ?? []
    expect(new URL(home, response.url).pathname).toBe(`${BASE}/`)
    const asked = { 'x-from': 'else' }
    expect((await ask('/errors/reprise-lease-lost', {}, asked)).status).toBe(401)
  })

  it('D-64 lets nobody in who is not known', async () => {
    expect((await ask('/api/hello', {}, { 'x-from': 'else' })).status).toBe(401)
    expect(seen).toContain('else')
  })

  it('answers its API, with the query', async () => {
    const response = await ask('/api/requests?limit=3&state=stuck')
    const { items } = await response.json()
    expect(items.map(({ state }: { state: string }) => state)).toEqual(['stuck', 'stuck', 'stuck'])
    expect((await ask('/api/nothing')).status).toBe(404)
  })

  it('takes an order, with its body and who sent it from where', async () => {
    admin.restore()
    const response = await ask(
      '/api/workers/completer/pause',
      { method: 'POST', body: JSON.stringify({ reason: 'deploy' }) },
      { origin, 'content-type': 'application/json', 'idempotency-key': 'one' },
    )
    expect([response.status, await response.json()]).toEqual([
      200,
      { outcome: 'done', text: 'The completer is told: pause.' },
    ])
    expect(admin.audits[0]).toMatchObject({ author: 'ops', note: 'deploy' })
  })

  it('D-40 streams, and forgets who has gone', async () => {
    const gone = new AbortController()
    const response = await ask('/api/events', { signal: gone.signal })
    expect(response.headers.get('content-type')).toBe('text/event-stream; charset=utf-8')
    const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader()
    let text = ''
    while (!text.includes('event: pulse')) text += (await reader?.read())?.value ?? ''
    expect(text).toMatch(/^: connected\n/)
    gone.abort()
  })
})
