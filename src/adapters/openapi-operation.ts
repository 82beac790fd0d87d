/**
 * Adds the fragment of a route to the description of its operation.
 *
 * @module
 */

import type { OpenApiFragment, OpenApiMediaType, OpenApiResponse } from './openapi.ts'

/** What of an operation is read; the rest is left as it is. */
export interface OpenApiOperation {
  readonly parameters?: readonly unknown[]
  readonly responses?: Readonly<Record<string, unknown>>
}

/**
 * The operation with the parameters, responses and headers of the fragment. Where both have a
 * response with the same status, either body is possible. A response that is a reference stays one.
 *
 * @example
 * ```ts
 * document.paths['/charges'].post = describeOperation(createCharge, fragment)
 * ```
 */
export function describeOperation<Operation extends OpenApiOperation>(
  operation: Operation,
  fragment: OpenApiFragment,
): Operation {
  const responses: Record<string, unknown> = {}
  for (const [status, response] of Object.entries(operation.responses ?? {})) {
    responses[status] = isResponse(response) ? marked(response, fragment) : response
  }
  for (const [status, refusal] of Object.entries(fragment.responses)) {
    const own = responses[status]
    if (own === undefined) responses[status] = refusal
    else if (isResponse(own)) responses[status] = either(own, refusal)
  }
  const parameters = [...(operation.parameters ?? []), ...fragment.parameters]
  return { ...operation, parameters, responses }
}

/** References have none. */
function isResponse(response: unknown): response is OpenApiResponse {
  return typeof response === 'object' && response !== null && 'description' in response
}

function marked(response: OpenApiResponse, { headers }: OpenApiFragment): OpenApiResponse {
  return { ...response, headers: { ...headers, ...response.headers } }
}

function either(own: OpenApiResponse, refusal: OpenApiResponse): OpenApiResponse {
  const content: Record<string, OpenApiMediaType> = { ...own.content }
  for (const [type, body] of Object.entries(refusal.content ?? {})) {
    const other = content[type]
    content[type] = other === undefined ? body : eitherBody(other, body)
  }
  return {
    description: `${own.description} · ${refusal.description}`,
    headers: { ...refusal.headers, ...own.headers },
    content,
  }
}

function eitherBody(own: OpenApiMediaType, other: OpenApiMediaType): OpenApiMediaType {
  const examples = { ...other.examples, ...own.examples }
  return { ...own, schema: { anyOf: [own.schema ?? {}, other.schema] }, examples }
}
