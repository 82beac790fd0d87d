import { request as ask, createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { describe, expect, it } from 'vitest'
import { idempotent } from '../../src/adapters/node.ts'
import { turn } from '../../src/adapters/node-turns.ts'
import { createReprise, memoryStore } from '../../src/index.ts'

const WAITING = 100
const GROUP = 16

/** Counts the rounds of the event loop until it is told to stop. */
function rounds(): { count: number; stop(): void } {
  const counter = { count: 0, stop: () => clearImmediate(next) }
  const go = () => {
    counter.count++
    next = setImmediate(go)
  }
  let next = setImmediate(go)
  return counter
}

/** How often each of the values occurs. */
function counts(values: readonly number[]): number[] {
  return [...new Set(values)].map((value) => values.filter((other) => other === value).length)
}

describe('answers that are due at the same moment', () => {
  it('leave in small groups, all of them and with the same answer', async () => {
    const reprise = createReprise({ store: memoryStore(), waitMs: 10_000 })
    let answer = () => {}
    const answered = new Promise<void>((resolve) => (answer = resolve))
    let come = 0
    const caller = () => {
      // Those before it wait by then, and the last one has its answer from the store if need be.
      if (++come === WAITING) setImmediate(answer)
      return 'acct_1'
    }
    const protect = idempotent(reprise, { caller }, async (_, response) => {
      await answered
      response.writeHead(201).end('one ride')
    })
    const clock = rounds()
    const sentIn: number[] = []
    const server = createServer((request, response) => {
      response.once('prefinish', () => sentIn.push(clock.count))
      protect(request, response)
    })
    await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve))
    // A server on a port has an address of this kind.
    const { port } = server.address() as AddressInfo
    try {
      const texts = await Promise.all(Array.from({ length: WAITING }, () => ride(port)))

      expect(new Set(texts)).toEqual(new Set(['201 one ride']))
      expect(sentIn).toHaveLength(WAITING)
      // The handler's own answer goes beside those of a group.
      expect(Math.max(...counts(sentIn))).toBeLessThanOrEqual(GROUP + 1)
    } finally {
      clock.stop()
      server.close()
      server.closeAllConnections()
    }
  })

  it('go in the order in which they were due, and one that comes alone goes at once', async () => {
    await new Promise((resolve) => setImmediate(resolve))
    const order: number[] = []
    const due = Array.from({ length: 3 * GROUP }, async (_, index) => {
      await turn()
      order.push(index)
    })
    // Comes when others are waiting already, in the middle of their turns.
    const later = new Promise((resolve) => setImmediate(resolve))
    const late = later.then(async () => {
      const latecomer = turn()
      expect(latecomer).toBeInstanceOf(Promise)
      await latecomer
      order.push(order.length)
    })
    await Promise.all([...due, late])
    expect(order).toEqual(Array.from({ length: 3 * GROUP + 1 }, (_, index) => index))

    await new Promise((resolve) => setImmediate(() => setImmediate(resolve)))
    expect(turn()).toBeUndefined()
  })
})

function ride(port: number): Promise<string> {
  return new Promise((resolve, reject) => {
    const headers = { 'Idempotency-Key': 'ride-of-many', 'Content-Type': 'text/plain' }
    ask({ port, host: '127.0.0.1', method: 'POST', path: '/rides', headers }, (response) => {
      let text = ''
      response.setEncoding('utf8').on('data', (chunk: string) => (text += chunk))
      response.on('end', () => resolve(`${response.statusCode} ${text}`))
    })
      .on('error', reject)
      .end('to the moon')
  })
}
