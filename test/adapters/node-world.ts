import { EventEmitter, once } from 'node:events'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { connect, type Socket } from 'node:net'
import { afterEach } from 'vitest'
import { idempotent, type NodeHandler, type NodeOptions } from '../../src/adapters/node.ts'
import { createReprise, type RepriseOptions } from '../../src/engine/reprise.ts'
import { memoryStore } from '../../src/stores/memory/store.ts'
import { exchangeBytes } from './differential.ts'
import { type Listening, listen } from './listen.ts'

type Options = Partial<NodeOptions<IncomingMessage, never> & RepriseOptions>

/** What is closed after the test. */
export const opened: { close(): Promise<void> }[] = []
afterEach(async () => {
  for (const one of opened.splice(0)) await one.close()
})

/** Serves until the test is over. */
export async function serving(listener: Parameters<typeof listen>[0]): Promise<Listening> {
  const server = await listen(listener)
  opened.push(server)
  return server
}

/** A handler of Node under protection. */
export function guarded(
  handle: NodeHandler<IncomingMessage>,
  options: Options = {},
): (request: IncomingMessage, response: ServerResponse) => void {
  const { store = memoryStore(), clock, random, onEvent, replayCache, waiters, ...route } = options
  const given = Object.entries({ store, clock, random, onEvent, replayCache, waiters })
  const engine = Object.fromEntries(given.filter(([, value]) => value !== undefined))
  // What was given, without what was not.
  const reprise = createReprise(engine as unknown as RepriseOptions)
  return idempotent(reprise, { caller: () => 'me', ...route }, handle)
}

export function client(port: number): Socket {
  const socket = connect({ port, host: '127.0.0.1', noDelay: true })
  socket.on('error', () => {})
  return socket
}

/** The bytes of a request. */
export function post({ key = 'k1', body = '', lines = '', path = '/' } = {}): string {
  return `POST ${path} HTTP/1.1\r\nHost: a\r\nIdempotency-Key: ${key}\r\nContent-Length: ${body.length}\r\n${lines}\r\n${body}`
}

/** Asks for the connection to be closed after the answer. */
export const CLOSE = 'Connection: close\r\n'

/** Resolves when a text has come in. */
export async function receiving(socket: Socket, until: string): Promise<string> {
  let received = ''
  socket.setEncoding('latin1')
  while (!received.includes(until)) {
    const [chunk] = await once(socket, 'data')
    received += String(chunk)
  }
  return received
}

/** A point that one side reaches and the other waits for. */
export function gate(): { open(): void; readonly passed: Promise<unknown> } {
  const events = new EventEmitter()
  const passed = once(events, 'open')
  return { open: () => void events.emit('open'), passed }
}

/** Asks until the record is no longer in progress: the end of a run whose client is gone. */
export async function settled(port: number, request: string): Promise<string> {
  for (;;) {
    const answer = await exchangeBytes(port, request)
    if (!answer.includes('idempotency-in-progress')) return answer
  }
}

/** The warnings of the process while something is done. */
export async function warningsDuring(work: () => Promise<void>): Promise<readonly Error[]> {
  const warnings: Error[] = []
  const note = (warning: Error) => void warnings.push(warning)
  process.on('warning', note)
  try {
    await work()
    // Warnings come a turn later.
    await new Promise((resolve) => setImmediate(resolve))
  } finally {
    process.off('warning', note)
  }
  return warnings
}
