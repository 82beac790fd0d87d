/**
 * Which options a route takes that an operation answers, and which the operation takes.
 */

import { randomUUID } from 'node:crypto'
import fastify from 'fastify'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { idempotency } from '../../src/adapters/fastify.ts'
import * as viaFetch from '../../src/adapters/fetch.ts'
import { Idempotent } from '../../src/adapters/nest.ts'
import { aesGcm } from '../../src/engine/aes-gcm.ts'
import { createReprise } from '../../src/index.ts'
import { operation, phase, respond } from '../../src/phases/index.ts'
import type { OperationOptions } from '../../src/phases/operation.ts'
import { postgresStore } from '../../src/stores/postgres/index.ts'
import { type TemporaryDatabase, temporaryDatabase } from '../support/postgres.ts'

const SECRET = 'hunter2'
const caller = () => 'user-1'
const input = {
  '~standard': { version: 1 as const, vendor: 'test', validate: (value: unknown) => ({ value }) },
}

let database: TemporaryDatabase
let pool: pg.Pool
let names = 0

beforeAll(async () => {
  database = await temporaryDatabase()
  pool = new pg.Pool({ connectionString: database.url })
})

afterAll(async () => {
  await pool.end()
  await database.drop()
})

type Own = Omit<Partial<OperationOptions<pg.PoolClient, unknown>>, 'reprise' | 'input'>

function operationWith(own: Own) {
  const reprise = createReprise({ store: postgresStore(pool), replayCache: false })
  return operation(
    `answer_${names++}`,
    { reprise, input, ...own },
    { started: phase(async () => respond(201, { secret: SECRET })) },
  )
}

/** Serves an operation of these options; gives how to ask it. */
function served(own: Own) {
  const handler = viaFetch.serve(operationWith(own), { caller })
  return (key: string) =>
    handler(
      new Request('http://127.0.0.1/', {
        ...{ method: 'POST', body: '{}' },
        headers: { 'idempotency-key': key, 'content-type': 'application/json' },
      }),
    )
}

async function storedUnder(key: string) {
  const sql = `select encode(response, 'escape') as response,
                      extract(epoch from expires_at - created_at)::int as seconds
                 from reprise.records where key = $1`
  const { rows } = await pool.query<{ response: string; seconds: number }>(sql, [key])
  return rows[0]
}

describe('an option of an operation', () => {
  test('sensitive gives the answer once and stores no body', async () => {
    const ask = served({ sensitive: true })
    const key = randomUUID()
    const first = await ask(key)

    expect([first.status, await first.json()]).toEqual([201, { secret: SECRET }])
    expect((await storedUnder(key))?.response).not.toContain(SECRET)
    const again = await ask(key)
    expect(again.status).toBe(409)
    expect(await again.json()).toMatchObject({ code: 'idempotency-result-gone' })
  })

  test('encryption stores no plain text', async () => {
    const ask = served({ encryption: aesGcm({ current: 'a', keys: { a: Buffer.alloc(32, 1) } }) })
    const key = randomUUID()
    await ask(key)

    expect((await storedUnder(key))?.response).not.toContain(SECRET)
    expect(await (await ask(key)).json()).toEqual({ secret: SECRET })
  })

  test('quota refuses a fresh key too many', async () => {
    const ask = served({ quota: { keys: 1, perMs: 60_000 } })

    expect((await ask(randomUUID())).status).toBe(201)
    expect((await ask(randomUUID())).status).toBe(429)
  })

  test('retentionMs says how long the answer is kept, 72 hours without it', async () => {
    const [key, other] = [randomUUID(), randomUUID()]
    await served({ retentionMs: 60_000 })(key)
    await served({})(other)

    expect((await storedUnder(key))?.seconds).toBe(60)
    expect((await storedUnder(other))?.seconds).toBe(259_200)
  })

  test('bodyBytesMax bounds what is stored', async () => {
    const ask = served({ bodyBytesMax: 4 })
    const key = randomUUID()
    await ask(key)

    expect((await storedUnder(key))?.response).not.toContain(SECRET)
    expect((await ask(key)).headers.get('idempotency-body-omitted')).not.toBeNull()
  })
})

describe('a route that serves an operation', () => {
  const options: Readonly<Record<string, unknown>> = {
    sensitive: true,
    encryption: aesGcm({ current: 'a', keys: { a: Buffer.alloc(32, 1) } }),
    quota: { keys: 1, perMs: 60_000 },
    retentionMs: 60_000,
    bodyBytesMax: 4,
    waitMs: 1000,
    leaseMs: 1000,
  }
  for (const [name, value] of Object.entries(options)) {
    const refusal = () =>
      expect.objectContaining({
        code: 'reprise-options-invalid',
        message: expect.stringContaining(`${name} is an option of operation()`),
      })

    test(`refuses ${name} at start`, async () => {
      const serve = operationWith({})
      const own = { [name]: value }

      expect(() => viaFetch.serve(serve, { caller, ...own })).toThrow(refusal())
      expect(() => Idempotent({ serve, ...own })).toThrow(refusal())
      const app = fastify()
      await app.register(idempotency, { reprise: serve.reprise, caller })
      const config = { idempotency: { serve, ...own } }
      expect(() => app.post('/', { config }, async () => null)).toThrow(refusal())
      await app.close()
    })
  }
})
