import { once } from 'node:events'
import { describe, expect, it } from 'vitest'
import { sqliteStore } from '../../src/stores/sqlite/index.ts'
import { migrations } from '../../src/stores/sqlite/migrate.ts'
import { sampleRequest } from '../../src/testing/contract/sample.ts'
import { useChildren } from './sqlite-children.ts'
import { clients, type Handle } from './sqlite-clients.ts'
import { openForTest, testFile } from './sqlite-files.ts'

const addStep = (handle: Handle, number: number, breaking: boolean) =>
  handle.exec(`insert into reprise_migrations (number, breaking) values (${number}, ${breaking})`)

const steps = (handle: Handle) =>
  handle
    .prepare('select number from reprise_migrations')
    .all()
    .map((row) => Object.values(row ?? {})[0])

describe('the steps of the schema', () => {
  it('are numbered without gaps', () => {
    expect(migrations('p_').map(({ number }) => number)).toEqual([1, 2])
  })
})

describe.each(clients())('the schema on $name', (client) => {
  const start = useChildren()

  it('is made once by eight processes at once', async () => {
    const path = testFile()
    const children = Array.from({ length: 8 }, () =>
      start({ client: client.name, path, kind: 'ready' }),
    )
    for (const child of children) expect(await child.message()).toEqual({ reached: 'start' })
    for (const child of children) child.send('go')

    for (const child of children) expect(await child.message()).toEqual({ reached: 'ready' })
    await Promise.all(children.map((child) => child.kill()))
    const handle = openForTest(client, path)
    expect(steps(handle)).toEqual([1, 2])
  })

  it('is made by every call, and only the first has work to do', async () => {
    const handle = openForTest(client, ':memory:')
    const store = sqliteStore(handle)
    await Promise.all([store.ready(), store.ready(), store.migrate()])
    await store.ready()

    expect(steps(handle)).toEqual([1, 2])
  })

  it('is refused when it is missing and may not be made', async () => {
    const handle = openForTest(client, ':memory:')
    const store = sqliteStore(handle, { migrate: false })

    await expect(store.ready()).rejects.toMatchObject({ code: 'reprise-schema-missing' })
    await store.migrate()
    await expect(store.ready()).resolves.toBeUndefined()
  })

  it('is refused when it has a newer, breaking step', async () => {
    const handle = openForTest(client, ':memory:')
    await sqliteStore(handle).ready()
    addStep(handle, 3, true)

    await expect(sqliteStore(handle).ready()).rejects.toMatchObject({
      code: 'reprise-schema-newer',
    })
  })

  it('is used with a warning when it has a newer step that breaks nothing', async () => {
    const handle = openForTest(client, ':memory:')
    await sqliteStore(handle).ready()
    addStep(handle, 3, false)
    const warned = once(process, 'warning')
    await sqliteStore(handle).ready()

    const [warning] = await warned
    expect(warning).toMatchObject({ name: 'RepriseWarning', code: 'REPRISE_SCHEMA_NEWER' })
  })

  it('is separate for each prefix', async () => {
    const handle = openForTest(client, ':memory:')
    const [one, other] = [sqliteStore(handle), sqliteStore(handle, { prefix: 'other_' })]
    await one.ready()
    await other.ready()
    const request = sampleRequest()

    expect((await one.claim(request)).outcome).toBe('execute')
    expect((await other.claim({ ...request, owner: 'another' })).outcome).toBe('execute')
  })

  it('answers sweeps and counts from its indexes', async () => {
    const handle = openForTest(client, ':memory:')
    await sqliteStore(handle).ready()
    const plan = (sql: string) => JSON.stringify(handle.prepare(`explain query plan ${sql}`).all())
    const records = 'from reprise_records where'

    expect(
      plan(`select rowid ${records} response_status is not null and expires_at <= 1`),
    ).toContain('reprise_records_expiry')
    expect(plan(`select count(*) ${records} response_status is null`)).toContain(
      'reprise_records_unfinished',
    )
  })
})
