import pg from 'pg'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { createReprise } from '../../src/engine/reprise.ts'
import { postgresStore } from '../../src/stores/postgres/index.ts'
import { migrations } from '../../src/stores/postgres/migrations/index.ts'
import { keepDuplicates } from '../../src/telemetry/index.ts'
import { type TemporaryDatabase, temporaryDatabase } from '../support/postgres.ts'
import { cli, project, type World } from './harness.ts'

let database: TemporaryDatabase
let pool: pg.Pool
let schema: string
let count = 0
const newest = migrations('x').at(-1)?.number ?? 0

beforeAll(async () => {
  database = await temporaryDatabase()
  pool = new pg.Pool({ connectionString: database.url, max: 3 })
})

afterAll(async () => {
  await pool.end()
  await database.drop()
})

beforeEach(() => {
  schema = `cli_${++count}`
})

/** Runs a command on this test's schema. */
function on(argv: readonly string[], world: World = {}) {
  const env = { DATABASE_URL: database.url, REPRISE_SCHEMA: schema, ...world.env }
  return cli(argv, { ...world, env })
}

const up = () => on(['migrate', 'up'])
const sql = (text: string, values: readonly unknown[] = []) => pool.query(text, [...values])

describe('C-20 migrate up', () => {
  test('C-20 C-22 prints each step with its time, the version at the end, and reads it back', async () => {
    const { exit, stdout, stderr } = await up()
    expect(exit).toBe(0)
    expect(stdout).toBe(`schema ${schema} at version ${newest}\n`)
    for (let step = 1; step <= newest; step++)
      expect(stderr).toMatch(new RegExp(`step ${step} +done in \\d+ ms`))
    const { rows } = await sql(`select max(number) as version from ${schema}.migrations`)
    expect(rows[0].version).toBe(newest)

    const again = await up()
    expect([again.exit, again.stderr]).toEqual([0, 'Nothing to do.\n'])
  })

  test('C-22 many at once are one', async () => {
    const all = await Promise.all([up(), up(), up()])
    expect(all.map(({ exit }) => exit)).toEqual([0, 0, 0])
  })

  test('C-20 on failure: what PostgreSQL said, the statement, and that nothing was applied', async () => {
    await sql(`create schema ${schema}`)
    await sql(`create table ${schema}.staged_jobs (number integer)`)
    const { exit, stderr } = await up()
    expect(exit).toBe(1)
    expect(stderr).toContain('nothing was applied')
    expect(stderr).toMatch(/said: +relation "staged_jobs" already exists/)
    const { rows } = await sql(`select to_regclass('${schema}.records') as records`)
    expect(rows[0].records).toBeNull()
  })

  test('C-22 gives up on a lock after --lock-timeout', async () => {
    await sql(`create schema ${schema}`)
    await sql(
      `create table ${schema}.migrations (number integer, breaking boolean not null default true)`,
    )
    const holder = await pool.connect()
    try {
      await holder.query(`begin; lock table ${schema}.migrations in exclusive mode`)
      const { exit, stderr } = await on(['migrate', 'up', '--lock-timeout', '200ms'])
      expect(exit).toBe(1)
      expect(stderr).toMatch(/lock timeout/)
    } finally {
      await holder.query('rollback')
      holder.release()
    }
  })

  test('C-21 --dry-run changes nothing and shows the SQL', async () => {
    const { exit, stdout } = await on(['migrate', 'up', '--dry-run', '--show-sql'])
    expect(exit).toBe(0)
    expect(stdout).toContain(`create table "${schema}".records`)
    const { rows } = await sql(`select to_regnamespace('${schema}') as found`)
    expect(rows[0].found).toBeNull()
  })
})

describe('C-21 migrate status', () => {
  test('C-21 is 3 while steps are missing, 0 after, 3 when the books were edited', async () => {
    expect((await on(['migrate', 'status'])).exit).toBe(3)
    await up()
    const { exit, document } = await on(['migrate', 'status', '--json'])
    expect(exit).toBe(0)
    expect(document).toMatchObject({ schema, status: 'up_to_date', version: newest, pending: [] })
    await sql(`delete from ${schema}.migrations where number = 2`)
    const diverged = await on(['migrate', 'status', '--json'])
    expect([diverged.exit, diverged.document['status']]).toEqual([3, 'diverged'])
  })

  test('C-21 is 5 when the database is not there', async () => {
    const { exit } = await on(['migrate', 'status'], {
      env: { DATABASE_URL: `${database.url}_gone` },
    })
    expect(exit).toBe(5)
  })

  test('C-01 migrate down is refused with the reason', async () => {
    const { exit, stderr } = await on(['migrate', 'down'])
    expect(exit).toBe(6)
    expect(stderr).toContain('only go forward')
  })
})

describe('C-23 migrate sql', () => {
  test.each(['sql', 'drizzle', 'prisma'])(
    'C-23 as %s makes the same schema, without a database to print it',
    async (format) => {
      const { stdout } = await cli(['migrate', 'sql', '--schema', schema, '--format', format])
      await sql(stdout)
      expect((await on(['migrate', 'status'])).exit).toBe(0)
      const { document } = await on(['doctor', '--json'])
      expect(checks(document).get('drift')?.level).toBe('ok')
    },
  )

  test.each(['node-pg-migrate', 'kysely', 'knex'])(
    'C-23 as %s is a module with the same statements',
    async (format) => {
      const { stdout } = await cli(['migrate', 'sql', '--schema', schema, '--format', format])
      const list = /const statements = (\[[\s\S]*\])/.exec(stdout)?.[1] ?? ''
      const statements: string[] = JSON.parse(list.replace(/,\n\]$/, '\n]'))
      for (const statement of statements) await sql(statement)
      expect((await on(['migrate', 'status'])).exit).toBe(0)
    },
  )

  test('C-21 --from and --to continue each other', async () => {
    await sql((await cli(['migrate', 'sql', '--schema', schema, '--to', '3'])).stdout)
    expect((await on(['migrate', 'status', '--json'])).document).toMatchObject({
      version: 3,
      status: 'behind',
    })
    await sql((await cli(['migrate', 'sql', '--schema', schema, '--from', '3'])).stdout)
    expect((await on(['migrate', 'status'])).exit).toBe(0)
  })
})

type Checked = { check: string; level: string; text: string; fix: string[] }

/** Findings by the name of their check; the worst of several. */
function checks(document: Readonly<Record<string, unknown>>): ReadonlyMap<string, Checked> {
  const all = document['checks'] as Checked[]
  const order = ['ok', 'warn', 'FAIL']
  const sorted = [...all].sort((a, b) => order.indexOf(a.level) - order.indexOf(b.level))
  return new Map(sorted.map((one) => [one.check, one]))
}

describe('C-24 doctor', () => {
  test('C-24 has a line for each check, and 0 with warnings alone', async () => {
    await up()
    const { exit, document } = await on(['doctor', '--json'])
    const found = checks(document)
    expect(exit).toBe(0)
    for (const name of [
      ...['connect', 'version', 'writable', 'isolation', 'schema', 'drift', 'privileges', 'locks'],
      ...['listen', 'clock', 'enqueuer', 'completer', 'reaper', 'stuck', 'dead letters', 'jobs'],
      ...['reaping', 'bloat', 'retention', 'lease', 'scope'],
    ]) {
      expect(found.get(name), name).toBeDefined()
    }
    expect(found.get('enqueuer')?.level).toBe('warn')
  })

  test('C-24 unreachable is FAIL, and 5', async () => {
    const { exit, stdout } = await on(['doctor'], {
      env: { DATABASE_URL: 'postgres://nobody@127.0.0.1:1/x' },
    })
    expect(exit).toBe(5)
    expect(stdout).toMatch(/^FAIL +connect .*\n +fix: /)
  })

  test('C-24 a missing schema is FAIL with the command', async () => {
    const { exit, document } = await on(['doctor', '--json'])
    expect(exit).toBe(3)
    expect(checks(document).get('schema')).toMatchObject({
      level: 'FAIL',
      fix: ['npx reprise migrate up'],
    })
  })

  test('C-24 finds drift, and the SQL it prints mends it', async () => {
    await up()
    await sql(`drop index ${schema}.records_expired`)
    await sql(`drop trigger keep_audit on ${schema}.audit`)
    await sql(`alter table ${schema}.records drop column user_agent`)
    await sql(`alter table ${schema}.records alter column tries type bigint`)
    await sql(`alter table ${schema}.dead_letters alter column cause drop not null`)
    await sql(`drop table ${schema}.waiters`)
    await sql(`alter table ${schema}.records drop constraint records_finished`)
    await sql(
      `create or replace function ${schema}.notify_waiters(record_id bytea) returns void language sql as ''`,
    )
    await sql(`create table ${schema}.mine (id integer)`)
    const { exit, document, stdout } = await on(['doctor', '--json'])
    expect(exit).toBe(3)
    for (const word of [
      ...['index records.records_expired is missing', 'column records.user_agent is missing'],
      ...['column records.tries is changed', 'column dead_letters.cause is changed'],
      ...['table waiters is missing', 'constraint records.records_finished is missing'],
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
    for (const statement of all.flatMap(({ fix }) => fix)) await sql(statement)
    await sql(`drop table ${schema}.mine`)
    const after = await on(['doctor', '--json'])
    expect(checks(after.document).get('drift')?.level).toBe('ok')
  })

  test('C-24 names each privilege that the role lacks, as SQL that gives it', async () => {
    await up()
    const role = `app_${schema}`
    await sql(`create role ${role}`)
    try {
      const before = checks((await on(['doctor', '--role', role, '--json'])).document).get(
        'privileges',
      )
      expect(before?.level).toBe('FAIL')
      for (const grant of before?.fix ?? []) await sql(grant)
      const after = checks((await on(['doctor', '--role', role, '--json'])).document).get(
        'privileges',
      )
      expect(after?.level).toBe('ok')
    } finally {
      await sql(`drop owned by ${role}`)
      await sql(`drop role ${role}`)
    }
  })

  test('C-24 tells of stuck and dead requests, silent workers, unreaped records and skewed clocks', async () => {
    await up()
    await record({ age: '1 hour' })
    await record({ age: '2 days', status: 201, expired: '1 day' })
    await letter()
    await sql(`insert into ${schema}.workers (worker, node, started_at, ran_at, took_ms, done, runs)
      values ('completer', 'n1', now() - interval '2 hours', now() - interval '1 hour', 1, 0, 1)`)
    const clock = { now: () => 0, after: () => () => {}, unix: () => Date.now() + 600_000 }
    const { exit, document } = await on(['doctor', '--json'], {
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

  test('C-24 lints the configuration', async () => {
    await up()
    const short = project(
      { 'reprise.config.mjs': 'export default { retentionMs: 1000, leaseMs: 30000 }' },
      ['pg'],
    )
    const bad = await on(['doctor', '--json'], { cwd: short })
    expect(checks(bad.document).get('configuration')).toMatchObject({
      level: 'FAIL',
      text: expect.stringContaining('shorter than leaseMs'),
    })
    const window = project({ 'reprise.config.mjs': 'export default { retentionMs: 3600000 }' }, [
      'pg',
    ])
    const warned = await on(['doctor', '--json'], { cwd: window })
    expect(checks(warned.document).get('retention')?.level).toBe('warn')
  })

  test('C-26 --fix mends what is safe, each confirmed', async () => {
    const refused = await on(['doctor', '--fix'])
    expect(refused.exit).toBe(6)
    expect(refused.stderr).toContain('--yes')
    const { exit, stderr } = await on(['doctor', '--fix', '--yes'])
    expect(exit).toBe(0)
    expect(stderr).toContain('fixed schema: migrate up')
    await sql(`drop index ${schema}.records_expired`)
    const asked = await on(['doctor', '--fix'], { typed: ['y'] })
    expect(asked.asked).toEqual([expect.stringContaining('put back index records.records_expired')])
    expect(asked.exit).toBe(0)
  })
})

/** Puts a record into the store, as a request that stopped or ended would leave it. */
async function record({
  age,
  status,
  expired,
  key = 'k-1',
}: {
  age: string
  status?: number
  expired?: string
  key?: string
}) {
  await sql(
    `insert into ${schema}.records (created_at, expires_at, finished_at, fence, status, response, id, caller,
       operation, key, fingerprint, recovery_point)
     values (now() - $1::interval, now() + $5::interval, case when $2::smallint is null then null else now() end,
       1, $2, case when $2::smallint is null then null else '\\x00'::bytea end, sha256($3::bytea), 'acct_1',
       'POST /charges', $4, '\\xaa', case when $2::smallint is null then 'started' end)`,
    [age, status ?? null, `${key}${age}`, key, expired === undefined ? '1 day' : `-${expired}`],
  )
}

async function letter() {
  const { rows } = await sql(
    `insert into ${schema}.dead_letters (created_at, buried_at, fence, tries, record_id, caller, operation, key,
       fingerprint, cause, history)
     values (now() - interval '1 hour', now(), 1, 1, sha256('dead'), 'acct_1', 'POST /rides', 'k-dead', '\\xaa',
       'outcome_unknown', '[]') returning number`,
  )
  return String(rows[0].number)
}

describe('C-10 keys', () => {
  test('C-10 lists as table, JSON and ids, with filters; 4 for what is not there', async () => {
    await up()
    await record({ age: '1 hour' })
    await record({ age: '2 hours', status: 201, key: 'k-2' })
    const table = await on(['keys', 'list'])
    expect(table.stdout).toMatch(/stuck +k-1 +POST \/charges/)
    expect(table.stdout).toMatch(/finished +k-2/)
    const ids = await on(['keys', 'list', '--state', 'stuck', '-o', 'ids'])
    expect(ids.stdout).toMatch(/^[\w-]{43}\n$/)
    const { document } = await on(['keys', 'list', '--key', 'k-2', '--json'])
    expect(document).toMatchObject({ items: [{ key: 'k-2', status: 201 }], next: null })
    const one = await on(['keys', 'get', ids.stdout.trim(), '--json'])
    expect(one.document).toMatchObject({
      key: 'k-1',
      state: 'stuck',
      explanation: expect.any(String),
    })
    expect((await on(['keys', 'get', 'k-1'])).stdout).toContain('What can be done:')
    expect((await on(['keys', 'get', 'nothing'])).exit).toBe(4)
    const typo = await on(['keys', 'list', '--state', 'stock'])
    expect([typo.exit, typo.stderr.includes('Did you mean stuck?')]).toEqual([2, true])
  })

  test('C-02 a missing schema is 1, with the command that makes it', async () => {
    const { exit, stderr } = await on(['keys', 'list'])
    expect(exit).toBe(1)
    expect(stderr).toContain('npx reprise migrate up')
  })

  test('C-05 what a client sent does not steer the terminal', async () => {
    await up()
    await record({ age: '1 hour', key: 'k\u001b[2J\u202e' })
    const { stdout } = await on(['keys', 'list'])
    expect(['\u001b', '\u202e'].filter((control) => stdout.includes(control))).toEqual([])
  })
})

describe('C-36 what changes something', () => {
  test('C-04 C-36 needs a reason and --yes where nobody can be asked', async () => {
    await up()
    await record({ age: '1 hour' })
    const bare = await on(['keys', 'expire', 'k-1'])
    expect([bare.exit, bare.stderr.includes('--reason')]).toEqual([6, true])
    const unconfirmed = await on(['keys', 'expire', 'k-1', '--reason', 'x'])
    expect([unconfirmed.exit, unconfirmed.stderr.includes('--yes')]).toEqual([6, true])
    const ci = await on(['keys', 'expire', 'k-1', '--reason', 'x'], {
      typed: ['y'],
      env: { CI: '1' },
    })
    expect([ci.exit, ci.asked]).toEqual([6, []])
    const { rows } = await sql(
      `select count(*)::int as n from ${schema}.records where expires_at > now()`,
    )
    expect(rows[0].n).toBe(1)
  })

  test('C-36 shows what has happened, asks, acts and writes the audit', async () => {
    await up()
    await record({ age: '1 hour' })
    const { exit, stderr, stdout } = await on(
      ['keys', 'resume', 'k-1', '--author', 'ada', '--reason', 'ticket 4711'],
      { typed: ['y', '', ''] },
    )
    expect(stderr).toContain('What has happened:')
    expect([exit, stdout]).toEqual([0, expect.stringMatching(/^done: /)])
    const { rows } = await sql(`select author, action, note from ${schema}.audit`)
    expect(rows).toEqual([{ author: 'ada', action: 'resume', note: 'ticket 4711' }])
  })

  test('C-36 what may have a second effect takes the end of the key', async () => {
    await up()
    await record({ age: '1 hour', status: 201, key: 'key-abcd' })
    const argv = ['keys', 'expire', 'key-abcd', '--reason', 'x', '--yes']
    const without = await on(argv)
    expect([without.exit, without.stderr.includes('--confirm')]).toEqual([6, true])
    expect((await on([...argv, '--confirm', 'zzzz'])).exit).toBe(6)
    expect((await on([...argv, '--confirm', 'abcd'])).exit).toBe(0)
  })

  test('C-36 acts on many, and is never 0 when one failed', async () => {
    await up()
    await record({ age: '1 hour', key: 'k-1' })
    await record({ age: '1 hour', key: 'k-2' })
    const { exit, document } = await on([
      'keys',
      'resume',
      '--state',
      'stuck',
      '--reason',
      'x',
      '--yes',
      '--json',
    ])
    expect([exit, document['done']]).toEqual([0, 2])
    await record({ age: '2 hours', status: 201, key: 'k-3' })
    const mixed = await on(['keys', 'resume', 'k-1', 'k-3', '--reason', 'x', '--yes', '--json'])
    expect([mixed.exit, mixed.document['failed']]).toEqual([1, expect.any(Number)])
  })

  test('C-36 dead letters: list, show, resolve; once', async () => {
    await up()
    const number = await letter()
    expect((await on(['dead', 'list'])).stdout).toContain('outcome_unknown')
    expect((await on(['dead', 'show', number, '--json'])).document).toMatchObject({ key: 'k-dead' })
    expect((await on(['dead', 'show', '999'])).exit).toBe(4)
    const argv = [
      'dead',
      'resolve',
      number,
      '--way',
      'happened',
      '--status',
      '201',
      '--body',
      '{"id":1}',
    ]
    expect((await on([...argv, '--reason', 'x'])).exit).toBe(6)
    expect((await on([...argv, '--body', '{'])).exit).toBe(2)
    const { exit, document } = await on([...argv, '--reason', 'seen', '--yes', '--json'])
    expect([exit, document['outcome']]).toEqual([0, 'done'])
    expect((await on([...argv, '--reason', 'seen', '--yes'])).exit).toBe(6)
    expect((await on(['keys', 'get', 'k-dead', '--json'])).document).toMatchObject({ status: 201 })
  })
})

test('C-35 tail streams decisions as lines of JSON, with filters', async () => {
  await up()
  const store = postgresStore(pool, { schema })
  const duplicates = keepDuplicates(store)
  const reprise = createReprise({ store, onEvent: duplicates.onEvent, replayCache: false })
  const request = (key: string, body: string) => ({
    ...{ caller: 'acct_1', operation: 'POST /charges', key, fingerprints: [body] },
  })
  const answer = async () => ({ status: 201, headers: [], body: Buffer.from('ok') })
  const interrupt = new AbortController()
  const seen: string[] = []
  const tail = on(
    ['keys', 'tail', '--json', '--every', '100ms', '--since', '1h', '--route', 'POST /charges'],
    {
      interrupt,
      onOutput: (text) => seen.push(...text.trim().split('\n')),
    },
  )
  await reprise.run(request('t-1', 'a'), answer)
  await reprise.run(request('t-1', 'a'), answer)
  await reprise.run(request('t-1', 'b'), answer)
  await duplicates.flush()
  const decisions = () => seen.map((line) => JSON.parse(line).decision)
  await expect
    .poll(decisions)
    .toEqual(expect.arrayContaining(['miss', 'finished', 'hit', 'mismatch']))
  expect(seen.length).toBe(4)
  interrupt.abort('SIGINT')
  expect((await tail).exit).toBe(130)
  await reprise.close()
  await duplicates.close()
})

test('C-11 stats shows the numbers of the overview', async () => {
  await up()
  const { exit, stdout } = await on(['stats'])
  expect(exit).toBe(0)
  expect(stdout).toMatch(/hit rate .*Not enough data/)
  expect((await on(['stats', '--json'])).document).toHaveProperty('totals.duplicatesPrevented')
})

describe('C-34 worker', () => {
  test('C-34 --once runs each and is 0; --only takes some, and refuses others', async () => {
    await up()
    await record({ age: '2 days', status: 201, expired: '1 day' })
    const { exit, document } = await on(['worker', '--once', '--only', 'reaper', '--json'])
    expect([exit, document]).toEqual([0, { runs: [{ worker: 'reaper', done: 1, error: null }] }])
    expect((await on(['worker', '--once', '--only', 'nobody'])).exit).toBe(2)
    const sinkless = await on(['worker', '--once', '--only', 'enqueuer'])
    expect([sinkless.exit, sinkless.stderr.includes('no sink')]).toEqual([2, true])
  })

  test('C-34 --once is 1 when a run fails', async () => {
    await up()
    await sql(`drop table ${schema}.dead_letters`)
    expect((await on(['worker', '--once', '--only', 'completer'])).exit).toBe(1)
  })

  test('C-34 ends in good order on SIGTERM', async () => {
    await up()
    const interrupt = new AbortController()
    const running = on(['worker', '--only', 'reaper'], {
      interrupt,
      onOutput: (text) => text.startsWith('Runs on') && interrupt.abort('SIGTERM'),
    })
    const { exit, stdout } = await running
    expect([exit, stdout]).toEqual([0, expect.stringContaining('Stopped.')])
  })
})

test('C-02 works through postgres.js as well', async () => {
  const env = { REPRISE_DRIVER: 'postgres' }
  expect((await on(['migrate', 'up'], { env })).exit).toBe(0)
  const { exit, stdout } = await on(['doctor'], { env })
  expect([exit, stdout.includes('by postgres')]).toEqual([0, true])
  expect((await on(['keys', 'list'], { env })).exit).toBe(0)
})
