/**
 * A network that cuts, delays, duplicates and reorders, by a seed; until it is healed.
 *
 * @module
 */

import { once } from 'node:events'
import {
  Agent,
  createServer,
  type IncomingMessage,
  request as requestOf,
  type ServerResponse,
} from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { onTestFinished } from 'vitest'

/** What can happen to a request. */
export const FATES = [
  /** Nothing. */
  'pass',
  /** The connection breaks before the server sees anything. */
  'lost-request',
  /** The server answers, and the connection breaks before the client sees anything. */
  'lost-answer',
  /** The connection breaks in the middle of the answer. */
  'half-answer',
  /** The server gets it twice at the same time. */
  'twice',
  /** It takes its time, perhaps more than the client waits. */
  'late',
  /** The client sees its connection break at once; the server gets the request later. */
  'ghost',
  /** It waits until a later one has overtaken it. */
  'overtaken',
] as const

export type Fate = (typeof FATES)[number]

export interface ChaosProxy {
  readonly port: number
  /** How often each thing has happened. */
  readonly counts: Readonly<Record<Fate, number>>
  /** From now on every request passes. */
  heal(): void
  /** Resolves when nothing is under way any more, ghosts included. */
  idle(): Promise<void>
}

interface Answer {
  readonly status: number
  readonly headers: readonly string[]
  readonly body: Buffer
}

/** How long things are late at most, in milliseconds. */
const LATE_MS = 400

export async function chaosProxy(target: number, fraction: () => number): Promise<ChaosProxy> {
  const counts = Object.fromEntries(FATES.map((fate) => [fate, 0])) as Record<Fate, number>
  const agent = new Agent({ keepAlive: true, maxSockets: 64 })
  const underWay = new Set<Promise<unknown>>()
  let isHealed = false
  let overtake = () => {}

  const fateOf = (): Fate => {
    const bad = FATES[1 + Math.floor(fraction() * (FATES.length - 1))] ?? 'pass'
    return isHealed || fraction() < 0.45 ? 'pass' : bad
  }

  async function carry(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const fate = fateOf()
    counts[fate]++
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk)
    const forward = () => send(request, Buffer.concat(chunks), { target, agent })
    const cut = () => void request.socket.resetAndDestroy()
    const others = overtake
    overtake = () => {}
    switch (fate) {
      case 'lost-request':
        cut()
        break
      case 'ghost':
        cut()
        await sleep(fraction() * LATE_MS)
        await forward()
        break
      case 'lost-answer':
        await forward()
        cut()
        break
      case 'half-answer': {
        const { status, headers, body } = await forward()
        response.writeHead(status, [...headers])
        response.write(body.subarray(0, body.length / 2), cut)
        break
      }
      case 'twice': {
        const both = [forward(), forward()]
        reply(response, await (fraction() < 0.5 ? Promise.race(both) : Promise.any(both.reverse())))
        await Promise.all(both)
        break
      }
      case 'late':
        await sleep(fraction() * LATE_MS)
        reply(response, await forward())
        break
      case 'overtaken':
        await Promise.race([
          sleep(LATE_MS),
          new Promise<void>((resolve) => {
            overtake = resolve
          }),
        ])
        reply(response, await forward())
        break
      case 'pass':
        reply(response, await forward())
        break
      default:
        fate satisfies never
    }
    others()
  }

  const server = createServer((request, response) => {
    // A client that has gone is what this is about.
    const carried = carry(request, response).catch(() => void request.socket.destroy())
    underWay.add(carried)
    void carried.finally(() => underWay.delete(carried))
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
    agent.destroy()
  })
  return {
    // A server that listens on a port has such an address.
    port: (server.address() as AddressInfo).port,
    counts,
    heal() {
      isHealed = true
      overtake()
    },
    async idle() {
      while (underWay.size > 0) await Promise.all(underWay)
    },
  }
}

function reply(response: ServerResponse, { status, headers, body }: Answer): void {
  if (!response.destroyed) response.writeHead(status, [...headers]).end(body)
}

function send(
  { method, url, rawHeaders }: IncomingMessage,
  body: Buffer,
  { target, agent }: { target: number; agent: Agent },
): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const headers = { ...pairs(rawHeaders), connection: 'keep-alive' }
    const upstream = requestOf({
      ...{ host: '127.0.0.1', port: target, method, path: url, agent, headers },
    })
    upstream.on('error', reject).on('response', (answer) => {
      const chunks: Buffer[] = []
      answer.on('data', (chunk) => chunks.push(chunk)).on('error', reject)
      answer.on('end', () => {
        const { statusCode = 0, rawHeaders: raw } = answer
        resolve({ status: statusCode, headers: raw, body: Buffer.concat(chunks) })
      })
    })
    upstream.end(body)
  })
}

function pairs(raw: readonly string[]): Record<string, string> {
  const found: Record<string, string> = {}
  for (let at = 0; at < raw.length; at += 2) found[raw[at] ?? ''] = raw[at + 1] ?? ''
  return found
}
