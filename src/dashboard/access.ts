/**
 * Who looks, what they may do, and whether a change comes from the page itself.
 *
 * @module
 */

import { createHash, timingSafeEqual } from 'node:crypto'
import type { Action, Authorize, BasicAuth, DashboardOptions, Viewer } from './options.ts'

const REALM = 'Basic realm="Reprise", charset="UTF-8"'

/** How the options say who looks. */
export interface Access {
  readonly authorize: Authorize
  /** What a browser is asked for when nobody is known; `null` for nothing. */
  readonly challenge: string | null
}

/** Makes one function of the three ways to say who looks. */
export function accessOf({ authorize, basicAuth }: DashboardOptions): Access {
  if (authorize !== undefined) return { authorize, challenge: null }
  if (basicAuth !== undefined) return { authorize: basic(basicAuth), challenge: REALM }
  if (process.env['NODE_ENV'] === 'production') {
    process.emitWarning(
      'The dashboard is open to everybody who reaches it (unsafeNoAuth). Give authorize or basicAuth.',
      { type: 'RepriseWarning', code: 'REPRISE_DASHBOARD_OPEN' },
    )
  }
  return { authorize: () => ({ user: 'anybody', can: 'all' }), challenge: null }
}

/** Whether they may do it. */
export function may({ can }: Viewer, action: Action): boolean {
  return can === 'all' || (can !== 'read' && can.includes(action))
}

/** Whether requests of a caller exist for them. */
export function sees({ scopes }: Viewer, caller: string): boolean {
  return scopes === undefined || scopes.includes(caller)
}

function basic({ username, password }: BasicAuth): Authorize {
  const expected = digest(`${username}:${password}`)
  return (request) => {
    const [, encoded] =
      /^Basic ([\w+/=-]+)$/i.exec(request.headers.get('authorization') ?? '') ?? []
    if (encoded === undefined) return null
    const given = digest(Buffer.from(encoded, 'base64').toString('utf8'))
    return timingSafeEqual(given, expected) ? { user: username, can: 'all' } : null
  }
}

/** Of equal length whatever was given, so that the comparison tells nothing. */
function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest()
}

/**
 * Why a change is not believed to come from the page; `undefined` if it is. Browsers say where a
 * request comes from: `Sec-Fetch-Site` on HTTPS and on this machine, else at least `Origin`.
 */
export function forgeryIn(
  request: Request,
  { origins = [] }: Pick<DashboardOptions, 'origins'>,
): string | undefined {
  const { headers } = request
  const site = headers.get('sec-fetch-site')
  const origin = headers.get('origin')
  if (site !== null && site !== 'same-origin') {
    return `Sec-Fetch-Site is ${site}, and only same-origin is taken: the request does not come from this page.`
  }
  if (site === null) {
    if (origin === null) {
      return 'There is neither Sec-Fetch-Site nor Origin: send the Origin of this server.'
    }
    // Not X-Forwarded-Host: a page of another site may send it where an app allows every header.
    const host = headers.get('host') ?? new URL(request.url).host
    if (hostOf(origin) !== host && !origins.includes(origin)) {
      return `Origin is ${origin}, and the host is ${host}: a proxy has to pass on Host, or the option origins has to name the Origin.`
    }
  }
  const type = headers.get('content-type')?.split(';')[0]?.trim().toLowerCase()
  if (type === 'application/json') return undefined
  return `Content-Type is ${type ?? 'missing'}, and only application/json is taken.`
}

function hostOf(origin: string): string {
  return URL.canParse(origin) ? new URL(origin).host : origin
}
