import { describe, expect, it } from 'vitest'
import type { Refusal } from '../../src/engine/store.ts'
import type { OpenTransaction } from '../../src/engine/transactions.ts'
import { transactionState } from '../../src/stores/sqlite/client.ts'
import { sqliteStore } from '../../src/stores/sqlite/index.ts'
import { rivalOf, sampleFinish, sampleRequest } from '../../src/testing/contract/sample.ts'
import { type Client, clients, type Handle } from './sqlite-clients.ts'
import { openForTest, testFile } from './sqlite-files.ts'

describe.each(clients())('a transaction of the user on $name', (client) => {
  it('commits record and effects when the user commits', async () => {
    const { store, handle } = await setUp(client)
    const request = sampleRequest()
    handle.exec('begin')
    const joined = await open(store.transactions.begin({ ...request, join: handle }))
    addEffect(joined.tx)
    await joined.commit(sampleFinish())
    handle.exec('commit')

    expect((await store.find(request.id))?.status).toBe('finished')
    expect(effects(handle)).toBe(1)
  })

  it('takes the record along when the user rolls back', async () => {
    const { store, handle } = await setUp(client)
    const request = sampleRequest()
    handle.exec('begin')
    const joined = await open(store.transactions.begin({ ...request, join: handle }))
    addEffect(joined.tx)
    await joined.commit(sampleFinish())
    handle.exec('rollback')

    expect(await store.find(request.id)).toBeUndefined()
    expect(effects(handle)).toBe(0)
  })

  it('keeps what the user did before when the operation is rolled back', async () => {
    const { store, handle } = await setUp(client)
    handle.exec('begin')
    addEffect(handle)
    const joined = await open(store.transactions.begin({ ...sampleRequest(), join: handle }))
    addEffect(joined.tx)
    await joined.rollback()
    handle.exec('commit')

    expect(effects(handle)).toBe(1)
  })

  it('is not entered, and an answer is not replayed before the user commits', async () => {
    const { store, handle } = await setUp(client)
    const request = sampleRequest()
    handle.exec('begin')
    const joined = await open(store.transactions.begin({ ...request, join: handle }))
    await joined.commit(sampleFinish())
    const duplicate = store.claim(rivalOf(request))
    handle.exec('rollback')

    expect((await duplicate).outcome).toBe('execute')
  })

  it('replays inside of itself what it stored', async () => {
    const { store, handle } = await setUp(client)
    const request = sampleRequest()
    handle.exec('begin')
    const joined = await open(store.transactions.begin({ ...request, join: handle }))
    await joined.commit(sampleFinish())
    const duplicate = await store.transactions.begin({ ...rivalOf(request), join: handle })
    handle.exec('commit')

    expect(duplicate.outcome).toBe('replay')
  })

  it('may be one that the store opened for another operation', async () => {
    const { store, handle } = await setUp(client)
    const [outer, inner] = [sampleRequest(), sampleRequest()]
    const transaction = await open(store.transactions.begin(outer))
    const nested = await open(store.transactions.begin({ ...inner, join: transaction.tx }))
    addEffect(nested.tx)
    await nested.commit(sampleFinish())
    await transaction.rollback()

    expect(await store.find(inner.id)).toBeUndefined()
    expect(effects(handle)).toBe(0)
  })

  it('stores no answer of an operation whose effects went with an outer one', async () => {
    const { store, handle } = await setUp(client)
    const [outer, inner] = [sampleRequest(), sampleRequest()]
    handle.exec('begin')
    const one = await open(store.transactions.begin({ ...outer, join: handle }))
    const two = await open(store.transactions.begin({ ...inner, join: handle }))
    addEffect(two.tx)
    await one.rollback()

    await expect(two.commit(sampleFinish())).rejects.toThrow('ended from within')
    handle.exec('commit')
    expect(await store.find(inner.id)).toBeUndefined()
    expect(effects(handle)).toBe(0)
  })

  it('has to be open', async () => {
    const { store, handle } = await setUp(client)

    await expect(
      store.transactions.begin({ ...sampleRequest(), join: handle }),
    ).rejects.toMatchObject({ code: 'reprise-options-invalid' })
  })
})

describe.each(clients())('a connection of the user on $name', (client) => {
  it('is begun and committed on, and made durable', async () => {
    const { store, path } = await setUp(client)
    const connection = openForTest(client, path)
    connection.exec('pragma synchronous = off')
    const request = sampleRequest()
    const transaction = await open(store.transactions.begin({ ...request, connection }))
    addEffect(transaction.tx)
    expect(transactionState(connection)).toBe(true)
    await transaction.commit(sampleFinish())

    expect((await store.find(request.id))?.status).toBe('finished')
    const [level] = Object.values(connection.prepare('pragma synchronous').get() ?? {})
    expect(level).toBe(client.sharesWal ? 2 : 3)
  })

  it('refuses a duplicate of what runs on another connection', async () => {
    const { store, path } = await setUp(client)
    const connection = openForTest(client, path)
    const request = sampleRequest()
    const transaction = await open(store.transactions.begin({ ...request, connection }))

    expect((await store.transactions.begin(rivalOf(request))).outcome).toBe('in_progress')
    await transaction.rollback()
  })

  it('reserves the key against others while it is joined', async () => {
    const { store, handle, path } = await setUp(client)
    const peer = sqliteStore(openForTest(client, path), { ...shared(client), busyMs: 30 })
    await peer.ready()
    const request = sampleRequest()
    handle.exec('begin')
    const joined = await open(store.transactions.begin({ ...request, join: handle }))

    await expect(peer.claim(rivalOf(request))).rejects.toMatchObject({
      code: 'idempotency-store-unavailable',
    })
    await joined.rollback()
    handle.exec('rollback')
  })
})

const shared = ({ sharedJournal: journal }: Client) => ({ shared: true, journal })

async function setUp(client: Client) {
  const path = testFile()
  const handle = openForTest(client, path)
  const store = sqliteStore(handle, shared(client))
  await store.ready()
  handle.exec('create table app_effects (n integer)')
  return { path, handle, store }
}

async function open(
  begun: Promise<OpenTransaction<Handle> | Refusal>,
): Promise<OpenTransaction<Handle>> {
  const result = await begun
  if ('tx' in result) return result
  throw new Error(`The transaction is refused with ${result.outcome}.`)
}

function addEffect(handle: Handle): void {
  handle.exec('insert into app_effects values (1)')
}

function effects(handle: Handle): number {
  return handle.prepare('select * from app_effects').all().length
}
