/**
 * Answers of the server's own pages.
 *
 * @module
 */

import type { IncomingMessage, ServerResponse } from 'node:http'

/** An answer. */
export interface Reply {
  readonly status: number
  readonly type: string
  readonly body: string
  /** What it says besides, or instead of what every page says. */
  readonly headers?: Readonly<Record<string, string>>
}

/** Answers one method of one path. */
export type Page = (request: IncomingMessage) => Reply | Promise<Reply>

/** Pages by `METHOD /path`. */
export type Pages = Readonly<Record<string, Page>>

/** Nothing of a page comes from elsewhere, and nobody may frame it. */
const POLICY =
  "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; img-src 'self' data:; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"

/** JSON. */
export function json(body: unknown, status = 200): Reply {
  return { status, type: 'application/json; charset=utf-8', body: JSON.stringify(body) }
}

/** Plain text, or what `type` says. */
export function plain(body: string, type = 'text/plain; charset=utf-8'): Reply {
  return { status: 200, type, body }
}

/** A page for people. */
export function html(title: string, body: string): Reply {
  const page = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${escape(title)}</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="/style.css">
</head>
<body>
${body}
</body>
</html>
`
  return { status: 200, type: 'text/html; charset=utf-8', body: page }
}

/** Text as HTML. */
export function escape(text: string): string {
  return text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;')
}

/** Sends an answer. */
export function send(response: ServerResponse, { status, type, body, headers }: Reply): void {
  response.writeHead(status, {
    'Content-Type': type,
    'Content-Length': Buffer.byteLength(body),
    'Cache-Control': 'no-store',
    'Content-Security-Policy': POLICY,
    'X-Content-Type-Options': 'nosniff',
    'Referrer-Policy': 'no-referrer',
    ...headers,
  })
  response.end(body)
}

/** Answers with the page of the request, if there is one; `false` if there is none. */
export async function answerPage(
  pages: Pages,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<boolean> {
  const { pathname } = new URL(request.url ?? '/', 'http://server')
  // Node leaves the body of an answer to HEAD out by itself.
  const method = request.method === 'HEAD' ? 'GET' : request.method
  const page = pages[`${method} ${pathname}`]
  if (page !== undefined) {
    send(response, await page(request))
    return true
  }
  const allowed = Object.keys(pages).filter((name) => name.endsWith(` ${pathname}`))
  if (allowed.length === 0) return false
  response.setHeader('Allow', allowed.map((name) => name.split(' ')[0]).join(', '))
  send(response, problem(405, 'method_not_allowed', `${request.method} is not possible here.`))
  return true
}

/** An error of the server itself, not of one of its APIs. */
export function problem(status: number, code: string, message: string): Reply {
  return json({ error: { code, message } }, status)
}
