/**
 * The headers that answers of a protected route have, for OpenAPI documents.
 *
 * @module
 */

import type { Dialect, RetryMark } from '../core/dialects/dialect.ts'
import type { JsonSchema } from './json-schema.ts'

/** A header of a response. */
export interface OpenApiHeader {
  readonly description: string
  readonly schema: JsonSchema
}

/** Headers by name. */
export type OpenApiHeaders = Readonly<Record<string, OpenApiHeader>>

const TEXT: JsonSchema = { type: 'string' }
const SECONDS: JsonSchema = { type: 'integer', minimum: 0 }
const TRUE: JsonSchema = { type: 'string', enum: ['true'] }

/** Headers that are added to what the handler answers, now or in a replay. */
export function answerHeaders(dialect: Dialect): OpenApiHeaders {
  const { replayed, originalRequest, expires, retry } = dialect.marks
  return named([
    [dialect.header, 'The key of the request.', TEXT],
    [replayed, 'Whether this is the first answer, given again.', TRUE],
    [originalRequest, 'Id of the request that was answered first.', TEXT],
    [expires, 'For how many seconds the answer is still kept.', SECONDS],
    ...retryHeader(retry),
    STORED,
    ['Idempotency-Degraded', 'That the request ran unprotected, because the store was down.', TRUE],
    [
      'Idempotency-Body-Omitted',
      'That the body was not kept, and how many bytes it had.',
      { type: 'string', pattern: '^(?:[0-9]+|unknown)$' },
    ],
  ])
}

/** What is known of the refusals that share a status. */
export interface RefusalKinds {
  /** Whether it is worth to try again after one of them. */
  readonly isRetryable: boolean
  /** Whether the app publishes pages of the codes. */
  readonly hasPages: boolean
}

/** Headers of refusals; `Retry-After` where it is worth to try again, `Link` where there is a page. */
export function refusalHeaders(
  dialect: Dialect,
  { isRetryable, hasPages }: RefusalKinds,
): OpenApiHeaders {
  return named([
    [dialect.header, 'The key of the request, where it had a usable one.', TEXT],
    [
      isRetryable ? 'Retry-After' : null,
      'After how many seconds to send the same request with the same key again.',
      { type: 'integer', minimum: 1 },
    ],
    [hasPages ? 'Link' : null, 'The page of the error, as `describedby`.', TEXT],
    STORED,
    ...retryHeader(dialect.marks.retry),
  ])
}

type NamedHeader = readonly [name: string | null, description: string, schema: JsonSchema]

const STORED: NamedHeader = [
  'Idempotency-Stored',
  'That this answer is not kept: the same request will not get it again.',
  { type: 'string', enum: ['false'] },
]

function retryHeader(retry: RetryMark | null): readonly NamedHeader[] {
  if (retry === null) return []
  const values = [retry.again, retry.never].filter((value) => value !== null)
  const description = 'Whether to send the same request with the same key again.'
  return [[retry.header, description, { type: 'string', enum: values }]]
}

function named(headers: readonly NamedHeader[]): OpenApiHeaders {
  return Object.fromEntries(
    headers.flatMap(([name, description, schema]) =>
      name === null ? [] : [[name, { description, schema }] as const],
    ),
  )
}
