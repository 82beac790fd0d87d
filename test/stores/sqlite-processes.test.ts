import { describe, expect, it } from 'vitest'
import { sqliteStore } from '../../src/stores/sqlite/index.ts'
import { rivalOf, sampleRequest } from '../../src/testing/contract/sample.ts'
import type { Child } from '../support/children.ts'
import type { ChildMessage, ChildTask } from './sqlite-child.ts'
import { useChildren } from './sqlite-children.ts'
import { type Client, clients, type Handle } from './sqlite-clients.ts'
import { openForTest, testFile } from './sqlite-files.ts'

describe.each(clients())('processes on one file through $name', (client) => {
  const start = useChildren()
  const startOn = (path: string, kind: ChildTask['kind']) =>
    start({ client: client.name, path, kind })

  it('keep what was acknowledged when they are killed', async () => {
    const { path, store } = await setUp(client)
    const stored = await collect(startOn(path, 'claim'), 40)

    for (const id of stored) expect((await store.find(id))?.status).toBe('finished')
  })

  it('commit effects with the record or not at all when they are killed', async () => {
    const { path, store, handle } = await setUp(client)
    const stored = await collect(startOn(path, 'transact'), 40)

    for (const id of stored) expect((await store.find(id))?.status).toBe('finished')
    const { records } = await store.list({ limit: 10_000 })
    const kept = records.map(({ record }) => record.id).sort()
    expect(effects(handle)).toEqual(kept.flatMap((id) => [id, id]))
  })

  it('leave nothing of a transaction that was half way when they are killed', async () => {
    const { path, store, handle } = await setUp(client)
    const child = startOn(path, 'stop-inside')
    const id = await reached(child)
    await child.kill()

    expect(effects(handle)).toEqual([])
    expect((await store.claim(sampleRequest({ id }))).outcome).toBe('execute')
  })

  it('leave the lease standing when they are killed', async () => {
    const { path, store } = await setUp(client)
    const child = startOn(path, 'stop-claimed')
    const id = await reached(child)
    await child.kill()

    expect((await store.find(id))?.status).toBe('running')
  })

  it('leave the event loop free while another one holds the write lock', async () => {
    const { path, store } = await setUp(client)
    const child = startOn(path, 'hold')
    await child.message()
    const gaps: number[] = []
    let before = performance.now()
    const timer = setInterval(() => {
      gaps.push(performance.now() - before)
      before = performance.now()
      if (gaps.length === 50) void child.kill()
    }, 1)
    const answer = await store.claim(sampleRequest())
    clearInterval(timer)

    expect(answer.outcome).toBe('execute')
    expect(gaps.length).toBeGreaterThanOrEqual(50)
    expect(gaps.sort((a, b) => a - b)[25]).toBeLessThan(50)
  })

  it('answer replays while another one holds the write lock', async () => {
    const { path, store } = await setUp(client)
    const request = sampleRequest()
    const granted = await store.claim(request)
    const child = startOn(path, 'hold')
    await child.message()

    expect(granted.outcome).toBe('execute')
    expect((await store.claim(rivalOf(request))).outcome).toBe('in_progress')
  })

  it('are unavailable to each other when the lock is held for too long', async () => {
    const { path, handle } = await setUp(client)
    const child = startOn(path, 'hold')
    await child.message()
    const store = sqliteStore(handle, { ...shared(client), busyMs: 50 })

    await expect(store.claim(sampleRequest())).rejects.toMatchObject({
      code: 'idempotency-store-unavailable',
    })
    await expect(store.transactions.begin(sampleRequest())).rejects.toMatchObject({
      code: 'idempotency-store-unavailable',
    })
  })
})

const shared = ({ sharedJournal: journal }: Client) => ({ shared: true, journal, busyMs: 20_000 })

async function setUp(client: Client) {
  const path = testFile()
  const handle = openForTest(client, path)
  const store = sqliteStore(handle, shared(client))
  await store.ready()
  handle.exec('create table app_effects (id text)')
  return { path, handle, store }
}

/** Kills the child after so many messages; answers the ids that it had stored by then. */
async function collect(child: Child<ChildMessage>, count: number): Promise<readonly string[]> {
  const stored: string[] = []
  while (stored.length < count) {
    const message = await child.message()
    if ('stored' in message) stored.push(message.stored)
  }
  await child.kill()
  return stored
}

async function reached(child: Child<ChildMessage>): Promise<string> {
  const message = await child.message()
  return 'reached' in message ? message.reached : ''
}

function effects(handle: Handle): unknown[] {
  const rows = handle.prepare('select id from app_effects order by id').all()
  return rows.map((row) => Object.values(row ?? {})[0])
}
