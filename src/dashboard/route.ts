/**
 * The shape of a route of the API, and how it is found.
 *
 * @module
 */

import type { Admin, Order } from '../admin/admin.ts'
import type { Action, DashboardOptions, Viewer } from './options.ts'
import type { ReadCache } from './read-cache.ts'

/** What a route answers with. */
export interface Result {
  readonly status: number
  readonly body: unknown
}

/** What a route is given. */
export interface Asked {
  readonly admin: Admin
  readonly options: DashboardOptions
  readonly viewer: Viewer
  readonly cache: ReadCache
  /** Of the path, by name; decoded. */
  readonly params: Readonly<Record<string, string>>
  readonly query: URLSearchParams
}

/** What a route that changes something is given. */
export interface Ordered extends Asked {
  readonly body: Readonly<Record<string, unknown>>
  /** Who orders it and under which key; the reason is checked by the route. */
  order(reason: string): Order
}

interface RouteParts {
  /** Below `api/`; parts that begin with a colon are parameters. */
  readonly path: string
  /** Whether a person whose callers are limited is refused: it is about all of them. */
  readonly isForAll?: boolean
}

/** Reads. */
export interface ReadRoute extends RouteParts {
  readonly method: 'GET'
  answer(asked: Asked): Promise<Result>
}

/** Changes something, or is audited. */
export interface OrderRoute extends RouteParts {
  readonly method: 'POST'
  /** What a person has to be allowed; a function where the request decides it. */
  readonly needs: Action | ((params: Asked['params'], body: Ordered['body']) => Action)
  /** Whether it works where nothing can be changed: it changes nothing but the audit. */
  readonly isReading?: boolean
  answer(ordered: Ordered): Promise<Result>
}

/** A route of the API. */
export type Route = ReadRoute | OrderRoute

/** A route that fits a path. */
export interface Found<R> {
  readonly route: R
  readonly params: Readonly<Record<string, string>>
}

/** The routes that fit a path, of whichever method. */
export function routesFor<R extends Route>(routes: readonly R[], path: string): Found<R>[] {
  const parts = path.split('/')
  return routes.flatMap((route) => {
    const params = paramsOf(route.path.split('/'), parts)
    return params === undefined ? [] : [{ route, params }]
  })
}

function paramsOf(
  pattern: readonly string[],
  parts: readonly string[],
): Record<string, string> | undefined {
  if (pattern.length !== parts.length) return undefined
  const params: Record<string, string> = {}
  for (const [index, name] of pattern.entries()) {
    const part = parts[index] ?? ''
    if (!name.startsWith(':')) {
      if (name !== part) return undefined
      continue
    }
    const value = decoded(part)
    if (value === undefined || value === '') return undefined
    params[name.slice(1)] = value
  }
  return params
}

function decoded(part: string): string | undefined {
  try {
    return decodeURIComponent(part)
  } catch {
    return undefined
  }
}
