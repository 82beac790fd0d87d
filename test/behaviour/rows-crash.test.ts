import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { query } from '../../scripts/servers/postgres.ts'
import { type Child, useProgram } from '../support/children.ts'
import { type TemporaryDatabase, temporaryDatabase } from '../support/postgres.ts'
import { type CrashHooks, type CrashSettings, crashApi } from './crash-api.ts'
import type { CrashMessage, CrashTask } from './crash-program.ts'
import { openRaw, sendRaw } from './raw-http.ts'

/** A retry right after the crash waits for this long, then decides. */
const LEASE_MS = 1000
/** Sent with a retry: it is answered when the lease of the dead process has lapsed. */
const PATIENT = [['Prefer', 'wait=10']] as const

const start = useProgram<CrashTask, CrashMessage>(join(import.meta.dirname, 'crash-program.ts'))
let database: TemporaryDatabase
let ledger: string[]
let provider: string

beforeAll(async () => {
  database = await temporaryDatabase()
  await query(database.url, 'create table effects (key text)')
  ledger = []
  // A payment provider without keys of its own: it charges each time that it is asked.
  const server = createServer((request, response) => {
    ledger.push(request.url?.slice(1) ?? '')
    response.end()
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  // A server that listens on a port has such an address.
  provider = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  return () => server.close()
})
afterAll(() => database.drop())

function settings(mode: CrashSettings['mode']): CrashSettings {
  return { url: database.url, mode, provider, leaseMs: LEASE_MS }
}

/** The same API in this process. */
async function survivor(mode: CrashSettings['mode'], hooks: CrashHooks = {}) {
  const { app, pool, reprise } = crashApi(settings(mode), hooks)
  const server = app.listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(async () => {
    server.closeAllConnections()
    server.close()
    await reprise.close()
    await pool.end()
  })
  // A server that listens on a port has such an address.
  const { port } = server.address() as AddressInfo
  return (key: string) => sendRaw(port, { key, headers: PATIENT })
}

async function portOf(child: Child<CrashMessage>): Promise<number> {
  const message = await child.message()
  if (typeof message !== 'object') throw new Error(`The server said ${message}.`)
  return message.port
}

/** Has a server die inside of a request. */
async function crash(key: string, task: Pick<CrashTask, 'mode' | 'point'>): Promise<void> {
  const child = start({ ...settings(task.mode), ...task, does: 'die', graceMs: 0 })
  const socket = await openRaw(await portOf(child), { key })
  expect(await child.gone).toEqual([null, 'SIGKILL'])
  socket.destroy()
}

async function effects(key: string): Promise<number> {
  const rows = await query(database.url, `select from effects where key = '${key}'`)
  return (rows.rowCount ?? 0) + ledger.filter((charged) => charged === key).length
}

describe('a process that is killed', () => {
  it('row 14: before it announced its effect leaves a key that the next request takes over', async () => {
    await crash('r14', { mode: 'marked', point: 'before-effect' })
    const retry = await survivor('marked')
    expect((await retry('r14')).json).toEqual({ charged: 'r14' })
    expect((await retry('r14')).header('Idempotent-Replayed')).toBe('true')
    expect(await effects('r14')).toBe(1)
    const { rows } = await query(
      database.url,
      `select fence from reprise.records where key = 'r14'`,
    )
    expect(rows.map(({ fence }) => Number(fence))).toEqual([2])
  })

  it.each(['before-effect', 'after-effect'] as const)(
    'row 14: %s, inside of its transaction, has done nothing; the next request runs',
    async (point) => {
      await crash(`r14-${point}`, { mode: 'transaction', point })
      const retry = await survivor('transaction')
      expect((await retry(`r14-${point}`)).status).toBe(201)
      expect((await retry(`r14-${point}`)).header('Idempotent-Replayed')).toBe('true')
      expect(await effects(`r14-${point}`)).toBe(1)
    },
  )

  it('row 15: after its transaction committed has stored its answer, which replays', async () => {
    await crash('r15', { mode: 'transaction', point: 'after-commit' })
    const again = await (await survivor('transaction'))('r15')
    expect([again.status, again.json]).toEqual([201, { charged: 'r15' }])
    expect(again.header('Idempotent-Replayed')).toBe('true')
    expect(await effects('r15')).toBe(1)
  })

  it.each(['plain', 'marked'] as const)(
    'row 16: after a foreign effect (%s) is not repeated: 409, the outcome is unknown',
    async (mode) => {
      const key = `r16-${mode}`
      await crash(key, { mode, point: 'after-effect' })
      const retry = await survivor(mode)
      for (let attempt = 0; attempt < 2; attempt++) {
        const refused = await retry(key)
        expect([refused.status, refused.json]).toMatchObject([
          409,
          { code: 'idempotency-outcome-unknown', retryable: false },
        ])
      }
      expect(await effects(key)).toBe(1)
    },
  )

  it('row 16: after a foreign effect is settled by recover(), which finds it and answers', async () => {
    await crash('r16-recover', { mode: 'plain', point: 'after-effect' })
    const retry = await survivor('plain', {
      afterCrash: async ({ key }) =>
        ledger.includes(key)
          ? { status: 201, headers: [], body: Buffer.from(`found ${key}`) }
          : 'rerun',
    })
    expect((await retry('r16-recover')).text).toBe('found r16-recover')
    const again = await retry('r16-recover')
    expect([again.text, again.header('Idempotent-Replayed')]).toEqual(['found r16-recover', 'true'])
    expect(await effects('r16-recover')).toBe(1)
  })

  it('row 16: before a foreign effect is run again where recover() finds none', async () => {
    await crash('r16-none', { mode: 'plain', point: 'before-effect' })
    const retry = await survivor('plain', {
      afterCrash: async ({ key }) => (ledger.includes(key) ? 'refuse' : 'rerun'),
    })
    expect((await retry('r16-none')).json).toEqual({ charged: 'r16-none' })
    expect(await effects('r16-none')).toBe(1)
  })

  it('row 16: after a foreign effect is run again only where the route says that this is harmless', async () => {
    await crash('r16-rerun', { mode: 'plain', point: 'after-effect' })
    const retry = await survivor('plain', { afterCrash: 'rerun' })
    expect((await retry('r16-rerun')).status).toBe(201)
    expect(await effects('r16-rerun')).toBe(2)
  })
})

describe('a process that is told to stop', () => {
  it('row 26: takes no new request, finishes the running one, then ends', async () => {
    const task = { point: 'after-effect', does: 'wait', graceMs: 10_000 } as const
    const child = start({ ...settings('plain'), ...task })
    const port = await portOf(child)
    const running = sendRaw(port, { key: 'r26' })
    expect(await child.message()).toBe('inside')
    child.signal('SIGTERM')
    expect(await child.message()).toBe('closing')

    const refused = await sendRaw(port, { key: 'r26-new' })
    expect([refused.status, refused.json]).toMatchObject([
      503,
      { code: 'idempotency-shutting-down', retryable: true },
    ])
    expect(refused.header('Retry-After')).toMatch(/^[1-9]\d*$/)
    child.send('go')
    expect((await running).json).toEqual({ charged: 'r26' })
    expect(await child.gone).toEqual([0, null])

    const again = await (await survivor('plain'))('r26')
    expect(again.header('Idempotent-Replayed')).toBe('true')
    expect([await effects('r26'), await effects('r26-new')]).toEqual([1, 0])
  })

  it('row 26: leaves to the lease what does not finish in time', async () => {
    const task = { point: 'before-effect', does: 'wait', graceMs: 1 } as const
    const child = start({ ...settings('marked'), ...task })
    const socket = await openRaw(await portOf(child), { key: 'r26-late' })
    expect(await child.message()).toBe('inside')
    child.signal('SIGTERM')
    expect(await child.message()).toBe('closing')
    expect(await child.message()).toBe('closed')
    await child.kill()
    socket.destroy()

    const retry = await survivor('marked')
    expect((await retry('r26-late')).json).toEqual({ charged: 'r26-late' })
    expect(await effects('r26-late')).toBe(1)
  })
})
