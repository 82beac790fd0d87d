/**
 * One request, sent as it is told, and cut off where it is told.
 *
 * @module
 */

import { createHash } from 'node:crypto'
import { type ClientRequest, request as httpRequest, type IncomingMessage } from 'node:http'
import { request as httpsRequest } from 'node:https'
import type { Io } from '../io.ts'

/** Where the connection is cut: half way through the body, before the answer, at its first byte. */
export type Cut = 'mid-body' | 'before' | 'after'

/** A request. */
export interface Asked {
  readonly url: URL
  readonly method: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
  readonly timeoutMs: number
  readonly cut?: Cut | undefined
}

/** What came of it. */
export interface Answered {
  /** `null` when no answer was read. */
  readonly status: number | null
  readonly headers: Readonly<Record<string, string>>
  readonly body: Buffer
  readonly tookMs: number
  /** Whether the answer says that it is a replay; `null` without an answer. */
  readonly isReplayed: boolean | null
  /** Why there is no answer. */
  readonly error: string | null
  readonly cut: Cut | null
}

/** Sends a request; never throws. */
export async function exchange(asked: Asked, { clock }: Pick<Io, 'clock'>): Promise<Answered> {
  const startedAt = clock.now()
  const nothing = { status: null, headers: {}, body: Buffer.alloc(0), isReplayed: null }
  const took = () => Math.round(clock.now() - startedAt)
  try {
    const answer = await attempt(asked, clock)
    if (answer === 'cut') {
      return { ...nothing, tookMs: took(), error: null, cut: asked.cut ?? null }
    }
    const isReplayed = answer.headers['idempotent-replayed'] === 'true'
    return { ...answer, isReplayed, tookMs: took(), error: null, cut: null }
  } catch (error) {
    const code: unknown = error instanceof Error ? Reflect.get(error, 'code') : undefined
    const message = error instanceof Error && error.message !== '' ? error.message : 'no answer'
    const said =
      typeof code === 'string' && !message.includes(code) ? `${message} (${code})` : message
    return { ...nothing, tookMs: took(), error: said, cut: null }
  }
}

type Whole = Pick<Answered, 'status' | 'headers' | 'body'>

function attempt(asked: Asked, clock: Io['clock']): Promise<Whole | 'cut'> {
  const { url, method, headers, body, timeoutMs, cut } = asked
  const send = url.protocol === 'https:' ? httpsRequest : httpRequest
  return new Promise((resolve, reject) => {
    // No pool: each attempt is a client of its own.
    const request = send(url, {
      ...{ method, agent: false },
      headers: { ...headers, 'Content-Length': Buffer.byteLength(body) },
    })
    const cancel = clock.after(timeoutMs, () => {
      request.destroy(new Error(`no answer within ${timeoutMs} ms`))
    })
    const over = (end: () => void) => {
      cancel()
      end()
    }
    const hangUp = () => {
      over(() => resolve('cut'))
      request.destroy()
    }
    request.on('error', (error) => over(() => reject(error)))
    request.on('response', (response) => {
      if (cut === 'after') hangUp()
      else
        read(response).then(
          (whole) => over(() => resolve(whole)),
          (error: Error) => over(() => reject(error)),
        )
    })
    sendBody(request, body, cut, hangUp)
  })
}

function sendBody(
  request: ClientRequest,
  body: string,
  ...[cut, hangUp]: readonly [Cut | undefined, () => void]
): void {
  if (cut === 'mid-body') {
    const bytes = Buffer.from(body)
    request.write(bytes.subarray(0, Math.floor(bytes.length / 2)), () => hangUp())
    return
  }
  // What was written before the connection is closed still arrives.
  if (cut === 'before') request.on('finish', hangUp)
  request.end(body)
}

async function read(response: IncomingMessage): Promise<Whole> {
  const chunks: Buffer[] = []
  for await (const chunk of response) chunks.push(Buffer.from(chunk))
  const headers = Object.entries(response.headers).map(([name, value]) => [name, String(value)])
  return {
    status: response.statusCode ?? null,
    headers: Object.fromEntries(headers),
    body: Buffer.concat(chunks),
  }
}

/** A short digest of a body, to see at a glance whether two are the same. */
export function bodyHash(body: Buffer): string {
  return createHash('sha256').update(body).digest('hex').slice(0, 8)
}

/** Whether an answer says that something was done. */
export function isSuccess({ status }: Pick<Answered, 'status'>): boolean {
  return status !== null && status >= 200 && status < 300
}

/** A body that says something else. */
export function otherBody(body: string): string {
  return /\}\s*$/.test(body)
    ? body.replace(/\}\s*$/, `${/^\s*\{\s*\}\s*$/.test(body) ? '' : ','}"changed":true}`)
    : `${body} `
}
