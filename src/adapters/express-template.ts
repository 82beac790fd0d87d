/**
 * Templates of the paths that routers of Express 4 and 5 are mounted at. Express tells a handler the path
 * with the values of its parameters in it (`/t/42`), which would make an operation of each value. The
 * template (`/t/:tenant`) is only known to the layers of the routers.
 *
 * Nothing here is a documented interface of Express. Wherever the layers are not as they are known, the
 * path counts as it is.
 *
 * @module
 */

/** What of a request leads to its layers. */
export interface MountedRequest {
  readonly originalUrl: string
  /** The path that the router is mounted at, from version 4 on. */
  readonly baseUrl?: string
  readonly route?: object
  readonly app?: unknown
}

/** A mount of a router in another, or in an app. */
interface Layer {
  readonly handle?: unknown
  readonly route?: unknown
  /** Express 4. */
  readonly regexp?: unknown
  readonly keys?: unknown
  /** Express 5. */
  readonly matchers?: unknown
}

/** The mounts that lead to a route, the outermost first. */
type Chain = readonly Layer[]

/** What a mount takes of a path, and the template of that. */
interface Taken {
  readonly path: string
  readonly template: string
}

/** The template of the path that the router of a request is mounted at; the path where it is not known. */
export function mountTemplate(request: MountedRequest): string {
  const { originalUrl, baseUrl = '', route, app } = request
  if (baseUrl === '' || route === undefined) return baseUrl
  const [path = ''] = originalUrl.split('?', 1)
  try {
    for (const chain of chainsTo(route, app)) {
      const template = templateAlong(chain, path, baseUrl)
      if (template !== undefined) return template
    }
  } catch {
    // A layer that is not as it is known.
  }
  return baseUrl
}

/** The chains to each route. Whatever is mounted later than the first request is not found. */
const known = new WeakMap<object, readonly Chain[]>()

function chainsTo(route: object, app: unknown): readonly Chain[] {
  const found = known.get(route) ?? [...chainsIn(appsAround(app), route)]
  known.set(route, found)
  return found
}

/** The app of a request and those that it is mounted in, the outermost first. */
function appsAround(app: unknown): readonly unknown[] {
  const parent = memberOf(app, 'parent')
  return parent === undefined ? [app] : [...appsAround(parent), app]
}

function* chainsIn([app, ...inner]: readonly unknown[], route: object): Iterable<Chain> {
  for (const chain of walk(stackOf(app), (layer) => isEnd(layer, route, inner.length > 0))) {
    const last = chain.at(-1)
    // An app that is mounted in an app is hidden behind a function: any may lead to it.
    if (inner.length > 0) for (const rest of chainsIn(inner, route)) yield [...chain, ...rest]
    else if (last !== undefined) yield chain.slice(0, -1)
  }
}

function isEnd({ route, handle }: Layer, searched: object, isAppSearched: boolean): boolean {
  return isAppSearched ? memberOf(handle, 'name') === 'mounted_app' : route === searched
}

/** The ways through a router and those in it to the layers that are searched for. */
function* walk(stack: readonly Layer[], isSearched: (layer: Layer) => boolean): Iterable<Chain> {
  for (const layer of stack) {
    if (isSearched(layer)) yield [layer]
    for (const rest of walk(stackOf(layer.handle), isSearched)) yield [layer, ...rest]
  }
}

/** The layers of a router or an app. */
function stackOf(owner: unknown): readonly Layer[] {
  const own = memberOf(owner, 'stack')
  // In Express 4 an app throws when it is asked for its `router`.
  const router = own ?? memberOf(owner, '_router') ?? memberOf(owner, 'router')
  const stack = own ?? memberOf(router, 'stack')
  // Whatever is in it, its members can be asked for.
  return Array.isArray(stack) ? (stack as readonly Layer[]) : []
}

function templateAlong(chain: Chain, path: string, baseUrl: string): string | undefined {
  let rest = path
  let taken = ''
  let template = ''
  for (const layer of chain) {
    const part = take(layer, rest)
    if (part === undefined) return undefined
    rest = rest.slice(part.path.length)
    if (!rest.startsWith('/')) rest = `/${rest}`
    taken += part.path.replace(/\/$/, '')
    template += part.template.replace(/\/$/, '')
  }
  return taken === baseUrl ? template : undefined
}

function take({ regexp, keys, matchers }: Layer, path: string): Taken | undefined {
  if (regexp instanceof RegExp) return takeByRegExp(regexp, keys, path)
  if (!Array.isArray(matchers)) return undefined
  for (const matcher of matchers.filter(isMatcher)) {
    const match = matcher(path)
    if (match) return takenBy(matcher, match)
  }
  return undefined
}

/** Express 4: the groups of an expression are the parameters. */
function takeByRegExp(regexp: RegExp, keys: unknown, path: string): Taken | undefined {
  if (Reflect.get(regexp, 'fast_slash') === true) return { path: '', template: '' }
  const match = new RegExp(regexp.source, `${regexp.flags.replace('d', '')}d`).exec(path)
  if (match === null) return undefined
  const [whole] = match
  let template = ''
  let end = 0
  for (const [at, span] of (match.indices ?? []).slice(1).entries()) {
    // A parameter that is left out has none.
    if (span === undefined || span[0] < end) continue
    const name = memberOf(memberOf(keys, at), 'name')
    template += `${whole.slice(end, span[0])}:${typeof name === 'string' ? name : at}`
    end = span[1]
  }
  return { path: whole, template: template + whole.slice(end) }
}

/** What a matcher of Express 5 finds in a path. */
interface Match {
  readonly path: string
  readonly params: Readonly<Record<string, unknown>>
}

type Matcher = (path: string) => Match | false

function isMatcher(value: unknown): value is Matcher {
  return typeof value === 'function'
}

/**
 * Express 5 tells the values and not where they are. So each place where a value could be gets another
 * one: where the matcher then finds that, is the parameter.
 */
function takenBy(matcher: Matcher, { path, params }: Match): Taken | undefined {
  let probe = path
  const names = Object.keys(params)
  for (const [at, name] of names.entries()) {
    const next = probed(matcher, probe, { name, value: params[name], marker: markerOf(at) })
    if (next === undefined) return undefined
    probe = next
  }
  const template = names.reduce((text, name, at) => text.replace(markerOf(at), `:${name}`), probe)
  return { path, template }
}

/** What no path has in it. */
function markerOf(at: number): string {
  return `reprise0parameter0${at}0`
}

/** The path with a marker in the place of a parameter. */
function probed(
  matcher: Matcher,
  path: string,
  { name, value, marker }: { name: string; value: unknown; marker: string },
): string | undefined {
  for (const raw of rawForms(path, value)) {
    for (let at = path.indexOf(raw); at >= 0; at = path.indexOf(raw, at + 1)) {
      const probe = path.slice(0, at) + marker + path.slice(at + raw.length)
      const match = matcher(probe)
      if (match && String(match.params[name]) === marker) return probe
    }
  }
  return undefined
}

/** How a value may be written in a path. Those of a wildcard are a list of segments. */
function rawForms(path: string, value: unknown): readonly string[] {
  const values = Array.isArray(value) ? value.map(String) : [String(value)]
  const text = values.join('/')
  const encoded = values.map((one) => encodeURIComponent(one)).join('/')
  const segments = path.split('/').filter((segment) => decodedText(segment) === text)
  return [...new Set([...segments, text, encoded])].filter((raw) => raw !== '')
}

function decodedText(segment: string): string {
  try {
    return decodeURIComponent(segment)
  } catch {
    return segment
  }
}

function memberOf(owner: unknown, name: string | number): unknown {
  const isOwner = (typeof owner === 'object' && owner !== null) || typeof owner === 'function'
  return isOwner ? Reflect.get(owner, name) : undefined
}
