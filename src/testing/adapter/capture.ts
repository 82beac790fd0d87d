/**
 * Checks that answers go out as the framework would send them, and come again as they went out.
 *
 * @module
 */

import assert from 'node:assert/strict'
import { Agent, request } from 'node:http'
import { type Header, keptHeaders } from '../../core/response.ts'
import type { AdapterCheck, Deed } from './harness.ts'
import type { Answer } from './raw-client.ts'
import { type Shape, shapes } from './shapes.ts'
import { inOneWorld, inWorld, type World } from './world.ts'

const MARKS = /^(?:date|idempotency-key|idempotency-expires)$/i

/** Everything but the date and our own marks, line by line. */
function sent({ statusLine, headers, body }: Answer) {
  return { statusLine, headers: headers.filter(([name]) => !MARKS.test(name)), body }
}

/** What has to be the same again; the order of different headers means nothing. */
function kept({ status, headers, body }: Answer) {
  const lines = keptHeaders(headers).map(([name, value]): Header => [name.toLowerCase(), value])
  return { status, headers: lines.sort(([a], [b]) => (a < b ? -1 : Number(a > b))), body }
}

async function asWithout(harness: Parameters<AdapterCheck['check']>[0], { make }: Shape) {
  const deed = async () => make()
  let without: Answer | undefined
  await inWorld(harness, { deed, isProtected: false }, async (world) => {
    without = await world.ask()
  })
  await inWorld(harness, { deed }, async (world) => {
    const first = await world.ask()
    assert.ok(without !== undefined)
    assert.deepEqual(sent(first), sent(without))
    assert.deepEqual(kept(await world.replay()), kept(first))
  })
}

const COOKIES = async (): Promise<Deed> => ({
  ...{ status: 200, how: 'send', body: 'welcome' },
  headers: [
    ['Set-Cookie', 'session=1; Path=/; HttpOnly'],
    ['Set-Cookie', 'theme=dark'],
  ],
})

/** The statuses and reused sockets of requests on one connection that is kept alive. */
async function onOneConnection(world: World, bodies: readonly string[]) {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  const answers: { status: number | undefined; isReused: boolean }[] = []
  for (const body of bodies) answers.push(await askOn(agent, world.served.port, body))
  agent.destroy()
  return answers
}

function askOn(agent: Agent, port: number, body: string) {
  return new Promise<{ status: number | undefined; isReused: boolean }>((resolve, reject) => {
    const headers = {
      ...{ 'Idempotency-Key': 'key-1', 'X-Caller': 'acct_1' },
      'Content-Type': 'application/json',
    }
    const asked = request(
      { agent, port, host: '127.0.0.1', method: 'POST', path: '/items/1', headers },
      (response) => {
        response.resume()
        response.on('end', () => {
          resolve({ status: response.statusCode, isReused: asked.reusedSocket })
        })
      },
    )
    asked.on('error', reject)
    asked.end(body)
  })
}

/** Exact answers, first and again. */
export const captureChecks: readonly AdapterCheck[] = [
  ...shapes.map(
    (shape): AdapterCheck => ({
      name: `hole 4: sends ${shape.name} as without protection, and the same again`,
      check: (harness) => asWithout(harness, shape),
    }),
  ),
  {
    name: 'hole 4: sends several cookies once and does not keep them',
    check: inOneWorld({ deed: COOKIES }, async (world) => {
      assert.equal((await world.ask()).all('set-cookie').length, 2)
      assert.deepEqual((await world.replay()).all('set-cookie'), [])
    }),
  },
  {
    name: 'hole 4: keeps several cookies where the route asks for it',
    check: inOneWorld({ deed: COOKIES, options: { headers: { cookies: true } } }, async (world) => {
      const first = await world.ask()
      assert.deepEqual((await world.replay()).all('set-cookie'), first.all('set-cookie'))
    }),
  },
  {
    name: 'leaves the connection usable after an answer, a replay and a refusal',
    check: inOneWorld({}, async (world) => {
      const bodies = ['{"a":1}', '{"a":1}', '{"a":2}', '{"a":1}']
      assert.deepEqual(await onOneConnection(world, bodies), [
        { status: 201, isReused: false },
        { status: 201, isReused: true },
        { status: 422, isReused: true },
        { status: 201, isReused: true },
      ])
    }),
  },
]
