import { describe, expect, it } from 'vitest'
import type { Refusal } from '../../src/engine/store.ts'
import type { OpenTransaction } from '../../src/engine/transactions.ts'
import { type SqliteStoreOptions, sqliteStore } from '../../src/stores/sqlite/index.ts'
import {
  impostorOf,
  rivalOf,
  sampleFinish,
  sampleRequest,
} from '../../src/testing/contract/sample.ts'
import { type Client, clients, type Handle } from './sqlite-clients.ts'
import { openForTest, testFile } from './sqlite-files.ts'

describe.each(clients())('transactions on $name', (client) => {
  it('refuse another request at once while one is open', async () => {
    const { store } = await setUp(client)
    const request = sampleRequest()
    const transaction = await open(store.transactions.begin(request))

    expect(await store.transactions.begin(impostorOf(request))).toEqual({ outcome: 'mismatch' })
    await transaction.rollback()
  })

  it('refuse a duplicate at once that came through another store on the handle', async () => {
    const { store, handle } = await setUp(client)
    const request = sampleRequest()
    const transaction = await open(store.transactions.begin(request))

    const duplicate = await sqliteStore(handle).transactions.begin(rivalOf(request))
    expect(duplicate).toMatchObject({ outcome: 'in_progress', leaseLeftMs: null })
    await transaction.rollback()
  })

  it('refuse a duplicate as soon as the one before it has opened', async () => {
    const { store } = await setUp(client)
    const request = sampleRequest()
    const other = await open(store.transactions.begin(sampleRequest()))
    const first = store.transactions.begin(request)
    const second = store.transactions.begin(rivalOf(request))
    await other.rollback()

    const transaction = await open(first)
    expect((await second).outcome).toBe('in_progress')
    await transaction.rollback()
  })

  it('never refuse a request for one that is itself refused', async () => {
    const { store } = await setUp(client)
    const request = sampleRequest()
    const first = await open(store.transactions.begin(request))
    await first.commit(sampleFinish())
    const blocker = await open(store.transactions.begin(sampleRequest()))
    const impostor = store.transactions.begin(impostorOf(request))
    const duplicate = store.transactions.begin(rivalOf(request))
    await blocker.rollback()

    expect((await impostor).outcome).toBe('mismatch')
    expect((await duplicate).outcome).toBe('replay')
  })

  it('are not entered by verbs of other requests', async () => {
    const { store, handle } = await setUp(client)
    const peer = sqliteStore(handle)
    const [request, other] = [sampleRequest(), sampleRequest()]
    const transaction = await open(store.transactions.begin(request))
    const answers = [store.claim(other), peer.claim(sampleRequest()), peer.find(request.id)]
    const settled = new Set<unknown>()
    for (const answer of answers) void answer.then((value) => settled.add(value))
    addEffect(transaction.tx)
    await turnOfTheLoop()

    expect(settled.size).toBe(0)
    await transaction.rollback()
    expect(await Promise.all(answers)).toMatchObject([
      { outcome: 'execute' },
      { outcome: 'execute' },
      undefined,
    ])
    expect((await store.find(other.id))?.status).toBe('running')
    expect(effects(handle)).toBe(0)
  })

  it('keep others waiting no longer than is set', async () => {
    const { store } = await setUp(client, { busyMs: 30 })
    const transaction = await open(store.transactions.begin(sampleRequest()))
    const late = [
      store.claim(sampleRequest()),
      store.find('any'),
      store.transactions.begin(sampleRequest()),
    ]

    for (const { status, ...rest } of await Promise.allSettled(late)) {
      expect(status).toBe('rejected')
      expect(rest).toMatchObject({ reason: { code: 'idempotency-store-unavailable' } })
    }
    await transaction.commit(sampleFinish())
    expect((await store.claim(sampleRequest())).outcome).toBe('execute')
  })

  it('let the others in, one after the other, in the order in which they came', async () => {
    const { store, handle } = await setUp(client)
    const order: number[] = []
    const run = async (number: number) => {
      const transaction = await open(store.transactions.begin(sampleRequest()))
      order.push(number)
      addEffect(transaction.tx)
      await turnOfTheLoop()
      await transaction.commit(sampleFinish())
    }
    await Promise.all([1, 2, 3, 4, 5].map(run))

    expect(order).toEqual([1, 2, 3, 4, 5])
    expect(effects(handle)).toBe(5)
  })

  it('let verbs in afterwards in the order in which they came', async () => {
    const { store } = await setUp(client)
    const transaction = await open(store.transactions.begin(sampleRequest()))
    const order: number[] = []
    const verbs = [1, 2, 3, 4, 5, 6, 7, 8].map(async (number) => {
      await store.claim(sampleRequest())
      order.push(number)
    })
    await transaction.rollback()
    await Promise.all(verbs)

    expect(order).toEqual([1, 2, 3, 4, 5, 6, 7, 8])
  })

  it('store nothing when the handler ended the transaction', async () => {
    const { store } = await setUp(client)
    const request = sampleRequest()
    const transaction = await open(store.transactions.begin(request))
    transaction.tx.exec('rollback')

    await expect(transaction.commit(sampleFinish())).rejects.toThrow('ended from within')
    expect(await store.find(request.id)).toBeUndefined()
  })

  it('can not be committed after a rollback', async () => {
    const { store } = await setUp(client)
    const request = sampleRequest()
    const transaction = await open(store.transactions.begin(request))
    await transaction.rollback()

    await expect(transaction.commit(sampleFinish())).rejects.toThrow('has ended')
    expect(await store.find(request.id)).toBeUndefined()
  })

  it('execute what was suspended before anything happened, under the next fence', async () => {
    const { store } = await setUp(client)
    const request = sampleRequest({ recoveryPoint: 'started' })
    await suspend(store, request)
    const transaction = await open(store.transactions.begin(rivalOf(request)))
    await transaction.commit(sampleFinish())

    expect(transaction.outcome).toBe('execute')
    expect((await store.find(request.id))?.record.fence).toBe(2)
  })

  it('do not go on from where phases stopped', async () => {
    const { store } = await setUp(client)
    const request = sampleRequest({ recoveryPoint: 'charged' })
    await suspend(store, request)

    expect((await store.transactions.begin(rivalOf(request))).outcome).toBe('unknown')
    const taker = rivalOf(request, { takesUnknown: true })
    const transaction = await open(store.transactions.begin(taker))
    expect(transaction.outcome).toBe('recover')
    await transaction.rollback()
  })
})

describe.each(clients())('classification on $name', (client) => {
  it('tells contention and a lost race from other errors', async () => {
    const { store, handle, path } = await setUp(client, { journal: client.sharedJournal })
    const rival = openForTest(client, path)
    rival.exec('pragma busy_timeout = 0')
    handle.exec('begin immediate')
    const busy = errorOf(() => rival.exec('begin immediate'))
    handle.exec('rollback')
    const request = sampleRequest()
    await store.claim(request)
    const row = `insert into reprise_records select * from reprise_records where id = '${request.id}'`
    handle.exec('create table app_unique (id text primary key)')
    handle.exec(`insert into app_unique values ('1')`)
    const { classify } = store.transactions

    expect(classify.call(store.transactions, busy)).toBe('retry')
    expect(
      classify.call(
        store.transactions,
        errorOf(() => handle.exec(row)),
      ),
    ).toBe('lost')
    const ofTheApp = errorOf(() => handle.exec(`insert into app_unique values ('1')`))
    expect(classify.call(store.transactions, ofTheApp)).toBe('other')
    const syntax = errorOf(() => handle.exec('no sql'))
    expect(classify.call(store.transactions, syntax)).toBe('other')
  })

  it('sends back a transaction whose view is out of date', async () => {
    if (!client.sharesWal) return expect(client.sharedJournal).toBe('delete')
    const { store, handle, path } = await setUp(client, { shared: true })
    const rival = openForTest(client, path)
    rival.exec('begin')
    rival.prepare('select * from app_effects').all()
    addEffect(handle)
    const error = await store.transactions
      .begin({ ...sampleRequest(), join: rival })
      .catch((error: unknown) => error)

    expect(store.transactions.classify(error)).toBe('retry')
  })
})

/** A store on a file of its own, with a table of the app's. */
async function setUp(client: Client, options: SqliteStoreOptions = {}) {
  const path = testFile()
  const handle = openForTest(client, path)
  const store = sqliteStore(handle, options)
  await store.ready()
  handle.exec('create table app_effects (n integer)')
  return { path, handle, store }
}

type Begun = Promise<OpenTransaction<Handle> | Refusal>

async function open(begun: Begun): Promise<OpenTransaction<Handle>> {
  const result = await begun
  if ('tx' in result) return result
  throw new Error(`The transaction is refused with ${result.outcome}.`)
}

async function suspend(
  store: ReturnType<typeof sqliteStore>,
  request: ReturnType<typeof sampleRequest>,
): Promise<void> {
  const granted = await store.claim(request)
  if ('claim' in granted) await store.release(granted.claim, 'suspend')
}

function addEffect(handle: Handle): void {
  handle.exec('insert into app_effects values (1)')
}

function effects(handle: Handle): number {
  return handle.prepare('select * from app_effects').all().length
}

function turnOfTheLoop(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve))
}

function errorOf(work: () => unknown): unknown {
  try {
    work()
  } catch (error) {
    return error
  }
  return undefined
}
