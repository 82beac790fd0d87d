/**
 * Adds the fragments of routes to a whole document.
 *
 * @module
 */

import { isDeepStrictEqual } from 'node:util'
import { said } from '../core/known-options.ts'
import { invalid } from '../core/options.ts'
import { closest } from '../core/suggest.ts'
import type { OpenApiFragment } from './openapi.ts'
import { describeOperation } from './openapi-operation.ts'

/** What of a document is read; the rest is left as it is. */
export interface OpenApiDocument {
  readonly paths?: object
  readonly components?: object
}

/**
 * The document with the protection of its routes: their operations as `describeOperation` gives them,
 * and the schemas of the fragments beside the document's own. Everything else stays, and `document`
 * itself is not changed.
 *
 * @param fragments - by method and path as the document has it, such as `POST /charges`
 *
 * @example
 * ```ts
 * const published = mergeOpenApi(document, { 'POST /charges': openApiFragment(options) })
 * ```
 * @throws RepriseError `reprise-options-invalid` where the document has no such operation, or has
 * another schema under the name of one of a fragment
 */
export function mergeOpenApi<Document extends OpenApiDocument>(
  document: Document,
  fragments: Readonly<Record<string, OpenApiFragment>>,
): Document {
  const paths = membersOf(document.paths)
  const components = membersOf(document.components)
  const schemas = membersOf(components['schemas'])
  for (const [route, fragment] of Object.entries(fragments)) {
    const { path, method, operation } = operationOf(paths, route)
    const described = describeOperation(membersOf(operation), fragment)
    paths[path] = { ...membersOf(paths[path]), [method]: described }
    for (const [name, schema] of Object.entries(fragment.components.schemas)) {
      if (name in schemas && !isDeepStrictEqual(schemas[name], schema)) {
        throw invalid(`the document has another schema ${name}: give yours another name`)
      }
      schemas[name] = schema
    }
  }
  return { ...document, paths, components: { ...components, schemas } }
}

function operationOf(paths: Readonly<Record<string, unknown>>, route: string) {
  const [verb = '', path = ''] = route.split(' ')
  const method = verb.toLowerCase()
  const operation = membersOf(paths[path])[method]
  if (operation !== undefined) return { path, method, operation }
  const known = Object.entries(paths).flatMap(([path, item]) =>
    Object.keys(membersOf(item)).map((name) => `${name.toUpperCase()} ${path}`),
  )
  const meant = closest(route, known)
  const hint = meant === undefined ? '' : `: did you mean \`${meant}\`?`
  throw invalid(`the document has no operation \`${route}\`${hint}`)
}

/** A copy of an object's members; none of nothing. */
function membersOf(value: unknown): Record<string, unknown> {
  if (value === undefined) return {}
  if (typeof value === 'object' && value !== null) return { ...value }
  throw invalid(`mergeOpenApi() takes a document of objects, and found ${said(value)} in it`)
}
