import { once } from 'node:events'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { createRequire } from 'node:module'
import { connect, type Socket } from 'node:net'
import express from 'express'
import { describe, expect, it, onTestFinished } from 'vitest'
import { idempotent } from '../../src/adapters/express.ts'
import { createReprise } from '../../src/engine/reprise.ts'
import type { Store } from '../../src/engine/store.ts'
import { memoryStore } from '../../src/stores/memory/store.ts'
import { exchangeBytes } from './differential.ts'
import { listen } from './listen.ts'
import { gate } from './node-world.ts'

// Has no types of its own; as far as it is used here it is like version 5.
const express4 = createRequire(import.meta.url)('express4') as typeof express

/** How a client goes away that has sent its whole request. */
const LEAVING: Readonly<Record<string, (socket: Socket) => void>> = {
  'ends its side': (socket) => void socket.end(),
  'closes the connection': (socket) => void socket.destroy(),
  'resets the connection': (socket) => void socket.resetAndDestroy(),
}

/** A memory store whose first claim waits at a gate. */
function gatedStore(asked: () => void, released: Promise<unknown>): Store<unknown> {
  const store = memoryStore()
  return new Proxy<Store<unknown>>(store, {
    get(_, name) {
      const member: unknown = Reflect.get(store, name)
      if (typeof member !== 'function') return member
      const call = member.bind(store)
      if (name !== 'claim') return call
      return async (...args: unknown[]) => {
        asked()
        await released
        return call(...args)
      }
    },
  })
}

function postOf(body: string): string {
  const head = [
    ...['POST /refunds HTTP/1.1', 'Host: localhost', 'Idempotency-Key: key-1'],
    ...['Content-Type: application/json', `Content-Length: ${body.length}`],
  ]
  return `${head.join('\r\n')}\r\n\r\n${body}`
}

describe.each([
  ['Express 5', express],
  ['Express 4', express4],
])('%s with its body parser behind the protection', (_, framework) => {
  it.each(Object.keys(LEAVING))(
    'gives the handler its body when the client %s before the claim is back',
    async (how) => {
      const [asked, claim] = [gate(), gate()]
      const bodies: unknown[] = []
      const reprise = createReprise({ store: gatedStore(asked.open, claim.passed) })
      const protect = idempotent(reprise, { caller: () => 'acct_1', waitMs: 10_000 })
      const app = framework()
      app.post('/refunds', protect, framework.json(), (req, res) => {
        bodies.push(req.body)
        res.status(201).json({ got: req.body ?? 'nothing' })
      })
      const server = await listen((req: IncomingMessage, res: ServerResponse) => void app(req, res))
      onTestFinished(() => server.close())

      const socket = connect({ port: server.port, host: '127.0.0.1', allowHalfOpen: true })
      socket.on('error', () => {})
      socket.write(postOf('{"amount":5}'))
      await asked.passed
      LEAVING[how]?.(socket)
      // What the socket said before has been seen when a connection made later is served.
      await exchangeBytes(server.port, 'nonsense\r\n\r\n')
      claim.open()

      const again = connect({ port: server.port, host: '127.0.0.1' })
      onTestFinished(() => void again.destroy())
      again.setEncoding('utf8').write(postOf('{"amount":5}'))
      const [answer] = await once(again, 'data')
      expect(answer).toContain('{"got":{"amount":5}}')
      expect(bodies).toEqual([{ amount: 5 }])
      socket.destroy()
    },
  )
})
