import { randomUUID } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, test, vi } from 'vitest'
import {
  isRunning,
  PATIENCE,
  parentOf,
  sendTask,
  serverOfTest,
  temporaryData,
} from './reference-server.ts'

// Servers are started, some of them twice, on a machine that may be busy.
vi.setConfig({ testTimeout: 240_000 })

const postmasterOf = async (data: string) =>
  Number((await readFile(join(data, 'postgres/data/postmaster.pid'), 'utf8')).split('\n')[0])

describe('the PostgreSQL that comes with an npm package', () => {
  test('is started where there is no DATABASE_URL, ends with the server, keeps its data', async () => {
    const REPRISE_DATA = await temporaryData()
    const first = await serverOfTest({ REPRISE_DATA, REPRISE_DATABASE: 'postgres' })
    expect(first.printed()).toContain(`PostgreSQL from npm, data in ${REPRISE_DATA}/postgres`)
    const key = randomUUID()
    expect((await sendTask(first, key)).status).toBe(201)
    const pid = await postmasterOf(REPRISE_DATA)
    first.process.kill('SIGINT')
    expect(await first.exited).toBe(0)
    expect(await isRunning(pid)).toBe(false)

    const second = await serverOfTest({ REPRISE_DATA, REPRISE_DATABASE: 'postgres' })
    const again = await sendTask(second, key)
    expect(again.headers.get('idempotent-replayed')).toBe('true')
    expect((await second.ledger()).tasks).toBe(1)
  })

  test('that outlived its server is ended by the next one, and nothing is lost', async () => {
    const REPRISE_DATA = await temporaryData()
    const first = await serverOfTest({ REPRISE_DATA, REPRISE_DATABASE: 'postgres' })
    const key = randomUUID()
    expect((await sendTask(first, key)).status).toBe(201)
    const orphan = await postmasterOf(REPRISE_DATA)
    // First the one that would end it, and then the server.
    process.kill(await parentOf(orphan), 'SIGKILL')
    first.process.kill('SIGKILL')
    await first.exited
    expect(await isRunning(orphan)).toBe(true)

    const second = await serverOfTest({ REPRISE_DATA, REPRISE_DATABASE: 'postgres' })
    expect(await isRunning(orphan)).toBe(false)
    const again = await sendTask(second, key)
    expect(again.headers.get('idempotent-replayed')).toBe('true')
  })
})

describe('PGlite', () => {
  test('does the same where it has to, says what that means, and keeps its data', async () => {
    const REPRISE_DATA = await temporaryData()
    const first = await serverOfTest({ REPRISE_DATA, REPRISE_DATABASE: 'pglite' })
    expect(first.printed()).toContain('PGlite runs one transaction at a time')
    const key = randomUUID()
    await expect(sendTask(first, key, 'crash=before-commit')).rejects.toThrow('fetch failed')
    await vi.waitFor(async () => expect((await sendTask(first, key)).status).toBe(201), PATIENCE)
    const sent = await Promise.all(Array.from({ length: 10 }, () => sendTask(first, randomUUID())))
    expect(sent.map(({ status }) => status)).toEqual(sent.map(() => 201))
    first.process.kill('SIGINT')
    expect(await first.exited).toBe(0)

    const second = await serverOfTest({ REPRISE_DATA, REPRISE_DATABASE: 'pglite' })
    const again = await sendTask(second, key)
    expect(again.headers.get('idempotent-replayed')).toBe('true')
    expect((await second.ledger()).tasks).toBe(11)
  })
})
