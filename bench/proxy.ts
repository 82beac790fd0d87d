/**
 * A TCP proxy that counts what passes through it, for one connection at a time under load: how often
 * a client had to wait for an answer, and how many Redis commands it sent.
 *
 * @module
 */

import { once } from 'node:events'
import { type AddressInfo, connect, createServer } from 'node:net'

/** A proxy in front of a server. */
export interface CountingProxy {
  /** The server's address, by way of the proxy. */
  readonly url: string
  /** How often data went to the server after the answer to what went before. */
  roundTrips: number
  /** Redis commands, where it is Redis. */
  commands: number
  close(): void
}

/**
 * How long an answer is held back, in milliseconds: what a client sends without waiting for it has
 * come by then, in however many pieces.
 */
const ANSWER_MS = 2

/** Starts a proxy to the server at `target`. */
export async function countingProxy(target: string): Promise<CountingProxy> {
  const { hostname, port } = new URL(target)
  const server = createServer((client) => {
    const upstream = connect(Number(port), hostname)
    let isAnswered = true
    const countCommands = commandCounter()
    client.setNoDelay(true).on('data', (chunk) => {
      if (isAnswered) proxy.roundTrips++
      isAnswered = false
      proxy.commands += countCommands(chunk.toString('latin1'))
      upstream.write(chunk)
    })
    upstream.setNoDelay(true).on('data', (chunk) => {
      setTimeout(() => {
        isAnswered = true
        client.write(chunk)
      }, ANSWER_MS)
    })
    for (const [one, other] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      one.on('close', () => other.destroy()).on('error', () => other.destroy())
    }
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const url = new URL(target)
  // A server on a port has one.
  url.port = String((server.address() as AddressInfo).port)
  const proxy = { url: url.href, roundTrips: 0, commands: 0, close: () => void server.close() }
  return proxy
}

/** Counts the arrays of a stream of Redis commands: `*n`, then n times `$length` and as many bytes. */
function commandCounter(): (chunk: string) => number {
  let held = ''
  let partsLeft = 0
  return (chunk) => {
    held += chunk
    let count = 0
    for (;;) {
      const line = /^([*$])(\d+)\r\n/.exec(held)
      if (line === null) return count
      const [text, kind, size] = line
      if (kind === '*') {
        count++
        partsLeft = Number(size)
        held = held.slice(text.length)
      } else {
        const length = text.length + Number(size) + 2
        if (partsLeft === 0 || held.length < length) return count
        partsLeft--
        held = held.slice(length)
      }
    }
  }
}
