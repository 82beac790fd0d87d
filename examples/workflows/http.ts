/**
 * What the workflows API has around its routes: ids of requests, authentication, errors.
 *
 * @module
 */

import { randomUUID } from 'node:crypto'
import {
  type ArgumentsHost,
  BadRequestException,
  type CanActivate,
  Catch,
  type ExceptionFilter,
  type ExecutionContext,
  HttpException,
  Injectable,
  type PipeTransform,
  UnauthorizedException,
} from '@nestjs/common'
import type { NextFunction, Request, Response } from 'express'
import type { ExampleContext } from '../server/context.ts'

/** Gives every request an id, the client's own if it has a usable one, and every answer the same. */
export function nameRequest(req: Request, res: Response, next: NextFunction): void {
  const given = req.get('X-Request-Id') ?? ''
  res.set('X-Request-Id', /^[!-~]{1,100}$/.test(given) ? given : randomUUID())
  next()
}

/** The id that {@link nameRequest} gave. */
export function requestIdOf({ res }: Request): string | null {
  return res?.get('X-Request-Id') ?? null
}

/** The organisation on whose behalf a request comes. */
export function organisationOf(req: Request): string {
  const token = /^[Tt]oken ([!-~]{1,255})$/.exec(req.get('Authorization') ?? '')?.[1]
  if (token !== undefined) return token
  throw new UnauthorizedException('Say who you are: `Authorization: Token <organisation>`.')
}

/** Lets in whoever says who they are; guards run before the claim. */
@Injectable()
export class Authentication implements CanActivate {
  canActivate(context: ExecutionContext): boolean {
    return organisationOf(context.switchToHttp().getRequest<Request>()) !== ''
  }
}

/** A JSON object; no body is an empty one. Pipes run behind the claim, and 400 frees the key. */
@Injectable()
export class ObjectPipe implements PipeTransform<unknown, object> {
  transform(body: unknown = {}): object {
    if (typeof body === 'object' && body !== null && !Array.isArray(body)) return body
    throw new BadRequestException('The body has to be a JSON object.')
  }
}

/** Names of errors, by status. */
const CODES: ReadonlyMap<number, string> = new Map([
  [400, 'invalid'],
  [401, 'not_authenticated'],
  [404, 'not_found'],
  [405, 'method_not_allowed'],
  [413, 'body_too_large'],
])

/** Errors in the format that the dialect has for refusals. */
@Catch()
export class ErrorFilter implements ExceptionFilter {
  readonly #report: ExampleContext['report']

  constructor({ report }: ExampleContext) {
    this.#report = report
  }

  catch(error: unknown, host: ArgumentsHost): void {
    const response = host.switchToHttp().getResponse<Response>()
    // What Express and its parsers throw says which 4xx it is.
    const { status = 500, message } = Object(error)
    const code = error instanceof HttpException ? error.getStatus() : status
    const isTold = code >= 400 && code < 500
    if (!isTold) this.#report?.(error)
    const detail = isTold
      ? message
      : 'Something went wrong on our side. Send the same request again.'
    response.status(isTold ? code : 500)
    response.json({ detail, code: isTold ? (CODES.get(code) ?? 'invalid') : 'error' })
  }
}
