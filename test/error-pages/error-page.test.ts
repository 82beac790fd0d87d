/**
 * The pages of the errors: what they say, in which format, and that links to them lead there.
 *
 * @module
 */

import { createHash } from 'node:crypto'
import express from 'express'
import { afterAll, beforeAll, describe, expect, it, test } from 'vitest'
import { idempotent } from '../../src/adapters/express.ts'
import { errorPage, publishedPolicy } from '../../src/adapters/published-policy.ts'
import { tasks } from '../../src/core/dialects/index.ts'
import { CLIENT_ERROR_CODES, ERROR_CODES } from '../../src/core/error-code.ts'
import { ERRORS } from '../../src/core/error-table.ts'
import { problemTypeOf } from '../../src/core/errors.ts'
import { createReprise } from '../../src/engine/reprise.ts'
import { STYLE, STYLE_SOURCE } from '../../src/error-pages/html.ts'
import { memoryStore } from '../../src/stores/memory/index.ts'
import { type Listening, listen } from '../adapters/listen.ts'

const caller = () => 'anybody'

let server: Listening
let origin: string

beforeAll(async () => {
  const app = express()
  app.get(['/errors', '/errors/:code'], (req, res) => {
    const { code } = req.params
    const page = errorPage(typeof code === 'string' ? code : undefined, {
      accept: req.get('Accept'),
    })
    res.status(page.status).set(page.headers).send(page.body)
  })
  const reprise = createReprise({ store: memoryStore() })
  app.post('/charges', (req, res, next) => {
    const docsUrl = `${origin}/errors/`
    return idempotent(reprise, { caller, required: true, docsUrl })(req, res, next)
  })
  server = await listen(app)
  origin = `http://127.0.0.1:${server.port}`
})
afterAll(() => server?.close())

/** Every address that a page links to. */
function linksOf(html: string, url: string): readonly URL[] {
  return [...html.matchAll(/href="([^"]*)"/g)]
    .map(([, href = '']) => new URL(href, url))
    .filter(({ protocol }) => protocol !== 'data:')
}

describe('the type of a problem', () => {
  for (const code of CLIENT_ERROR_CODES) {
    it(`leads to the page of ${code}, and from there to all others`, async () => {
      const response = await fetch(problemTypeOf(code, `${origin}/errors/`))
      const html = await response.text()
      expect(response.status).toBe(200)
      expect(response.headers.get('content-type')).toBe('text/html; charset=utf-8')
      const { status, title, hint } = ERRORS[code]
      const text = html.replaceAll('&quot;', '"').replaceAll('&amp;', '&')
      for (const part of [code, `HTTP status ${status}`, title, hint]) expect(text).toContain(part)
      const links = linksOf(html, response.url)
      expect(links.map(({ pathname }) => pathname)).toEqual(
        CLIENT_ERROR_CODES.map((other) => `/errors/${other}`),
      )
      for (const link of links) expect(link.origin).toBe(origin)
    })

    it(`leads to the section of ${code} where all of them are on one page`, async () => {
      const type = problemTypeOf(code, `${origin}/errors`)
      const html = await (await fetch(type)).text()
      expect(html).toContain(`<section id="${new URL(type).hash.slice(1)}">`)
    })
  }

  it('leads to its page when a request is really refused', async () => {
    const refused = await fetch(`${origin}/charges`, { method: 'POST' })
    const { type, title } = Object(await refused.json())
    expect(refused.headers.get('link')).toContain(`<${type}>; rel="describedby"`)
    expect(await (await fetch(type)).text()).toContain(`<h1>${title}</h1>`)
  })

  it('is what the published policy says', () => {
    const docsUrl = 'https://api.example/errors/'
    for (const { code, type, docs } of publishedPolicy({ caller, docsUrl }).errors) {
      expect([type, docs]).toEqual([docsUrl + code, docsUrl + code])
    }
    for (const { code, type, docs } of publishedPolicy({ caller }).errors) {
      expect([type, docs]).toEqual([`urn:reprise:error:${code}`, null])
    }
  })
})

describe('the format', () => {
  const HTML = 'text/html; charset=utf-8'
  const MARKDOWN = 'text/markdown; charset=utf-8'

  test.each([
    [undefined, HTML],
    ['', HTML],
    ['*/*', HTML],
    ['text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8', HTML],
    ['application/json', 'application/json'],
    ['application/json, text/html;q=0.5', 'application/json'],
    ['text/html;q=0.5, APPLICATION/JSON;Q=0.9', 'application/json'],
    ['application/*', 'application/json'],
    ['text/markdown', MARKDOWN],
    ['text/markdown, text/html;q=0.1', MARKDOWN],
    ['text/*', HTML],
    ['image/png', HTML],
    ['application/json;q=0', HTML],
    ['nonsense;;;,', HTML],
  ])('that Accept: %s gets is %s', (accept, type) => {
    const { status, headers } = errorPage('idempotency-key-reused', { accept })
    expect([status, headers['Content-Type'], headers['Vary']]).toEqual([200, type, 'Accept'])
  })

  it('is JSON with the members of the table', () => {
    const { body } = errorPage('idempotency-key-reused', { accept: 'application/json' })
    const { client, happened, ...entry } = JSON.parse(body)
    expect(entry).toEqual(ERRORS['idempotency-key-reused'])
    expect([client, happened]).toEqual([expect.any(String), expect.any(String)])
    const all = JSON.parse(errorPage(undefined, { accept: 'application/json' }).body)
    expect(all.errors.map(({ code }: { code: string }) => code)).toEqual(CLIENT_ERROR_CODES)
  })

  it('is Markdown with a section for each code', () => {
    const { body } = errorPage(undefined, { accept: 'text/markdown' })
    expect([...body.matchAll(/^## (.*)$/gm)].map(([, code]) => code)).toEqual(CLIENT_ERROR_CODES)
    expect(errorPage('idempotency-in-progress', { accept: 'text/markdown' }).body).toMatch(
      /^# idempotency-in-progress\n\nStatus 409 · retryable · /,
    )
  })
})

describe('a page', () => {
  it('has the statuses of the dialect', () => {
    const accept = 'application/json'
    const { status } = JSON.parse(
      errorPage('idempotency-key-reused', { accept, dialect: tasks }).body,
    )
    expect(status).toBe(409)
  })

  it('tells clients nothing of what the server throws, and everyone all of it', () => {
    const codesFor = (audience: 'clients' | 'everyone') => {
      const { body } = errorPage(undefined, { audience, accept: 'application/json' })
      return JSON.parse(body).errors.map(({ code }: { code: string }) => code)
    }
    expect(codesFor('clients')).toEqual(CLIENT_ERROR_CODES)
    expect(codesFor('everyone')).toEqual(ERROR_CODES)
    const forClients = errorPage('idempotency-key-reused').body
    expect(forClients).not.toMatch(/developers|operators/)
    expect(errorPage('reprise-lease-lost').status).toBe(404)
    expect(errorPage('reprise-lease-lost', { audience: 'everyone' }).body).toContain(
      'For operators of the server',
    )
  })

  test.each(['text/html', 'application/json', 'text/markdown'])(
    'that there is none of is 404, with nothing of the request in it as HTML: %s',
    (accept) => {
      const { status, body } = errorPage('<img src=x onerror=alert(1)>', { accept })
      expect(status).toBe(404)
      if (accept === 'text/html') expect(body).not.toContain('<img')
    },
  )

  it('loads nothing, runs nothing, and has its own style allowed by its content', () => {
    expect(STYLE_SOURCE).toBe(`sha256-${createHash('sha256').update(STYLE).digest('base64')}`)
    for (const code of [undefined, ...ERROR_CODES, 'none']) {
      const { headers, body } = errorPage(code, { audience: 'everyone' })
      expect(headers['Content-Security-Policy']).toBe(
        `default-src 'none'; style-src '${STYLE_SOURCE}'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`,
      )
      expect(body).toContain(`<style>${STYLE}</style>`)
      expect(body).not.toMatch(/<script|\sstyle=|\son\w+=|https?:|src=/)
    }
  })

  it('has one heading of the first rank, a language and a title', () => {
    for (const code of [undefined, ...ERROR_CODES, 'none']) {
      const { body } = errorPage(code, { audience: 'everyone' })
      expect(body.match(/<h1>/g)).toHaveLength(1)
      expect(body).toMatch(/<html lang="en">[^]*<title>\S/)
    }
  })
})
