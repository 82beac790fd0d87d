/**
 * The dashboard as one function from request to response.
 *
 * @module
 */

import { systemClock } from '../engine/clock.ts'
import { closeWith } from '../engine/closing.ts'
import { errorPage } from '../error-pages/error-page.ts'
import { type Access, accessOf } from './access.ts'
import { answerApi } from './api.ts'
import { assetOf } from './assets.ts'
import { type MountPoint, type Place, placeOf } from './mount.ts'
import { checkOptions, type DashboardOptions, type Viewer } from './options.ts'
import { PulseStream } from './pulse-stream.ts'
import { ReadCache } from './read-cache.ts'
import { pulseOf } from './reads.ts'
import { guarded, json, type Refusal, refusalOf, refuse } from './reply.ts'
import { plainPage, shell } from './shell.ts'

/** Answers requests for the dashboard; mounts also say where it is mounted. */
export type Dashboard = (request: Request, mount?: MountPoint) => Promise<Response>

/** The paths of pages. */
const PAGES = /^(|requests(\/[^/]+)?|stuck|person|conflicts|jobs|workers|audit)$/
/** The pages of the errors. */
const ERROR_PAGES = /^errors(\/[^/]+)?$/
const REFRESH_MS = 2000

/**
 * Makes a dashboard. It can be mounted wherever requests are answered, at any path.
 *
 * @example
 * ```ts
 * const dashboard = createDashboard({
 *   admin,
 *   authorize: async (request) => {
 *     const user = await sessionOf(request)
 *     return user?.isStaff ? { user: user.email, can: 'all' } : null
 *   },
 * })
 * ```
 * @throws RepriseError `reprise-options-invalid` without `authorize`, `basicAuth` or `unsafeNoAuth`
 */
export function createDashboard(options: DashboardOptions): Dashboard {
  checkOptions(options)
  const { admin, clock = systemClock, refreshMs = REFRESH_MS } = options
  const cache = new ReadCache(clock, refreshMs)
  const read = (viewer: Viewer) => pulseOf({ admin, cache, viewer })
  const parts: Parts = {
    ...{ options, access: accessOf(options), cache },
    pulse: new PulseStream({ clock, refreshMs, read }),
  }
  closeWith(admin, async () => parts.pulse.close())
  return (request, mount = {}) => answer(parts, request, mount)
}

interface Parts {
  readonly options: DashboardOptions
  readonly access: Access
  readonly cache: ReadCache
  readonly pulse: PulseStream
}

async function answer(parts: Parts, request: Request, mount: MountPoint): Promise<Response> {
  const place = placeOf(request, { basePath: parts.options.basePath, mount })
  if (place === undefined) return notFound(request)
  const { path } = place
  const isReading = request.method === 'GET' || request.method === 'HEAD'
  // Nothing secret is in these, and whoever watches over the server has no name here.
  if (path.startsWith('assets/') && isReading) return assetOf(path.slice('assets/'.length), request)
  if (path.startsWith('health/') && isReading) return health(parts, path, request)

  const viewer = await viewerOf(parts.access, request)
  if ('status' in viewer) return denied(request, viewer, parts.access.challenge)
  if (path === 'api/events' && isReading) {
    const ask = async () => {
      const now = await viewerOf(parts.access, request)
      return 'status' in now ? undefined : now
    }
    return parts.pulse.open(viewer, { ask, signal: request.signal })
  }
  if (path.startsWith('api/')) {
    return answerApi(parts, { request, mount, viewer, path: path.slice('api/'.length) })
  }
  const isOfErrors = ERROR_PAGES.test(path)
  if (!isOfErrors && !PAGES.test(path)) return notFound(request)
  if (!isReading) return refuse({ status: 405, code: 'method', message: 'Pages are only read.' })
  return isOfErrors ? pageOfErrors(place, request) : page(parts.options, place, request)
}

/** The page of an error, without a script: it can be read when the rest of the dashboard can not. */
function pageOfErrors({ path, toBase }: Place, { method, headers: asked }: Request): Response {
  const [, code] = path.split('/')
  const { status, headers, body } = errorPage(code, {
    ...{ accept: asked.get('accept'), audience: 'everyone', base: `${toBase}errors/` },
    home: { href: toBase, text: 'Dashboard' },
  })
  return new Response(method === 'HEAD' ? null : body, { status, headers: guarded(headers) })
}

function page(options: DashboardOptions, place: Place, request: Request): Response {
  const { label, labelColor = 'grey' } = options
  const response = shell({ place, label, labelColor })
  return request.method === 'HEAD' ? new Response(null, response) : response
}

/** Who looks; a failure to find out lets nobody in. */
async function viewerOf({ authorize }: Access, request: Request): Promise<Viewer | Refusal> {
  try {
    const viewer = await authorize(request)
    if (viewer !== null && viewer !== undefined) return checked(viewer)
  } catch (error) {
    const { message } = refusalOf(error)
    process.emitWarning(`authorize of the dashboard failed: ${message}`, 'RepriseWarning')
    return { status: 503, code: 'authorize_failed', message: 'It can not be told who you are now.' }
  }
  return { status: 401, code: 'unauthorized', message: 'Sign in to see the dashboard.' }
}

/** What is not understood lets nobody in. */
function checked(viewer: Viewer): Viewer | Refusal {
  const { user, can, scopes } = viewer
  const isKnown = can === 'all' || can === 'read' || Array.isArray(can)
  const isScoped = scopes === undefined || Array.isArray(scopes)
  if (typeof user === 'string' && user !== '' && isKnown && isScoped) return viewer
  return { status: 403, code: 'forbidden', message: 'You may not see the dashboard.' }
}

function denied(request: Request, refusal: Refusal, challenge: string | null): Response {
  const title = refusal.status === 401 ? 'Sign in' : 'Not allowed'
  const response = wantsPage(request)
    ? plainPage(refusal.status, title, refusal.message)
    : refuse(refusal)
  if (refusal.status === 401 && challenge !== null) {
    response.headers.set('WWW-Authenticate', challenge)
  }
  return response
}

function notFound(request: Request): Response {
  const message = 'The dashboard has no such page.'
  if (wantsPage(request)) return plainPage(404, 'Not found', message)
  return refuse({ status: 404, code: 'not_found', message })
}

function wantsPage({ headers }: Request): boolean {
  return headers.get('accept')?.includes('text/html') ?? false
}

/** Whether the process lives, and whether its store answers. */
async function health(
  { options, cache }: Parts,
  path: string,
  request: Request,
): Promise<Response> {
  if (path === 'health/live') return json({ status: 'ok' })
  if (path !== 'health/ready') return notFound(request)
  try {
    await cache.get('workers', () => options.admin.workers())
    return json({ status: 'ok', store: 'ok' })
  } catch (error) {
    const { message } = refusalOf(error)
    return json({ status: 'unavailable', store: message }, 503)
  }
}
