import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { CLIENT_ERROR_CODES } from '../../src/core/error-code.ts'
import { type TemporaryDatabase, temporaryDatabase } from '../support/postgres.ts'
import { type ReferenceServer, sendTask, startServer } from './reference-server.ts'

let database: TemporaryDatabase
let server: ReferenceServer

beforeAll(async () => {
  database = await temporaryDatabase()
  server = await startServer({ DATABASE_URL: database.url })
})
afterAll(async () => {
  await server.stop()
  await database.drop()
})

describe('the server', () => {
  test('says where everything is, and answers there', async () => {
    const printed = server.printed()
    for (const path of ['/', '/docs', '/metrics', '/health/ready', '/demo/ledger']) {
      expect(printed).toContain(`${server.url}${path}`)
      expect((await server.get(path)).status, path).toBe(200)
    }
    const curls = printed.match(/^ {2}curl .*$/gm) ?? []
    expect(curls).toHaveLength(2)
    expect(curls[0]).toBe(curls[1])
    expect(printed).toContain('200 instead of 201')
    expect(printed).not.toContain('Joined')
  })

  test.each(['/', '/docs', '/errors/tasks/idempotency-key-reused'])(
    'has a page at %s whose links all lead somewhere',
    async (path) => {
      const response = await server.get(path)
      const hrefs = (await response.text()).matchAll(/\b(?:href|src)="([^"]+)"/g)
      const links = [...hrefs].map(([, href = '']) => new URL(href, response.url))
      const followed = links.filter(({ protocol }) => protocol !== 'data:')
      expect(followed.length).toBeGreaterThan(3)
      for (const link of followed) {
        expect(link.origin).toBe(server.url)
        expect((await fetch(link)).status, link.href).toBe(200)
      }
    },
  )

  test('tells whether it lives and whether it can be used', async () => {
    expect(await (await server.get('/health/live')).json()).toMatchObject({ status: 'ok' })
    expect(await (await server.get('/health/ready')).json()).toMatchObject({ status: 'ok' })
  })

  test('describes its APIs, with their keys, and with nothing from outside', async () => {
    const page = await server.get('/docs')
    expect(page.headers.get('content-security-policy')).toContain("default-src 'none'")
    expect(await page.text()).toContain('Idempotency-Key')
    const document = Object(await (await server.get('/openapi.json')).json())
    expect(document.openapi).toBe('3.1.0')
    expect(Object.keys(document.paths)).toEqual(expect.arrayContaining(['/tasks', '/rides']))
    expect(document.paths['/tasks'].post.responses['409']).toBeDefined()
  })

  test.each(['tasks', 'rides', 'workflows', 'charges', 'agents'])(
    'has the pages of the errors of %s, and links to them',
    async (api) => {
      const documented = await (await server.get('/docs')).text()
      expect(documented).toContain(`href="/errors/${api}"`)
      for (const path of ['', '/', ...CLIENT_ERROR_CODES.map((code) => `/${code}`)]) {
        const page = await server.get(`/errors/${api}${path}`)
        expect(page.status).toBe(200)
        expect(page.headers.get('content-security-policy')).toContain("default-src 'none'")
      }
      const headers = { accept: 'application/json' }
      const reused = await server.get(`/errors/${api}/idempotency-key-reused`, { headers })
      expect(await reused.json()).toMatchObject({
        status: ['workflows', 'agents'].includes(api) ? 422 : 409,
      })
    },
  )

  test('answers what it does not know with JSON', async () => {
    const missing = await server.get('/nothing')
    expect(missing.status).toBe(404)
    expect(await missing.json()).toMatchObject({ error: { code: 'not_found' } })
    const wrong = await server.get('/metrics', { method: 'POST' })
    expect([wrong.status, wrong.headers.get('allow')]).toEqual([405, 'GET'])
  })

  test('counts what the engine tells', async () => {
    await sendTask(server, 'metrics-1')
    await sendTask(server, 'metrics-1')
    const other = await server.get('/tasks', {
      method: 'POST',
      headers: {
        ...{ Authorization: 'Bearer sk_test_1', 'Content-Type': 'application/json' },
        'Idempotency-Key': 'metrics-1',
      },
      body: '{"task_name":"Something else"}',
    })
    expect(other.status).toBe(409)
    const metrics = await (await server.get('/metrics')).text()
    const count = (name: string) => {
      const told = metrics.matchAll(new RegExp(`^${name}(?:\\{.*\\})? (\\S+)$`, 'gm'))
      return [...told].reduce((sum, [, value]) => sum + Number(value), 0)
    }
    expect(count('idempotency_checked_total')).toBe(3)
    expect(count('idempotency_miss_total')).toBe(1)
    expect(count('idempotency_hit_total')).toBe(1)
    expect(count('idempotency_mismatch_total')).toBe(1)
    expect(count('idempotency_duplicates_prevented_total')).toBe(1)
    expect(count('idempotency_overhead_seconds_count')).toBe(3)
    for (const name of ['unfinished', 'dead_letters_total', 'reaped_total', 'enqueued_total']) {
      expect(metrics).toContain(`# TYPE idempotency_${name} `)
      expect(count(`idempotency_${name}`)).toBe(0)
    }
  })

  test('links a refusal to its page, which is there', async () => {
    await sendTask(server, 'linked-1')
    const refused = await server.get('/tasks', {
      method: 'POST',
      headers: { Authorization: 'Bearer sk_test_1', 'Idempotency-Key': 'linked-1' },
      body: 'Something else',
    })
    const { error } = Object(await refused.json())
    const page = `${server.url}/errors/tasks/idempotency-key-reused`
    expect(error.doc_url).toBe(page)
    expect(refused.headers.get('link')).toContain(`<${page}>; rel="describedby"`)
    expect(await (await fetch(error.doc_url)).text()).toContain('HTTP status 409')
    const missing = await server.get('/tasks/none', {
      headers: { Authorization: 'Bearer sk_test_1' },
    })
    const own = new URL(Object(await missing.json()).error.doc_url)
    expect(await (await fetch(own)).text()).toContain(`id="${own.hash.slice(1)}"`)
  })
})
