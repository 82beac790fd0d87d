import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { type TemporaryDatabase, temporaryDatabase } from '../support/postgres.ts'
import {
  descendantsOf,
  isRunning,
  PATIENCE,
  sendTask,
  serverOfTest,
  temporaryData,
} from './reference-server.ts'

// Servers are started, some of them twice, on a machine that may be busy.
vi.setConfig({ testTimeout: 240_000 })

let database: TemporaryDatabase

beforeAll(async () => {
  database = await temporaryDatabase()
})
afterAll(() => database.drop())

describe('the end', () => {
  test.each(['SIGINT', 'SIGTERM'] as const)('by %s leaves no process', async (signal) => {
    const server = await serverOfTest({ DATABASE_URL: database.url })
    const processes = await descendantsOf(server.process.pid ?? 0)
    expect(processes.length).toBeGreaterThanOrEqual(2)
    server.process.kill(signal)
    expect(await server.exited).toBe(0)
    for (const pid of processes) expect(await isRunning(pid)).toBe(false)
  })

  test('by SIGKILL leaves no process either, and the next server starts on the data', async () => {
    const REPRISE_DATA = await temporaryData()
    const env = { DATABASE_URL: database.url, REPRISE_DATA }
    const killed = await serverOfTest(env)
    const processes = await descendantsOf(killed.process.pid ?? 0)
    killed.process.kill('SIGKILL')
    await vi.waitFor(async () => {
      for (const pid of processes) expect(await isRunning(pid)).toBe(false)
    }, PATIENCE)
    const next = await serverOfTest(env)
    expect(next.printed()).not.toContain('Joined')
  })
})

describe('a second server on the same data', () => {
  test('joins the first one, with its provider, and ends with it', async () => {
    const REPRISE_DATA = await temporaryData()
    const first = await serverOfTest({ DATABASE_URL: database.url, REPRISE_DATA })
    const second = await serverOfTest({ DATABASE_URL: database.url, REPRISE_DATA })
    expect(second.printed()).toContain(`Joined the server with process id ${first.process.pid}`)
    const provider = /payment provider +(.*)/
    expect(provider.exec(second.printed())?.[1]).toBe(provider.exec(first.printed())?.[1])
    await sendTask(first, 'two-servers')
    const again = await sendTask(second, 'two-servers')
    expect(again.headers.get('idempotent-replayed')).toBe('true')

    first.process.kill('SIGINT')
    expect(await second.exited).toBe(0)
    expect(second.printed()).toContain('The server that this one joined has ended.')
  })
})
