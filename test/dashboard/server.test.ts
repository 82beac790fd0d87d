/**
 * What the dashboard answers, without a browser.
 *
 * @module
 */

import { brotliDecompressSync, gunzipSync } from 'node:zlib'
import { describe, expect, it, test, vi } from 'vitest'
import { ERROR_CODES } from '../../src/core/error-code.ts'
import { createDashboard, type DashboardOptions } from '../../src/dashboard/index.ts'
import { PAGE } from '../../src/dashboard/page.generated.ts'
import { type MemoryAdmin, memoryAdmin } from './memory-admin.ts'

const POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; font-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"

const open = (admin: MemoryAdmin = memoryAdmin(), more: Partial<DashboardOptions> = {}) =>
  createDashboard({ admin, unsafeNoAuth: true, ...more })

async function ask(
  path: string,
  {
    on = open(),
    headers = {},
    base,
  }: { on?: ReturnType<typeof open>; headers?: HeadersInit; base?: string } = {},
) {
  const request = new Request(new URL(path, 'http://ops.example'), { headers })
  return on(request, base === undefined ? {} : { base })
}

describe('who may see it', () => {
  // Settings that the types would not let through.
  const make = (options: object) => () => createDashboard({ admin: memoryAdmin(), ...options })

  test('D-63 without a word about it, none is made', () => {
    expect(make({})).toThrow(
      /needs to know who may see it.*node_modules\/reprise\/docs\/dashboard\.md#who-may-see-it/,
    )
    expect(make({ unsafeNoAuth: false })).toThrow(/can only be true/)
    expect(make({ unsafeNoAuth: true, authorize: () => null })).toThrow(/only one/)
    expect(make({ authorize: 'yes' })).toThrow(/must be a function/)
    expect(make({ basicAuth: { username: 'a', password: 'short' } })).toThrow(/8 characters/)
    expect(make({ basicAuth: { username: 'a:b', password: '12345678' } })).toThrow(/colon/)
  })

  test('settings that can not work are refused with what to change', () => {
    expect(make({ unsafeNoAuth: true, admin: {} })).toThrow(/createAdmin/)
    expect(make({ unsafeNoAuth: true, basePath: 'ops' })).toThrow(/begins with \//)
    expect(make({ unsafeNoAuth: true, labelColor: 'pink' })).toThrow(/grey, green/)
    expect(make({ unsafeNoAuth: true, refreshMs: 0 })).toThrow(/at least 100/)
  })

  test('D-63 open to everybody, it warns in production', () => {
    const warn = vi.spyOn(process, 'emitWarning').mockImplementation(() => {})
    vi.stubEnv('NODE_ENV', 'production')
    open()
    expect(String(warn.mock.calls[0]?.[0])).toContain('open to everybody')
    vi.unstubAllEnvs()
    warn.mockRestore()
  })

  test('D-64 nobody gets 401, on every path but files and health', async () => {
    const on = createDashboard({ admin: memoryAdmin(), authorize: () => null })
    const paths = ['/', '/requests', '/api/hello', '/api/overview', '/api/events', '/api/nothing']
    paths.push('/errors', '/errors/reprise-lease-lost')
    for (const path of paths) expect((await ask(path, { on, base: '' })).status).toBe(401)
    const page = await ask('/', { on, base: '', headers: { accept: 'text/html' } })
    expect(await page.text()).toContain('<h1>Sign in</h1>')
  })

  test('D-64 what authorize says and nobody understands is 403; when it fails, 503', async () => {
    const warn = vi.spyOn(process, 'emitWarning').mockImplementation(() => {})
    // What a mistake would give.
    const odd = createDashboard({ admin: memoryAdmin(), authorize: () => ({ user: '' }) as never })
    expect((await ask('/api/hello', { on: odd })).status).toBe(403)
    const broken = createDashboard({
      admin: memoryAdmin(),
      authorize: () => Promise.reject(new Error('postgres://u:secret1@db')),
    })
    expect((await ask('/api/hello', { on: broken })).status).toBe(503)
    expect(String(warn.mock.calls[0]?.[0])).toBe(
      'authorize of the dashboard failed: The store did not answer: postgres://***@db',
    )
    warn.mockRestore()
  })

  test('D-63 basicAuth asks the browser, and takes only the one name and password', async () => {
    const basicAuth = { username: 'ops', password: 'correct horse' }
    const on = createDashboard({ admin: memoryAdmin(), basicAuth })
    const login = (text: string) => ({ authorization: `Basic ${btoa(text)}` })
    const nobody = await ask('/api/hello', { on })
    expect([nobody.status, nobody.headers.get('www-authenticate')]).toEqual([
      401,
      'Basic realm="Reprise", charset="UTF-8"',
    ])
    expect((await ask('/api/hello', { on, headers: login('ops:wrong') })).status).toBe(401)
    const right = await ask('/api/hello', { on, headers: login('ops:correct horse') })
    expect(await right.json()).toMatchObject({ user: 'ops', isScoped: false })
  })
})

describe('the pages of the errors', () => {
  const pages = ['/ops/errors', ...ERROR_CODES.map((code) => `/ops/errors/${code}`)]

  it.each(pages)('are there at %s, and link to each other and to the dashboard', async (path) => {
    for (const asked of [path, `${path}/`]) {
      const response = await ask(asked, { base: '/ops', headers: { accept: 'text/html' } })
      expect(response.status).toBe(200)
      const html = await response.text()
      const links = [...html.matchAll(/href="([^"#]+)"/g)].flatMap(([, href = '']) => {
        const url = new URL(href, `http://ops.example${asked}`)
        return url.protocol === 'data:' ? [] : [url.pathname]
      })
      const others = path === '/ops/errors' ? [] : pages.slice(1)
      expect(links).toEqual(['/ops/', ...others])
    }
  })

  it('A-10 allow no more than the dashboard does, and no script at all', async () => {
    const { headers } = await ask('/errors/reprise-lease-lost', { base: '' })
    const policy = headers.get('content-security-policy')
    expect(policy).toContain("default-src 'none'")
    expect(policy).not.toMatch(/script-src|connect-src|unsafe/)
    expect(headers.get('x-frame-options')).toBe('DENY')
    expect(headers.get('cache-control')).toBe('no-store')
  })

  it('are JSON for programs, without a body for HEAD, and 404 for a code that there is not', async () => {
    const json = { accept: 'application/json' }
    const page = await ask('/errors/reprise-lease-lost', { base: '', headers: json })
    expect(await page.json()).toMatchObject({ code: 'reprise-lease-lost', status: 500 })
    expect((await ask('/errors/none', { base: '' })).status).toBe(404)
    const url = 'http://ops.example/errors/reprise-lease-lost'
    const head = await open()(new Request(url, { method: 'HEAD' }), { base: '' })
    expect([head.status, await head.text()]).toEqual([200, ''])
    const post = await open()(new Request(url, { method: 'POST' }), { base: '' })
    expect(post.status).toBe(405)
  })
})

describe('the page', () => {
  it('A-10 sends its policy itself, with every answer', async () => {
    for (const path of ['/', '/api/hello', `/assets/${PAGE.names.script}`, '/nothing/here']) {
      const response = await ask(path, { base: '' })
      expect(response.headers.get('content-security-policy')).toBe(POLICY)
      expect(response.headers.get('x-content-type-options')).toBe('nosniff')
    }
  })

  it('A-10 has nothing inline', async () => {
    const html = await (await ask('/')).text()
    expect(html).not.toMatch(/<script(?![^>]*\ssrc=)|<style|\sstyle=|\son\w+=/)
  })

  it('A-13 loads files that are named by content, kept for ever, compressed before', async () => {
    const { script, style, check } = PAGE.names
    for (const name of [script, style, check]) {
      expect(name).toMatch(/^[a-z-]+-[0-9a-f]{16}\.(js|css)$/)
      const as = (encoding: string) =>
        ask(`/assets/${name}`, { headers: { 'accept-encoding': encoding } })
      const brotli = await as('gzip, deflate, br, zstd')
      const gzip = await as('gzip, br;q=0')
      const plain = await as('identity')
      expect(brotli.headers.get('cache-control')).toBe('public, max-age=31536000, immutable')
      expect(brotli.headers.get('vary')).toBe('Accept-Encoding')
      expect([brotli, gzip, plain].map(({ headers }) => headers.get('content-encoding'))).toEqual([
        'br',
        'gzip',
        null,
      ])
      const text = await plain.text()
      expect(brotliDecompressSync(await brotli.arrayBuffer()).toString()).toBe(text)
      expect(gunzipSync(await gzip.arrayBuffer()).toString()).toBe(text)
    }
  })

  it('A-13 says 404 to an unknown file, and has nobody keep page and API', async () => {
    const unknown = await ask('/assets/app-0000.js', { headers: { accept: 'text/html' } })
    expect([unknown.status, unknown.headers.get('content-type')]).toEqual([404, 'application/json'])
    expect((await ask('/assets/constructor')).status).toBe(404)
    for (const path of ['/', '/api/hello']) {
      expect((await ask(path)).headers.get('cache-control')).toBe('no-store')
    }
  })

  it('D-73 takes at most 120 kB of script and style, compressed', () => {
    const sizes = Object.values(PAGE.assets).map(({ gzip }) => Buffer.from(gzip, 'base64').length)
    const bytes = sizes.reduce((sum, one) => sum + one, 0)
    console.info(`reprise/dashboard: ${bytes} bytes gzip`)
    expect(bytes).toBeLessThanOrEqual(120_000)
  })

  it('D-67 bears the name of the environment, escaped', async () => {
    const on = open(memoryAdmin(), { label: '<b>"prod"', labelColor: 'red' })
    const html = await (await ask('/', { on })).text()
    expect(html).toContain('<title>&lt;b&gt;&quot;prod&quot; · reprise</title>')
  })

  it('is only for pages that there are', async () => {
    const html = { accept: 'text/html' }
    const statusOf = async (path: string) =>
      (await ask(`/ops${path}`, { base: '/ops', headers: html })).status
    const pages = ['', '/', '/requests', '/requests/abc', '/stuck/', '/person', '/conflicts']
    for (const path of [...pages, '/jobs', '/workers', '/audit'])
      expect(await statusOf(path)).toBe(200)
    for (const path of ['/nothing', '/requests/a/b', '/api', '/assets']) {
      expect(await statusOf(path)).toBe(404)
    }
    expect((await ask('/elsewhere', { base: '/ops' })).status).toBe(404)
  })
})

describe('where it is', () => {
  const baseIn = async (response: Response) =>
    /data-base="([^"]*)" data-mounted-at="([^"]*)"/.exec(await response.text())?.slice(1)

  test.each([
    ['/', '', './', '/'],
    ['/requests', '', './', '/'],
    ['/requests/abc', '', '../', '/'],
    ['/a/b', '/a/b', './b/', '/a/b/'],
    ['/a/b/', '/a/b', './', '/a/b/'],
    ['/a/b/stuck', '/a/b', './', '/a/b/'],
    ['/a/b/stuck/', '/a/b/', '../', '/a/b/'],
    ['/a/b/requests/x', '/a/b', '../', '/a/b/'],
  ])('D-61 %s mounted at %s leads back by %s', async (path, base, toBase, mountedAt) => {
    expect(await baseIn(await ask(path, { base }))).toEqual([toBase, mountedAt])
    const url = new URL(toBase, `http://h${path}`)
    expect(url.pathname).toBe(mountedAt)
  })

  test.each([
    ['/ops', './ops/'],
    ['/ops/', './'],
    ['/ops/requests', './'],
    ['/ops/requests/abc', '../'],
  ])('D-61 %s is found out where the mount does not say', async (path, toBase) => {
    expect(await baseIn(await ask(path))).toEqual([toBase, '/ops/'])
  })

  test('D-61 what a proxy took away, and the option, are absolute', async () => {
    const headers = { 'x-forwarded-prefix': '/behind/proxy/' }
    expect(await baseIn(await ask('/requests/x', { base: '', headers }))).toEqual([
      '/behind/proxy/',
      '/behind/proxy/',
    ])
    const on = open(memoryAdmin(), { basePath: '/seen' })
    expect(await baseIn(await ask('/requests/x', { on }))).toEqual(['/seen/', '/seen/'])
    expect(await baseIn(await ask('/seen/requests/x', { on }))).toEqual(['/seen/', '/seen/'])
  })

  test('D-61 a prefix that leads to another server is not believed', async () => {
    for (const prefix of ['//evil.example', 'https://evil.example', '/a"><script>', '/a b']) {
      const response = await ask('/', { base: '', headers: { 'x-forwarded-prefix': prefix } })
      expect(await baseIn(response)).toEqual(['./', '/'])
    }
  })

  test('D-62 the page says where it is taken to be, before any script', async () => {
    const html = await (await ask('/a/b/', { base: '/a/b' })).text()
    expect(html).toContain('takes the dashboard to be at <code>/a/b/</code>')
    expect(html).toContain('<code>basePath</code>')
  })
})

describe('the API', () => {
  it('names what is wrong with a question', async () => {
    const messageOf = async (path: string) => {
      const response = await ask(`/api/${path}`)
      expect(response.status).toBe(400)
      return (await response.json()).error.message
    }
    expect(await messageOf('requests?state=lost')).toMatch(
      /^state can not be "lost": it is one of running/,
    )
    expect(await messageOf('requests?limit=0')).toBe(
      'limit must be a whole number from 1 to 200, not 0.',
    )
    expect(await messageOf('requests?status=abc')).toContain('status must be')
    expect(await messageOf('overview?window=1')).toContain('window must be')
    expect(await messageOf('jobs?state=lost')).toContain('waiting, later, set_aside')
    expect(await messageOf('duplicates?result=lost')).toContain('mismatch')
    expect(await messageOf('letters?settled=perhaps')).toContain('true, false')
  })

  it('says 404 to what is not there', async () => {
    for (const path of ['nothing', 'requests/none', 'letters/9', 'batches/9', 'requests/%ff']) {
      expect((await ask(`/api/${path}`)).status).toBe(404)
    }
  })

  it('D-12 e says that the store is down, why, without its password, and when to ask again', async () => {
    const response = await ask('/api/overview', { on: open(memoryAdmin('error')) })
    const { error } = await response.json()
    expect([response.status, response.headers.get('retry-after')]).toEqual([503, '5'])
    expect(error).toEqual({
      code: 'store_unavailable',
      message: 'The store did not answer: connect ECONNREFUSED postgres://***@127.0.0.1:5432/app',
      retryAfterMs: 5000,
    })
  })

  it('D-12 d says that a question took too long', async () => {
    const response = await ask('/api/requests', { on: open(memoryAdmin('slow')) })
    expect(response.status).toBe(504)
    expect((await response.json()).error.code).toBe('timed_out')
  })

  it('D-66 sends no payload with letters', async () => {
    const { items } = await (await ask('/api/letters')).json()
    expect(items.length).toBeGreaterThan(0)
    for (const letter of items) expect(Object.keys(letter)).not.toContain('input')
    const one = await (await ask(`/api/letters/${items[0].letter}`)).json()
    expect(Object.keys(one)).not.toContain('state')
  })

  it('D-20 finds the requests of a whole key at once', async () => {
    const admin = memoryAdmin()
    const { key = '', id } = admin.requests[5] ?? {}
    const found = await (await ask(`/api/keys?key=${key}`, { on: open(admin) })).json()
    expect(found.map((one: { id: string }) => one.id)).toEqual([id])
    expect(admin.calls).toEqual({ findByKey: 1 })
  })

  it('D-68 says whether it lives and whether its store answers, to whoever watches', async () => {
    const admin = memoryAdmin()
    const on = createDashboard({ admin, authorize: () => null })
    expect((await ask('/health/live', { on })).status).toBe(200)
    expect((await ask('/health/ready', { on })).status).toBe(200)
    expect((await ask('/health/else', { on })).status).toBe(404)
    const down = createDashboard({ admin: memoryAdmin('error'), authorize: () => null })
    expect((await ask('/health/live', { on: down })).status).toBe(200)
    const response = await ask('/health/ready', { on: down })
    expect(response.status).toBe(503)
    expect(await response.text()).not.toContain('hunter22')
  })
})
