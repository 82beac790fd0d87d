/**
 * An OpenAPI 3.1 fragment, made from the very options that the route runs with.
 *
 * @module
 */

import type { Dialect } from '../core/dialects/dialect.ts'
import { refuse } from '../core/dialects/refuse.ts'
import { ERRORS, type ErrorCode } from '../core/error-table.ts'
import { isClientErrorCode } from '../core/errors.ts'
import { type KeyOptions, parseKey } from '../core/key.ts'
import type { RunOptions } from '../core/options.ts'
import type { Occurrence } from '../core/problem.ts'
import { inferSchema, type JsonSchema } from './json-schema.ts'
import { answerHeaders, type OpenApiHeaders, refusalHeaders } from './openapi-headers.ts'
import { type HttpOptions, resolveRules } from './options.ts'
import { type PublishedError, type PublishedKey, publishedPolicy } from './policy.ts'

export type { JsonSchema } from './json-schema.ts'
export { mergeOpenApi, type OpenApiDocument } from './openapi-document.ts'
export type { OpenApiHeader, OpenApiHeaders } from './openapi-headers.ts'
export { describeOperation, type OpenApiOperation } from './openapi-operation.ts'

/** A parameter of an operation. */
export interface OpenApiParameter {
  readonly name: string
  readonly in: 'header' | 'query'
  readonly required: boolean
  readonly description: string
  readonly schema: JsonSchema
  readonly example?: string
}

/** A body of a response, under its media type. */
export interface OpenApiMediaType {
  readonly schema?: unknown
  readonly examples?: Readonly<Record<string, unknown>>
}

/** A response of an operation. */
export interface OpenApiResponse {
  readonly description: string
  readonly headers?: OpenApiHeaders
  readonly content?: Readonly<Record<string, OpenApiMediaType>>
}

/** What the protection of a route adds to the description of its operation. */
export interface OpenApiFragment {
  readonly parameters: readonly OpenApiParameter[]
  /** Refusals, by status. */
  readonly responses: Readonly<Record<string, OpenApiResponse>>
  /** Headers that are added to the operation's own responses. */
  readonly headers: OpenApiHeaders
  /** Belongs in the document's `components`. Depends on the dialect alone, so routes can share it. */
  readonly components: { readonly schemas: Readonly<Record<string, JsonSchema>> }
}

/**
 * The fragment of a route; `describeOperation` adds it to an operation.
 *
 * @param options - the options that the route is protected with
 * @param engine - the options that the engine was made with
 * @throws RepriseError `reprise-options-invalid`
 */
export function openApiFragment<Req>(
  options: HttpOptions<Req>,
  engine: RunOptions = {},
): OpenApiFragment {
  const { dialect } = resolveRules(options)
  const { docsUrl } = options
  const { key, errors } = publishedPolicy(options, engine)
  const schemaName = `IdempotencyError_${dialect.name.replace(/[^\w.-]/g, '_')}`
  const statuses = new Set(errors.map(({ status }) => status))
  const responses = [...statuses].map((status) => {
    const same = errors.filter((error) => error.status === status)
    return [String(status), responseOf(dialect, { same, schemaName, docsUrl })] as const
  })
  return {
    parameters: parametersOf(key, dialect.key),
    responses: Object.fromEntries(responses),
    headers: answerHeaders(dialect),
    components: { schemas: { [schemaName]: errorSchema(dialect) } },
  }
}

/** The response that all refusals with one status share. */
function responseOf(
  dialect: Dialect,
  {
    same,
    schemaName,
    docsUrl,
  }: { same: readonly PublishedError[]; schemaName: string; docsUrl: string | undefined },
): OpenApiResponse {
  const where = docsUrl === undefined ? {} : { docsUrl }
  const examples = same.map(({ code, title }) => {
    return [
      code,
      { summary: title, value: bodyOf(dialect, { ...ERRORS[code], ...where }) },
    ] as const
  })
  return {
    description: same.map(({ title }) => title).join(' · '),
    headers: refusalHeaders(dialect, {
      isRetryable: same.some(({ retryable }) => retryable),
      hasPages: docsUrl !== undefined,
    }),
    content: {
      [dialect.errors.contentType]: {
        schema: { $ref: `#/components/schemas/${schemaName}` },
        examples: Object.fromEntries(examples),
      },
    },
  }
}

function bodyOf(dialect: Dialect, occurrence: Occurrence): unknown {
  return JSON.parse(new TextDecoder().decode(refuse(dialect, occurrence).body))
}

/** The shape of the dialect's error bodies, whatever the route: every error is asked for. */
function errorSchema(dialect: Dialect): JsonSchema {
  // The keys of the table are its codes, but the compiler takes them for any texts.
  const codes = (Object.keys(ERRORS) as ErrorCode[]).filter(isClientErrorCode)
  const occurrences: readonly Occurrence[] = codes.flatMap((code) => [
    ERRORS[code],
    { ...ERRORS[code], key: EXAMPLE_KEY, docsUrl: '/errors/' },
  ])
  return inferSchema(occurrences.map((occurrence) => bodyOf(dialect, occurrence)))
}

/** A key that most formats take. */
const EXAMPLE_KEY = '0199c8a4-63d1-7e0b-9f5e-2b8d41c7a630'

/** The parameter that carries the key; none where it is in the body or found by the server's code. */
function parametersOf(key: PublishedKey, options: KeyOptions): readonly OpenApiParameter[] {
  const { required, lengthMin, lengthMax, quoted } = key
  const example = quoted ? `"${EXAMPLE_KEY}"` : EXAMPLE_KEY
  const isFitting = parseKey([example], options).kind === 'key'
  return key.places.flatMap(({ in: place, name }) => {
    if (name === null || (place !== 'header' && place !== 'query')) return []
    const schema =
      place === 'header'
        ? { type: 'string', pattern: headerPattern(key) }
        : { type: 'string', minLength: lengthMin, maxLength: lengthMax }
    const description = `Idempotency key of ${lengthMin} to ${lengthMax} characters${
      quoted ? ', in double quotes' : ''
    }: fresh for each operation, and the same whenever the request is sent again.`
    const parameter = { name, in: place, required, description, schema }
    return [isFitting ? { ...parameter, example } : parameter]
  })
}

/** Lengths are of the key, and a header may hold it in quotes; so they can only be said like this. */
function headerPattern({ quoted, lengthMin, lengthMax }: PublishedKey): string {
  const length = `{${lengthMin},${lengthMax}}`
  const string = String.raw`"(?:[ !#-\[\]-~]|\\["\\])${length}"(?:;.*)?`
  return quoted ? `^${string}$` : String.raw`^(?:[!#-+\--:<-\[\]-~]${length}|${string})$`
}
