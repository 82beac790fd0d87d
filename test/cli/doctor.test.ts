import { describe, expect, test } from 'vitest'
import { project } from './harness.ts'
import { type Checked, checks, DatabaseWorld } from './world.ts'

const world = new DatabaseWorld()

describe('C-24 doctor', () => {
  test('C-24 has a line for each check, and 0 with warnings alone', async () => {
    await world.up()
    const { exit, document } = await world.on(['doctor', '--json'])
    const found = checks(document)
    expect(exit).toBe(0)
    for (const name of [
      ...['connect', 'version', 'writable', 'isolation', 'schema', 'drift', 'privileges', 'locks'],
      ...['listen', 'clock', 'enqueuer', 'completer', 'reaper', 'stuck', 'unknown', 'jobs'],
      ...['dead letters', 'reaping', 'bloat', 'retention', 'lease', 'scope'],
    ]) {
      expect(found.get(name), name).toBeDefined()
    }
    expect(found.get('enqueuer')?.level).toBe('ok')
  })

  test('C-24 unreachable is FAIL, and 5', async () => {
    const { exit, stdout } = await world.on(['doctor'], {
      env: { DATABASE_URL: 'postgres://nobody@127.0.0.1:1/x' },
    })
    expect(exit).toBe(5)
    expect(stdout).toMatch(/^FAIL +connect .*\n +fix: /)
  })

  test('C-24 a missing schema is FAIL with the command', async () => {
    const { exit, document } = await world.on(['doctor', '--json'])
    expect(exit).toBe(3)
    expect(checks(document).get('schema')).toMatchObject({
      level: 'FAIL',
      fix: ['npx reprise migrate up'],
    })
  })

  test('C-24 finds drift, and the SQL it prints mends it', async () => {
    await world.up()
    await world.sql(`drop index ${world.schema}.records_expired`)
    await world.sql(`drop trigger keep_audit on ${world.schema}.audit`)
    await world.sql(`alter table ${world.schema}.records drop column user_agent`)
    await world.sql(`alter table ${world.schema}.records alter column tries type bigint`)
    await world.sql(`alter table ${world.schema}.dead_letters alter column cause drop not null`)
    await world.sql(`drop table ${world.schema}.waiters`)
    await world.sql(`alter table ${world.schema}.workers drop constraint workers_pkey`)
    await world.sql(
      `create or replace function ${world.schema}.notify_waiters(record_id bytea) returns void language sql as ''`,
    )
    await world.sql(`create table ${world.schema}.mine (id integer)`)
    const { exit, document, stdout } = await world.on(['doctor', '--json'])
    expect(exit).toBe(3)
    for (const word of [
      ...['index records.records_expired is missing', 'column records.user_agent is missing'],
      ...['column records.tries is changed', 'column dead_letters.cause is changed'],
      ...['table waiters is missing', 'constraint workers.workers_pkey is missing'],
      ...[
        'function notify_waiters(record_id bytea) is changed',
        'trigger audit.keep_audit is missing',
      ],
      'table mine is extra',
    ]) {
      expect(stdout).toContain(word)
    }
    const all = (document['checks'] as Checked[]).filter(
      ({ check, level }) => check === 'drift' && level === 'FAIL',
    )
    for (const statement of all.flatMap(({ fix }) => fix)) await world.sql(statement)
    await world.sql(`drop table ${world.schema}.mine`)
    const after = await world.on(['doctor', '--json'])
    expect(checks(after.document).get('drift')?.level).toBe('ok')
  })

  test('C-24 names each privilege that the role lacks, as SQL that gives it', async () => {
    await world.up()
    const role = `app_${world.schema}`
    await world.sql(`create role ${role}`)
    try {
      const before = checks((await world.on(['doctor', '--role', role, '--json'])).document).get(
        'privileges',
      )
      expect(before?.level).toBe('FAIL')
      for (const grant of before?.fix ?? []) await world.sql(grant)
      const after = checks((await world.on(['doctor', '--role', role, '--json'])).document).get(
        'privileges',
      )
      expect(after?.level).toBe('ok')
    } finally {
      await world.sql(`drop owned by ${role}`)
      await world.sql(`drop role ${role}`)
    }
  })

  test('C-24 tells of stuck and dead requests, silent workers, unreaped records and skewed clocks', async () => {
    await world.up()
    await world.record({ age: '1 hour' })
    await world.record({ age: '2 days', status: 201, expired: '1 day' })
    await world.letter()
    await world.sql(`insert into ${world.schema}.workers (worker, node, started_at, ran_at, took_ms, done, runs)
      values ('completer', 'n1', now() - interval '2 hours', now() - interval '1 hour', 1, 0, 1)`)
    const clock = { now: () => 0, after: () => () => {}, unix: () => Date.now() + 600_000 }
    const { exit, document } = await world.on(['doctor', '--json'], {
      clock: { ...clock, now: () => performance.now() },
    })
    const found = checks(document)
    expect(exit).toBe(3)
    expect(found.get('stuck')).toMatchObject({ level: 'warn', text: '1 request nobody finishes.' })
    expect(found.get('dead letters')?.level).toBe('warn')
    expect(found.get('reaping')?.level).toBe('warn')
    expect(found.get('completer')).toMatchObject({
      level: 'FAIL',
      text: expect.stringMatching(/last ran (1 h|60 min)/),
    })
    expect(found.get('clock')).toMatchObject({
      level: 'warn',
      text: expect.stringContaining('ahead'),
    })
  })

  test('C-24 judges the silence of a worker by the interval that it says it has', async () => {
    await world.up()
    const ran = (worker: string, ago: string, everyMs: number | null) =>
      world.sql(
        `insert into ${world.schema}.workers (worker, node, started_at, ran_at, took_ms, done, runs, every_ms)
         values ($1, 'n1', now(), now() - $2::interval, 1, 0, 1, $3)`,
        [worker, ago, everyMs],
      )
    await ran('enqueuer', '5 minutes', 600_000)
    await ran('completer', '5 minutes', null)
    await ran('reaper', '5 minutes', 20_000)
    const found = checks((await world.on(['doctor', '--json'])).document)
    expect(found.get('enqueuer')).toMatchObject({ level: 'ok' })
    expect(found.get('completer')).toMatchObject({ level: 'warn' })
    expect(found.get('reaper')).toMatchObject({
      level: 'warn',
      text: expect.stringMatching(/last ran 5 min.* ago, on n1/),
    })
  })

  test('C-24 lints the configuration', async () => {
    await world.up()
    const short = project(
      { 'reprise.config.mjs': 'export default { retentionMs: 1000, leaseMs: 30000 }' },
      ['pg'],
    )
    const bad = await world.on(['doctor', '--json'], { cwd: short })
    expect(checks(bad.document).get('configuration')).toMatchObject({
      level: 'FAIL',
      text: expect.stringContaining('shorter than leaseMs'),
    })
    const window = project({ 'reprise.config.mjs': 'export default { retentionMs: 3600000 }' }, [
      'pg',
    ])
    const warned = await world.on(['doctor', '--json'], { cwd: window })
    expect(checks(warned.document).get('retention')?.level).toBe('warn')
  })

  test('refuses a configuration with a name that no command reads, and names the nearest', async () => {
    const cwd = project({ 'reprise.config.mjs': 'export default { shema: "app" }' }, ['pg'])
    const { exit, stderr } = await world.on(['migrate', 'status'], { cwd })
    expect(exit).toBe(2)
    expect(stderr).toContain('reprise.config.mjs has `shema`, which nothing reads.')
    expect(stderr).toContain('Did you mean `schema`?')
  })

  test('C-26 --fix mends what is safe, each confirmed', async () => {
    const refused = await world.on(['doctor', '--fix'])
    expect(refused.exit).toBe(6)
    expect(refused.stderr).toContain('--yes')
    const { exit, stderr } = await world.on(['doctor', '--fix', '--yes'])
    expect(exit).toBe(0)
    expect(stderr).toContain('fixed schema: migrate up')
    await world.sql(`drop index ${world.schema}.records_expired`)
    const asked = await world.on(['doctor', '--fix'], { typed: ['y'] })
    expect(asked.asked).toEqual([expect.stringContaining('put back index records.records_expired')])
    expect(asked.exit).toBe(0)
  })
})

test('C-02 works through postgres.js as well', async () => {
  const env = { REPRISE_DRIVER: 'postgres' }
  expect((await world.on(['migrate', 'up'], { env })).exit).toBe(0)
  const { exit, stdout } = await world.on(['doctor'], { env })
  expect([exit, stdout.includes('by postgres')]).toEqual([0, true])
  expect(stdout).toMatch(/warn +driver .*array types.*\n +fix: .*fetch_types: false/)
  expect((await world.on(['keys', 'list'], { env })).exit).toBe(0)
})
