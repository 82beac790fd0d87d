/**
 * Errors of the charges API, in the format that its dialect has for refusals.
 *
 * @module
 */

import type { Context } from 'hono'
import { HTTPException } from 'hono/http-exception'
import type { z } from 'zod'
import { faultOf } from '../common/text.ts'
import type { ExampleContext } from '../server/context.ts'

/** Nothing is there, or nothing that this user may see. */
export function notFound({ req: { method, path } }: Context): HTTPException {
  return new HTTPException(404, { message: `There is no ${method} ${path}.` })
}

/** Nobody has this path. */
export function answerNotFound(c: Context): Response {
  return answer(notFound(c), c)
}

/** The path is there, but not for this method. */
export function methodNotAllowed(allowed: string) {
  return (c: Context): Response => {
    c.header('Allow', allowed)
    return answer(new HTTPException(405, { message: `Possible here: ${allowed}.` }), c)
  }
}

/**
 * What a body says, by a schema.
 *
 * @throws HTTPException 400, which leaves the key free
 */
export function parsed<Value>(schema: z.ZodType<Value>, body: string): Value {
  const result = schema.safeParse(jsonOf(body))
  if (result.success) return result.data
  throw new HTTPException(400, { message: faultOf(result.error).message })
}

function jsonOf(body: string): unknown {
  try {
    return JSON.parse(body)
  } catch {
    throw new HTTPException(400, { message: 'The body is not JSON.' })
  }
}

/** Answers what is thrown. Of what is no answer itself, clients are told nothing. */
export function answerErrors({ report }: ExampleContext) {
  return (error: Error, c: Context): Response => {
    if (error instanceof HTTPException) return answer(error, c)
    report?.(error)
    const message = 'Something went wrong on our side. Send the same request again.'
    return c.json({ error: { type: 'api_error', message } }, 500)
  }
}

function answer(error: HTTPException, c: Context): Response {
  const { status, message } = error
  const type = status === 401 ? 'authentication_error' : 'invalid_request_error'
  return c.json({ error: { type, message } }, status)
}
