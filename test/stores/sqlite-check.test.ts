import type Libsql from 'libsql'
import { describe, expect, expectTypeOf, it, onTestFinished } from 'vitest'
import { hasWalResetFix, secure } from '../../src/stores/sqlite/check.ts'
import { Connection } from '../../src/stores/sqlite/connection.ts'
import { type SqliteDatabase, sqliteStore } from '../../src/stores/sqlite/index.ts'
import { resolveOptions } from '../../src/stores/sqlite/options.ts'
import { Patience } from '../../src/stores/sqlite/patience.ts'
import { sampleRequest } from '../../src/testing/contract/sample.ts'
import { type Client, clients, type Handle } from './sqlite-clients.ts'
import { openForTest, testFile } from './sqlite-files.ts'

const pragma = (handle: Handle, name: string) =>
  Object.values(handle.prepare(`pragma ${name}`).get() ?? {})[0]

describe('the correction of the WAL reset', () => {
  it.each([
    ['3.44.5', false],
    ['3.44.6', true],
    ['3.45.1', false],
    ['3.49.2', false],
    ['3.50.6', false],
    ['3.50.7', true],
    ['3.51.2', false],
    ['3.51.3', true],
    ['3.52.0', true],
    ['4.0.0', true],
  ])('in %s is known as %s', (version, isFixed) => {
    expect(hasWalResetFix(version)).toBe(isFixed)
  })
})

describe.each(clients())('a handle of $name', (client) => {
  it.each(['untouched', 'set to less'])('is set to WAL and full when %s', async (state) => {
    const handle = openForTest(client, testFile())
    if (state === 'set to less') handle.exec('pragma synchronous = normal')
    const store = sqliteStore(handle)
    await store.ready()
    await store.claim(sampleRequest())

    expect(pragma(handle, 'journal_mode')).toBe('wal')
    expect(pragma(handle, 'synchronous')).toBe(2)
  })

  it('is set to extra synchronisation with a rollback journal', async () => {
    const handle = openForTest(client, testFile())
    await sqliteStore(handle, { journal: 'delete' }).ready()

    expect(pragma(handle, 'journal_mode')).toBe('delete')
    expect(pragma(handle, 'synchronous')).toBe(3)
  })

  it('keeps a stricter synchronisation', async () => {
    const handle = openForTest(client, testFile())
    handle.exec('pragma synchronous = extra')
    await sqliteStore(handle).ready()

    expect(pragma(handle, 'synchronous')).toBe(3)
  })

  it('never blocks the thread for long', async () => {
    const handle = openForTest(client, testFile())
    handle.exec('pragma busy_timeout = 5000')
    await sqliteStore(handle).ready()

    expect(pragma(handle, 'busy_timeout')).toBe(5)
  })

  it('waits for another connection that has the file locked', async () => {
    const path = testFile()
    const rival = openForTest(client, path)
    rival.exec('begin exclusive')
    const options = { journal: client.sharedJournal, busyMs: 20_000 }
    const ready = sqliteStore(openForTest(client, path), options).ready()
    await new Promise((resolve) => setImmediate(resolve))
    rival.exec('rollback')

    await expect(ready).resolves.toBeUndefined()
  })

  it('may be in memory', async () => {
    const handle = openForTest(client, ':memory:')
    const store = sqliteStore(handle, { shared: true })
    await store.ready()

    expect((await store.claim(sampleRequest())).outcome).toBe('execute')
  })

  it('is refused when it does not say whether a transaction is open', async () => {
    const handle = openForTest(client, ':memory:')
    const silent = { exec: handle.exec.bind(handle), prepare: handle.prepare.bind(handle) }

    await expect(sqliteStore(silent).ready()).rejects.toMatchObject({
      code: 'reprise-store-unsafe',
    })
  })

  it('may read integers as big ones', async () => {
    const handle = openForTest(client, ':memory:')
    if ('defaultSafeIntegers' in handle) bigIntegers(handle)
    const store = sqliteStore(handle)
    await store.ready()
    const request = sampleRequest()
    await store.claim(request)

    const found = await store.find(request.id)
    expect(found?.record.fence).toBe(1)
    expect(found?.status).toBe('running')
  })
})

describe.each(clients().filter(({ sharesWal }) => sharesWal))('$name in WAL mode', (client) => {
  it('lets several connections in', async () => {
    const path = testFile()
    const stores = [openForTest(client, path), openForTest(client, path)].map((handle) =>
      sqliteStore(handle, { shared: true }),
    )
    const [one, other] = stores
    await Promise.all(stores.map((store) => store.ready()))
    const request = sampleRequest()

    expect((await one?.claim(request))?.outcome).toBe('execute')
    expect((await other?.claim({ ...request, owner: 'rival' }))?.outcome).toBe('in_progress')
  })
})

describe.each(clients().filter(({ sharesWal }) => !sharesWal))(
  '$name, which loses commits in WAL mode,',
  (client) => {
    it('is refused when connections are to share the file', async () => {
      const store = sqliteStore(openForTest(client, testFile()), { shared: true })

      await expect(store.ready()).rejects.toMatchObject({
        code: 'reprise-store-unsafe',
        message: expect.stringContaining(`journal: 'delete'`),
      })
    })

    it('is taken for shared use with a rollback journal', async () => {
      const store = sqliteStore(openForTest(client, testFile()), {
        ...{ shared: true, journal: 'delete' },
      })

      await expect(store.ready()).resolves.toBeUndefined()
    })

    it.each(['untouched', 'in use'])('keeps the file for itself when it was %s', async (state) => {
      const path = testFile()
      if (state === 'in use') makeWal(client, path)
      const handle = openForTest(client, path)
      if (state === 'in use') handle.prepare('select * from app').all()
      await sqliteStore(handle).ready()
      const intruder = openForTest(client, path)

      expect(() => intruder.prepare('select * from sqlite_master').all()).toThrow('locked')
      expect(() => intruder.exec('begin immediate')).toThrow('locked')
    })

    it('keeps the file for itself before anything is written', async () => {
      const path = testFile()
      makeWal(client, path)
      const handle = openForTest(client, path)
      handle.prepare('select * from app').all()
      const settings = resolveOptions({})
      await secure(Connection.of(handle), settings, new Patience(settings))

      expect(() => openForTest(client, path).exec('begin immediate')).toThrow('locked')
    })

    it('does not start while another connection has the file open', async () => {
      const path = testFile()
      makeWal(client, path)
      const first = openForTest(client, path)
      first.prepare('select * from app').all()
      const store = sqliteStore(openForTest(client, path), { busyMs: 30 })

      await expect(store.ready()).rejects.toMatchObject({
        code: 'idempotency-store-unavailable',
        message: expect.stringContaining(`journal: 'delete'`),
      })
    })
  },
)

describe('the types', () => {
  it('let a handle in without a cast', () => {
    expectTypeOf<Libsql.Database>().toExtend<SqliteDatabase>()
    expectTypeOf(sqliteStore<Libsql.Database>).returns.toHaveProperty('transactions')
  })
})

describe('the options', () => {
  it.each([
    { prefix: '' },
    { prefix: '1a' },
    { prefix: 'a-b' },
    { prefix: 'sqlite_x' },
    { prefix: 'a'.repeat(41) },
    { busyMs: -1 },
    { busyMs: 0.5 },
  ])('%o are refused', (options) => {
    const handle = clients()[0]?.open(':memory:')
    onTestFinished(() => void handle?.close())

    expect(() => handle && sqliteStore(handle, options)).toThrow('reprise-options-invalid')
  })
})

/** Makes a file that is in WAL mode before the store sees it. */
function makeWal(client: Client, path: string): void {
  const handle = client.open(path)
  handle.exec('pragma journal_mode = wal')
  handle.exec('create table app (n integer)')
  handle.close()
}

function bigIntegers(handle: { defaultSafeIntegers?: unknown }): void {
  if (typeof handle.defaultSafeIntegers === 'function') handle.defaultSafeIntegers(true)
}
