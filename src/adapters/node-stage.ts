/**
 * A response that leads nowhere. What a handler does is done to it first, so that Node itself says
 * what comes of it: what is returned, what is thrown, whether the head is sent.
 *
 * @module
 */

import { ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { Writable } from 'node:stream'
import { headersOf, setHeaders } from './node-head.ts'

/** A stage for a response, with the head that the response has by now. */
export function createStage(response: ServerResponse): ServerResponse {
  const stage = new ServerResponse(response.req)
  // Node asks no more of it than to be written to.
  stage.assignSocket(nowhere() as unknown as Socket)
  stage.on('error', (error) => response.emit('error', error))
  stage.strictContentLength = response.strictContentLength
  copyStatus(response, stage)
  setHeaders(stage, headersOf(response))
  return stage
}

/** Gives one response the status of another. */
export function copyStatus(from: ServerResponse, to: ServerResponse): void {
  to.statusCode = from.statusCode
  // HTTP/2 has no messages, and warns whoever looks at one.
  if ('stream' in from || 'stream' in to) return
  if (from.statusMessage) to.statusMessage = from.statusMessage
}

/** Takes everything at once. */
function nowhere(): Writable {
  return new Writable({
    highWaterMark: Number.MAX_SAFE_INTEGER,
    write: (_chunk, _encoding, done) => done(),
  })
}
