import { describe, expect, test } from 'vitest'
import { migrations } from '../../src/stores/postgres/migrations/index.ts'
import { cli } from './harness.ts'
import { checks, DatabaseWorld } from './world.ts'

const world = new DatabaseWorld()
const newest = migrations('x').at(-1)?.number ?? 0

describe('C-20 migrate up', () => {
  test('C-20 C-22 prints each step with its time, the version at the end, and reads it back', async () => {
    const { exit, stdout, stderr } = await world.up()
    expect(exit).toBe(0)
    expect(stdout).toBe(`schema ${world.schema} at version ${newest}\n`)
    for (let step = 1; step <= newest; step++)
      expect(stderr).toMatch(new RegExp(`step ${step} +done in \\d+ ms`))
    const { rows } = await world.sql(
      `select max(number) as version from ${world.schema}.migrations`,
    )
    expect(rows[0].version).toBe(newest)

    const again = await world.up()
    expect([again.exit, again.stderr]).toEqual([0, 'Nothing to do.\n'])
  })

  test('C-22 many at once are one', async () => {
    const all = await Promise.all([world.up(), world.up(), world.up()])
    expect(all.map(({ exit }) => exit)).toEqual([0, 0, 0])
  })

  test('C-20 on failure: what PostgreSQL said, the statement, and that nothing was applied', async () => {
    await world.sql(`create schema ${world.schema}`)
    await world.sql(`create table ${world.schema}.staged_jobs (number integer)`)
    const { exit, stderr } = await world.up()
    expect(exit).toBe(1)
    expect(stderr).toContain('nothing was applied')
    expect(stderr).toMatch(/said: +relation "staged_jobs" already exists/)
    const { rows } = await world.sql(`select to_regclass('${world.schema}.records') as records`)
    expect(rows[0].records).toBeNull()
  })

  test('C-22 gives up on a lock after --lock-timeout', async () => {
    await world.sql(`create schema ${world.schema}`)
    await world.sql(
      `create table ${world.schema}.migrations (number integer, breaking boolean not null default true)`,
    )
    const holder = await world.pool.connect()
    try {
      await holder.query(`begin; lock table ${world.schema}.migrations in exclusive mode`)
      const { exit, stderr } = await world.on(['migrate', 'up', '--lock-timeout', '200ms'])
      expect(exit).toBe(1)
      expect(stderr).toMatch(/lock timeout/)
    } finally {
      await holder.query('rollback')
      holder.release()
    }
  })

  test('C-21 --dry-run changes nothing and shows the SQL', async () => {
    const { exit, stdout } = await world.on(['migrate', 'up', '--dry-run', '--show-sql'])
    expect(exit).toBe(0)
    expect(stdout).toContain(`create table "${world.schema}".records`)
    const { rows } = await world.sql(`select to_regnamespace('${world.schema}') as found`)
    expect(rows[0].found).toBeNull()
  })
})

describe('C-21 migrate status', () => {
  test('C-21 is 3 while steps are missing, 0 after, 3 when the books were edited', async () => {
    expect((await world.on(['migrate', 'status'])).exit).toBe(3)
    await world.up()
    const { exit, document } = await world.on(['migrate', 'status', '--json'])
    expect(exit).toBe(0)
    expect(document).toMatchObject({
      schema: world.schema,
      status: 'up_to_date',
      version: newest,
      pending: [],
    })
    await world.sql(`delete from ${world.schema}.migrations where number = 2`)
    const diverged = await world.on(['migrate', 'status', '--json'])
    expect([diverged.exit, diverged.document['status']]).toEqual([3, 'diverged'])
  })

  test('C-21 is 5 when the database is not there', async () => {
    const { exit } = await world.on(['migrate', 'status'], {
      env: { DATABASE_URL: `${world.url}_gone` },
    })
    expect(exit).toBe(5)
  })

  test('C-01 migrate down is refused with the reason', async () => {
    const { exit, stderr } = await world.on(['migrate', 'down'])
    expect(exit).toBe(6)
    expect(stderr).toContain('only go forward')
  })
})

describe('C-23 migrate sql', () => {
  test.each(['sql', 'drizzle', 'prisma'])(
    'C-23 as %s makes the same schema, without a database to print it',
    async (format) => {
      const { stdout } = await cli(['migrate', 'sql', '--schema', world.schema, '--format', format])
      await world.sql(stdout)
      expect((await world.on(['migrate', 'status'])).exit).toBe(0)
      const { document } = await world.on(['doctor', '--json'])
      expect(checks(document).get('drift')?.level).toBe('ok')
    },
  )

  test.each(['node-pg-migrate', 'kysely', 'knex'])(
    'C-23 as %s is a module with the same statements',
    async (format) => {
      const { stdout } = await cli(['migrate', 'sql', '--schema', world.schema, '--format', format])
      const list = /const statements = (\[[\s\S]*\])/.exec(stdout)?.[1] ?? ''
      const statements: string[] = JSON.parse(list.replace(/,\n\]$/, '\n]'))
      for (const statement of statements) await world.sql(statement)
      expect((await world.on(['migrate', 'status'])).exit).toBe(0)
    },
  )

  test('C-21 --from and --to continue each other', async () => {
    await world.sql((await cli(['migrate', 'sql', '--schema', world.schema, '--to', '3'])).stdout)
    expect((await world.on(['migrate', 'status', '--json'])).document).toMatchObject({
      version: 3,
      status: 'behind',
    })
    await world.sql((await cli(['migrate', 'sql', '--schema', world.schema, '--from', '3'])).stdout)
    expect((await world.on(['migrate', 'status'])).exit).toBe(0)
  })
})
