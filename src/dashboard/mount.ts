/**
 * Where the dashboard is: how the browser reaches it, and which of its places a request is for.
 *
 * Links of the page are relative wherever they can be, so that a prefix that a proxy takes away does
 * not matter.
 *
 * @module
 */

/** What a mount knows about a request. */
export interface MountPoint {
  /** Path that the dashboard is mounted at, as this server sees it, such as `/ops`. */
  readonly base?: string
  /** Network address of the client. */
  readonly ip?: string | null
}

/** Where a request is, within the dashboard. */
export interface Place {
  /** Path below the mount, without a slash at its beginning or end. */
  readonly path: string
  /** What leads from the request's URL to the mount: relative, or absolute where it is known. */
  readonly toBase: string
  /** The same, relative in any case: what is true whatever options and headers say. */
  readonly relativeBase: string
  /** Where the mount is, as far as this server can tell; for people. */
  readonly mountedAt: string
}

/** What is told about where the dashboard is. */
interface Told {
  /** Option: what the browser sees. */
  readonly basePath: string | undefined
  readonly mount: MountPoint
}

/** The first parts of every path below the mount, for mounts that do not say where they are. */
const PLACES =
  /\/((?:requests(?:\/[^/]+)?|stuck|person|conflicts|jobs|workers|audit|errors(?:\/[^/]+)?|assets\/[^/]+|api\/.*|health\/[^/]+)\/?)$/

/** Finds the place of a request. */
export function placeOf(request: Request, { basePath, mount }: Told): Place | undefined {
  const { pathname } = new URL(request.url)
  const forwarded = prefixOf(request.headers.get('x-forwarded-prefix'))
  const isWithinOption = basePath !== undefined && below(pathname, trimmed(basePath)) !== undefined
  const base =
    mount.base ?? (isWithinOption ? trimmed(basePath) : guessed(pathname, basePath === undefined))
  const rest = below(pathname, trimmed(base))
  if (rest === undefined) return undefined
  const absolute = basePath ?? (forwarded === undefined ? undefined : forwarded + trimmed(base))
  const path = rest.replace(/^\/+|\/+$/g, '')
  const relativeBase = relative(pathname, rest)
  return {
    ...{ path, relativeBase },
    toBase: absolute === undefined ? relativeBase : `${trimmed(absolute)}/`,
    mountedAt: `${trimmed(absolute ?? base)}/`,
  }
}

/** A prefix that a proxy took away; nothing that could lead to another server. */
function prefixOf(header: string | null): string | undefined {
  const first = header?.split(',')[0]?.trim() ?? ''
  return /^(\/[\w.~%-]+)+\/?$/.test(first) ? trimmed(first) : undefined
}

/** The mount, by what follows it: a path that ends in no known place is the mount itself. */
function guessed(pathname: string, mayGuess: boolean): string {
  const [, place] = PLACES.exec(pathname) ?? []
  if (place !== undefined) return pathname.slice(0, -place.length - 1)
  return mayGuess ? pathname : ''
}

function trimmed(path: string): string {
  return path.replace(/\/+$/, '')
}

/** What follows the base: empty, or with a slash at its beginning. */
function below(pathname: string, base: string): string | undefined {
  if (!pathname.startsWith(base)) return undefined
  const rest = pathname.slice(base.length)
  return rest === '' || rest.startsWith('/') ? rest : undefined
}

/** From a path up to the mount, as a browser resolves it. */
function relative(pathname: string, rest: string): string {
  // Without a slash at the end, the last part of the mount itself would be replaced.
  if (rest === '') return `./${pathname.slice(pathname.lastIndexOf('/') + 1)}/`
  const depth = rest.slice(1).split('/').length - 1
  return depth === 0 ? './' : '../'.repeat(depth)
}
