import { randomUUID } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest'
import { type TemporaryDatabase, temporaryDatabase } from '../support/postgres.ts'
import {
  apiProcesses,
  bookRide,
  PATIENCE,
  type ReferenceServer,
  run,
  sendTask,
  startServer,
  temporaryData,
} from './reference-server.ts'

// Servers are started, some of them twice, on a machine that may be busy.
vi.setConfig({ testTimeout: 240_000 })

let database: TemporaryDatabase
let server: ReferenceServer
let data: string

beforeAll(async () => {
  database = await temporaryDatabase()
  data = await mkdtemp(join(tmpdir(), 'reprise-server-'))
  server = await startServer({ DATABASE_URL: database.url, REPRISE_DATA: data })
})
afterAll(async () => {
  await server.stop()
  await database.drop()
  await rm(data, { recursive: true, force: true })
})

const pidOfApi = async () => Object(await (await server.get('/health/live')).json()).pid

/** Sends again until there is an answer, as clients do. */
function insist(send: () => Promise<Response>, status: number): Promise<Response> {
  return vi.waitFor(async () => {
    const response = await send()
    expect(response.status).toBe(status)
    return response
  }, PATIENCE)
}

describe('a crash that a request asks for', () => {
  test.each([
    ['after-claim', 201],
    ['before-commit', 201],
    ['after-commit', 200],
  ])('at %s kills the API, which is back, and one task is made', async (point, status) => {
    const { tasks } = await server.ledger()
    const pid = await pidOfApi()
    const key = randomUUID()
    await expect(sendTask(server, key, `crash=${point}`)).rejects.toThrow('fetch failed')

    const response = await insist(() => sendTask(server, key), status)
    expect(response.headers.get('idempotent-replayed')).toBe(status === 200 ? 'true' : null)
    expect(await pidOfApi()).not.toBe(pid)
    expect((await server.ledger()).tasks).toBe(tasks + 1)
    await vi.waitFor(() => expect(server.printed()).toContain(`${pid} was ended by SIGKILL`))
  })

  test('is over in a moment, because the next process stands by', async () => {
    const standing = await vi.waitFor(async () => {
      const processes = await apiProcesses(server)
      expect(processes).toHaveLength(2)
      return processes
    }, PATIENCE)
    const pid = await pidOfApi()
    await expect(sendTask(server, randomUUID(), 'crash=after-claim')).rejects.toThrow(
      'fetch failed',
    )
    const next = await vi.waitFor(pidOfApi, PATIENCE)
    expect(next).not.toBe(pid)
    expect(standing).toContain(next)
  })

  test('after the charge was made ends with one charge, one ride and one receipt', async () => {
    const before = await server.ledger()
    const key = randomUUID()
    await expect(bookRide(server, key, 'crash=after-charge')).rejects.toThrow('fetch failed')
    await insist(() => bookRide(server, key), 201)
    const { charges, rides, audit_records } = await server.ledger()
    expect(charges).toHaveLength(before.charges.length + 1)
    expect(charges.at(-1)).toMatchObject({ amount: 2000, idempotency_key: expect.any(String) })
    expect([rides, audit_records]).toEqual([before.rides + 1, before.audit_records + 1])
    await vi.waitFor(async () => {
      const { receipts, staged_jobs } = await server.ledger()
      expect(receipts).toHaveLength(before.receipts.length + 1)
      expect(receipts.at(-1)?.message_id).toMatch(/^<[\da-f-]{36}@/)
      expect(staged_jobs).toBe(0)
    }, PATIENCE)
  })
})

describe('other faults', () => {
  test('slow, fail-before and fail-after do what they say, and the key stays free', async () => {
    const { tasks } = await server.ledger()
    const key = randomUUID()
    const began = performance.now()
    expect((await sendTask(server, key, 'slow=300,fail-before')).status).toBe(500)
    expect(performance.now() - began).toBeGreaterThanOrEqual(300)
    expect((await sendTask(server, key, 'fail-after')).status).toBe(500)
    expect((await server.ledger()).tasks).toBe(tasks)
    expect((await sendTask(server, key)).status).toBe(201)

    const unknown = await sendTask(server, key, 'explode')
    expect(unknown.status).toBe(400)
    expect(await unknown.json()).toMatchObject({
      error: { message: expect.stringContaining('crash=charge_created') },
    })
  })

  test('of the provider are switched under /demo/provider', async () => {
    const turn = (body: object) =>
      server.get('/demo/provider', { method: 'PUT', body: JSON.stringify(body) })
    expect((await turn({ mode: 'wrong' })).status).toBe(400)
    expect(await (await turn({ mode: 'down' })).json()).toMatchObject({ mode: 'down' })
    const key = randomUUID()
    const { charges } = await server.ledger()
    expect((await bookRide(server, key)).status).toBeGreaterThanOrEqual(500)
    expect((await server.ledger()).charges).toEqual(charges)
    await turn({ mode: 'fine' })
    await insist(() => bookRide(server, key), 201)
    expect((await server.ledger()).charges).toHaveLength(charges.length + 1)
  })
})

describe('the workers', () => {
  test('run alone beside the server, and end with it', async () => {
    const worker = run('worker.ts', { REPRISE_DATA: data })
    onTestFinished(() => void worker.process.kill('SIGKILL'))
    await vi.waitFor(() => expect(worker.printed()).toContain('Enqueuer, completer'), PATIENCE)
    server.process.kill('SIGTERM')
    expect(await worker.exited).toBe(0)
    expect(worker.printed()).toContain('The server has ended')
  })

  test('say what is missing where no server runs', async () => {
    const worker = run('worker.ts', { REPRISE_DATA: await temporaryData() })
    expect(await worker.exited).toBe(1)
    expect(worker.printed()).toContain('npm start')
  })
})
