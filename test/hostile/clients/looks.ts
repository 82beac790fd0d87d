/**
 * Everything by which code behind the protection could notice that the client has gone: members and
 * events of the request, the response and the connection.
 *
 * @module
 */

import { type EventEmitter, errorMonitor } from 'node:events'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { ServerHttp2Stream } from 'node:http2'
import { createRequire } from 'node:module'
import { isErrored } from 'node:stream'

const require = createRequire(import.meta.url)
// Express brings it, and many other packages do; it has no types.
const { isFinished } = createRequire(require.resolve('express'))('on-finished') as {
  isFinished(message: IncomingMessage | ServerResponse): boolean | undefined
}

/** What was seen, by the name of the member. */
export type Looks = Readonly<Record<string, unknown>>

/** Looks again whenever it is called. */
export type Look = () => Looks

const REQUEST = [
  'aborted',
  'destroyed',
  'closed',
  'errored',
  'readableAborted',
  'complete',
] as const
const RESPONSE = [
  ...['closed', 'destroyed', 'errored', 'writable', 'writableEnded', 'writableFinished'],
  ...['finished', 'headersSent'],
] as const
const SOCKET = [
  ...['readable', 'writable', 'destroyed', 'closed', 'errored', 'readyState', 'pending'],
  ...['readableEnded', 'readableAborted', 'writableEnded', 'writableFinished', 'writableAborted'],
] as const
/** Those that lead to the stream itself over HTTP/2. */
const SOCKET_OF_STREAM = ['readable', 'writable', 'destroyed'] as const
const STREAM = ['aborted', 'closed', 'destroyed', 'rstCode', 'errored', 'writable'] as const

/** Begins to listen, and looks at members when it is asked to. */
export function lookerAt(request: IncomingMessage, response: ServerResponse): Look {
  const events: string[] = []
  const listenTo = (name: string, emitter: EventEmitter) => {
    for (const event of ['aborted', 'close', 'end', 'finish', errorMonitor]) {
      emitter.on(event, () => events.push(`${name} ${String(event)}`))
    }
  }
  const { socket } = request
  const { stream } = request as IncomingMessage & { stream?: ServerHttp2Stream }
  listenTo('request', request)
  listenTo('response', response)
  if (stream === undefined) listenTo('socket', socket)
  else listenTo('stream', stream)
  return () => ({
    ...membersOf('request', request, REQUEST),
    ...membersOf('response', response, RESPONSE),
    ...membersOf('socket', socket, stream === undefined ? SOCKET : SOCKET_OF_STREAM),
    ...(stream === undefined ? {} : membersOf('stream', stream, STREAM)),
    ...(stream === undefined ? { 'address of the client': socket.remoteAddress } : {}),
    'socket of the response': response.socket !== null,
    'isErrored(request)': isErrored(request),
    'onFinished.isFinished(request)': isFinished(request),
    'onFinished.isFinished(response)': isFinished(response),
    events: events.join(', '),
  })
}

function membersOf(name: string, target: object, members: readonly string[]): Looks {
  return Object.fromEntries(
    members.map((member): [string, unknown] => {
      const value: unknown = Reflect.get(target, member)
      return [`${name}.${member}`, value instanceof Error ? value.message : value]
    }),
  )
}

/** What differs between two looks, in words; empty where nothing does. */
export function differenceOf(seen: Looks, expected: Looks): readonly string[] {
  return Object.keys(expected)
    .filter((name) => !Object.is(seen[name], expected[name]))
    .map((name) => `${name} is ${String(seen[name])}, not ${String(expected[name])}`)
}
