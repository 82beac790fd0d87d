import pg from 'pg'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import type { Store } from '../../src/engine/store.ts'
import { postgresStore } from '../../src/stores/postgres/index.ts'
import { channelOf } from '../../src/stores/postgres/queries.ts'
import { pack } from '../../src/stores/postgres/record.ts'
import { sampleFinish, sampleRequest, take } from '../../src/testing/contract/sample.ts'
import { FakeClock } from '../../src/testing/fake-clock.ts'
import { poolOf } from '../conformance/postgres.harness.ts'
import { type TemporaryDatabase, temporaryDatabase } from '../support/postgres.ts'

let database: TemporaryDatabase
let pool: pg.Pool
let aside: pg.Pool
let clock: FakeClock
let store: Store<pg.PoolClient>
let peer: Store<pg.PoolClient>

beforeEach(async () => {
  database = await temporaryDatabase()
  pool = poolOf(database.url, { application_name: 'watcher' })
  aside = poolOf(database.url)
  clock = new FakeClock()
  store = postgresStore(pool, { clock })
  peer = postgresStore(aside)
  await store.ready()
})

afterEach(async () => {
  await Promise.all([store.close(), peer.close()])
  await Promise.all([pool.end(), aside.end()])
  await database.drop()
})

async function listeningPids(): Promise<number[]> {
  const { rows } = await aside.query(`
    select pid from pg_stat_activity where application_name = 'watcher' and query like 'listen%'`)
  return rows.map(({ pid }) => pid)
}

describe('a notification', () => {
  it('is sent for no record but those that somebody waits for', async () => {
    const listener = new pg.Client({ connectionString: database.url })
    await listener.connect()
    await listener.query(`listen ${channelOf('reprise')}`)
    const heard: (string | undefined)[] = []
    const isDone = new Promise<void>((resolve) => {
      listener.on('notification', ({ payload }) => {
        if (payload === 'done') resolve()
        else heard.push(payload)
      })
    })
    const [alone, waitedFor] = [sampleRequest(), sampleRequest()]
    const unwatch = await store.watch?.(waitedFor.id, () => {})
    for (const request of [alone, waitedFor]) {
      const { claim } = await take(peer, request)
      await peer.finish(claim, sampleFinish())
    }
    const begun = await peer.transactions?.begin(sampleRequest())
    if (begun !== undefined && 'tx' in begun) await begun.commit(sampleFinish())
    await aside.query(`select pg_notify($1, 'done')`, [channelOf('reprise')])
    await isDone
    unwatch?.()
    await listener.end()

    expect(heard).toEqual([Buffer.from(pack(waitedFor.id)).toString('hex')])
  })

  it('is heard again after the listening connection was lost', async () => {
    const request = sampleRequest()
    const { claim } = await take(peer, request)
    let isWoken = false
    const unwatch = await store.watch?.(request.id, () => {
      isWoken = true
    })
    const [pid] = await listeningPids()
    await aside.query('select pg_terminate_backend($1, 5000)', [pid])
    // The one of the registration, and the one to listen again.
    await vi.waitFor(() => expect(clock.timerCount).toBe(2))
    clock.advance(1000)
    await vi.waitFor(async () => expect(await listeningPids()).toHaveLength(1))
    await peer.finish(claim, sampleFinish())

    await vi.waitFor(() => expect(isWoken).toBe(true))
    unwatch?.()
  })
})

describe('the listening connection', () => {
  it('is one for all who watch, and is held until a while after the last of them', async () => {
    expect(await listeningPids()).toHaveLength(0)
    const watching = Array.from({ length: 20 }, async () =>
      store.watch?.(sampleRequest().id, () => {}),
    )
    const unwatches = await Promise.all(watching)
    expect(await listeningPids()).toHaveLength(1)
    for (const unwatch of unwatches) unwatch?.()
    clock.advance(9_000)
    expect(await listeningPids()).toHaveLength(1)
    clock.advance(2_000)

    await vi.waitFor(async () => expect(await listeningPids()).toHaveLength(0))
    expect(clock.timerCount).toBe(0)
  })

  it('is kept when somebody watches again in time', async () => {
    const unwatch = await store.watch?.(sampleRequest().id, () => {})
    unwatch?.()
    const [before] = await listeningPids()
    const again = await store.watch?.(sampleRequest().id, () => {})
    clock.advance(60_000)

    expect(await listeningPids()).toEqual([before])
    again?.()
  })

  it('is closed with the store', async () => {
    await store.watch?.(sampleRequest().id, () => {})
    await store.close()

    await vi.waitFor(async () => expect(await listeningPids()).toHaveLength(0))
  })

  it('is not opened when listening is off, and those of the same store are woken still', async () => {
    const quiet = postgresStore(pool, { listen: false })
    const request = sampleRequest()
    const { claim } = await take(quiet, request)
    let wakings = 0
    await quiet.watch?.(request.id, () => wakings++)
    await quiet.finish(claim, sampleFinish())

    expect(wakings).toBe(1)
    expect(await listeningPids()).toHaveLength(0)
    expect((await aside.query('select from reprise.waiters')).rowCount).toBe(0)
  })
})

describe('a waiter', () => {
  it('is registered in a table that is not logged, until it is swept', async () => {
    await store.watch?.(sampleRequest().id, () => {})
    expect((await aside.query('select from reprise.waiters')).rowCount).toBe(1)
    await store.sweep(10)
    expect((await aside.query('select from reprise.waiters')).rowCount).toBe(1)
    await aside.query(`update reprise.waiters set until = until - interval '1 hour'`)
    await store.sweep(10)

    expect((await aside.query('select from reprise.waiters')).rowCount).toBe(0)
    const text = `select relpersistence from pg_class where oid = 'reprise.waiters'::regclass`
    expect((await aside.query(text)).rows).toEqual([{ relpersistence: 'u' }])
  })
})
