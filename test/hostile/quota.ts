/** One caller with very many keys against a server with a quota, over sockets. */

import { Agent, request as ask, createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { idempotent } from '../../src/adapters/node.ts'
import { createReprise } from '../../src/engine/reprise.ts'
import type { Store } from '../../src/engine/store.ts'
import type { StoreHarness } from '../../src/testing/harness.ts'
import { check } from './headers.ts'

/** What is under attack. */
type Ground = Pick<StoreHarness, 'advance'> & { readonly store: Store; readonly peer: Store }

/** How it is attacked. */
export interface QuotaFlood {
  /** How many keys the caller sends. */
  readonly keys: number
  /** How many of them at once. */
  readonly atOnce: number
  /** How many the quota allows in an hour. */
  readonly quota: number
}

/** What came of it. */
export interface QuotaReport {
  readonly sent: number
  readonly ran: number
  readonly refused: number
  /** Records of the caller. */
  readonly records: number
}

const HOUR_MS = 3_600_000

interface Answer {
  readonly status: number
  readonly isReplay: boolean
  readonly retryAfter: number
  readonly code: string | undefined
}

/** Two servers, as two processes would, on one store. */
async function startServers({ store, peer }: Ground, quota: number) {
  const runs = new Map<string, number>()
  const agent = new Agent({ keepAlive: true, maxSockets: 64 })
  const servers = await Promise.all(
    [store, peer].map(async (one) => {
      const reprise = createReprise({ store: one, quota: { keys: quota, perMs: HOUR_MS } })
      const caller = (req: { headers: NodeJS.Dict<string | string[]> }) =>
        String(req.headers['x-caller'])
      const server = createServer(
        idempotent(reprise, { caller }, (req, res) => {
          const { 'x-caller': caller, 'idempotency-key': key } = req.headers
          const name = [caller, key].join(' ')
          runs.set(name, (runs.get(name) ?? 0) + 1)
          res.writeHead(201).end('made')
        }),
      )
      // A server that closes idle connections may do so while a request is on its way.
      server.keepAliveTimeout = 0
      await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
      // A server that listens on a port has an address of this form.
      const { port } = server.address() as AddressInfo
      return { server, port }
    }),
  )
  let turn = 0
  const send = (caller: string, key: string) =>
    new Promise<Answer>((resolve, reject) => {
      const port = servers[turn++ % 2]?.port
      const headers = { 'x-caller': caller, 'idempotency-key': key }
      const sent = ask({ port, agent, method: 'POST', headers }, (res) => {
        let body = ''
        res.setEncoding('utf8').on('data', (chunk: string) => {
          body += chunk
        })
        res.on('end', () => resolve(answerOf(res.statusCode ?? 0, res.headers, body)))
      })
      sent.on('error', reject)
      sent.end()
    })
  const stop = async () => {
    agent.destroy()
    for (const { server } of servers) await new Promise((resolve) => server.close(resolve))
  }
  return { send, stop, runs }
}

function answerOf(status: number, headers: NodeJS.Dict<string | string[]>, body: string): Answer {
  return {
    status,
    isReplay: headers['idempotent-replayed'] === 'true',
    retryAfter: Number(headers['retry-after'] ?? 0),
    code: status === 429 ? JSON.parse(body).code : undefined,
  }
}

/**
 * Sends so many keys of one caller.
 *
 * @throws Error with the first that does not hold
 */
export async function floodQuota(ground: Ground, flood: QuotaFlood): Promise<QuotaReport> {
  const { keys, atOnce, quota } = flood
  const { send, stop, runs } = await startServers(ground, quota)
  try {
    const made: string[] = []
    let refused = 0
    let number = 0
    const attack = async () => {
      for (let own = number++; own < keys; own = number++) {
        const key = `key-${own}`
        const { status, retryAfter, code } = await send('flood', key)
        if (status === 201) made.push(key)
        else {
          check(code === 'idempotency-quota-exceeded', `${key} was ${status} ${code}`)
          check(retryAfter > 0 && retryAfter <= 3600, `${key} is to wait for ${retryAfter} s`)
          refused++
        }
      }
    }
    await Promise.all(Array.from({ length: atOnce }, attack))
    const isKept = made.length >= quota && made.length < quota + atOnce
    check(isKept, `${made.length} keys ran under a quota of ${quota}`)
    check(runs.size === made.length, `${runs.size} handlers ran for ${made.length} answers`)

    const records = await recordsOf(ground.store, 'flood')
    check(records === made.length, `${records} records of ${made.length} keys`)
    const replay = await send('flood', made[0] ?? '')
    check(replay.status === 201 && replay.isReplay, `a key that ran was ${replay.status}`)
    const other = await send('other', 'key-0')
    check(other.status === 201 && !other.isReplay, `another caller was ${other.status}`)
    await ground.advance(HOUR_MS)
    const later = await send('flood', 'key-later')
    check(later.status === 201, `a key after an hour was ${later.status}`)
    return { sent: keys, ran: made.length, refused, records }
  } finally {
    await stop()
  }
}

async function recordsOf(store: Store, caller: string): Promise<number> {
  const ids = new Set<string>()
  let after: string | undefined
  do {
    const page = await store.list({ caller, limit: 500, ...(after && { after }) })
    for (const { record } of page.records) ids.add(record.id)
    after = page.next ?? undefined
  } while (after !== undefined)
  return ids.size
}
