/**
 * Errors of the tasks API, in the format that its dialect has for refusals.
 *
 * @module
 */

import type { ErrorRequestHandler, RequestHandler } from 'express'
import type { ExampleContext } from '../server/context.ts'

/** An error that the client is told about. */
export class ApiError extends Error {
  readonly status: number
  readonly code: string
  readonly param: string | null

  constructor(status: number, code: string, { message, param = null }: Fault) {
    super(message)
    this.status = status
    this.code = code
    this.param = param
  }
}

interface Fault {
  readonly message: string
  readonly param?: string | null
}

/** Nobody has this path. */
export const notFound: RequestHandler = ({ method, path }) => {
  throw new ApiError(404, 'not_found', { message: `There is no ${method} ${path}.` })
}

/** The path is there, but not for this method. */
export function methodNotAllowed(allowed: string): RequestHandler {
  return ({ method }, res) => {
    res.set('Allow', allowed)
    throw new ApiError(405, 'method_not_allowed', {
      message: `${method} is not possible here; ${allowed} are.`,
    })
  }
}

/** Answers what is thrown. */
export function answerErrors({ url, report }: ExampleContext): ErrorRequestHandler {
  // Express tells an error handler by its four parameters.
  return (error: unknown, _req, res, _next) => {
    const { status, code, param, message } = asApiError(error)
    if (status >= 500) report?.(error)
    const type = status >= 500 ? 'api_error' : 'invalid_request_error'
    const doc_url = `${url}/docs#tasks`
    res.status(status).json({ error: { type, message, code, param, doc_url } })
  }
}

/** What Express and its parsers throw says which 4xx it is; of everything else nothing is told. */
function asApiError(error: unknown): ApiError {
  if (error instanceof ApiError) return error
  const { status, message } = Object(error)
  if (status >= 400 && status < 500) return new ApiError(status, 'request_invalid', { message })
  return new ApiError(500, 'internal_error', {
    message: 'Something went wrong on our side. Send the same request again.',
  })
}
