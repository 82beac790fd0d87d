/**
 * The pages of the errors: one folder for each API, because each dialect has statuses of its own. The
 * `type` of a problem, the member `doc_url` and the header `Link` lead there.
 *
 * @module
 */

import type { IncomingMessage } from 'node:http'
import { ERRORS } from 'reprise'
import type { Dialect } from 'reprise/dialects'
import { errorPage } from 'reprise/published-policy'
import type { Pages, Reply } from './site/reply.ts'

/** An API whose errors have pages. */
export interface DescribedApi {
  readonly name: string
  readonly dialect: Dialect
}

/** Where the pages of an API are: its `docsUrl`. */
export function errorPagesUrl(url: string, api: string): string {
  return `${url}/errors/${api}/`
}

/** The codes that clients see. */
const CODES = Object.keys(ERRORS).filter((code) => code.startsWith('idempotency-'))

/** The pages of all APIs. */
export function errorPages(apis: readonly DescribedApi[]): Pages {
  const pages = apis.flatMap(({ name, dialect }) => {
    const folder = errorPagesUrl('', name)
    const page = (code?: string) => (request: IncomingMessage) =>
      replyOf(request, { code, dialect })
    return [
      [`GET ${folder.slice(0, -1)}`, page()] as const,
      [`GET ${folder}`, page()] as const,
      ...CODES.map((code) => [`GET ${folder}${code}`, page(code)] as const),
    ]
  })
  return Object.fromEntries(pages)
}

interface Asked {
  readonly code: string | undefined
  readonly dialect: Dialect
}

function replyOf({ headers: { accept } }: IncomingMessage, { code, dialect }: Asked): Reply {
  const home = { href: '/docs', text: 'API documentation' }
  const { status, headers, body } = errorPage(code, { accept, dialect, home })
  return { status, type: headers['Content-Type'] ?? 'text/html', headers, body }
}
