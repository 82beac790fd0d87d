import { describe, expect, test } from 'vitest'
import { checks, DatabaseWorld } from './world.ts'

const world = new DatabaseWorld()
const AT_ONCE = 'npx reprise worker --only completer --once --unknown-grace 0s'

/** A completer that ran just now. */
async function completer(): Promise<void> {
  await world.sql(`insert into ${world.schema}.workers (worker, node, started_at, ran_at, took_ms, done, runs)
    values ('completer', 'n1', now(), now(), 1, 0, 1)`)
}

describe('a run that was killed in lease mode', () => {
  test('is told of at once, with when it comes before a person and how to hasten that', async () => {
    await world.up()
    await world.record({ age: '1 minute', point: null })
    await completer()

    const got = await world.on(['keys', 'get', 'k-1'])
    expect(got.stdout).toMatch(/^before a person +from \d{4}-/m)
    expect(got.stdout).toMatch(/puts it before a person in [34] min/)
    expect(got.stdout).toContain(AT_ONCE)
    const list = await world.on(['dead', 'list'])
    expect(list.stdout).toMatch(
      /Nothing waits for a person\.[^]*Outcome unknown[^]*in [34] min.*k-1/,
    )
    expect(list.stdout).toContain(AT_ONCE)
    const fitted = await world.on(['dead', 'list'], { typed: [] })
    expect(Math.max(...fitted.stdout.split('\n').map(({ length }) => length))).toBeLessThan(80)
    const { document } = await world.on(['dead', 'list', '--json'])
    expect(document).toMatchObject({ items: [], soon: [{ key: 'k-1', state: 'unfinished' }] })
    const stats = await world.on(['stats'])
    expect(stats.stdout).toMatch(/look: 1 request has an unknown outcome.* in [34] min/)
    const found = checks((await world.on(['doctor', '--json'])).document)
    expect(found.get('unknown')).toMatchObject({
      level: 'warn',
      text: expect.stringMatching(/puts it before a person in [34] min/),
    })
  })

  test('says that nobody puts it before a person where no completer runs', async () => {
    await world.up()
    await world.record({ age: '10 minutes', point: null })
    for (const argv of [['keys', 'get', 'k-1'], ['stats'], ['doctor']]) {
      const { stdout } = await world.on(argv)
      expect(stdout).toMatch(/none is running|No completer is running|completer has never run/)
    }
    const found = checks((await world.on(['doctor', '--json'])).document)
    expect(found.get('completer')?.level).toBe('FAIL')
    expect(found.get('stuck')?.level).toBe('ok')
  })

  test('comes before a person at once when that is asked for, and is then no more on its way', async () => {
    await world.up()
    await world.record({ age: '1 minute', point: null })
    await world.record({ age: '1 hour', key: 'k-2' })
    const listed = await world.on(['keys', 'list', '--unknown', '-o', 'ids'])
    expect(listed.stdout.trim().split('\n')).toHaveLength(1)

    await world.on(['worker', '--only', 'completer', '--once'])
    expect((await world.on(['dead', 'list', '--json'])).document).toMatchObject({ items: [] })
    const { exit } = await world.on(AT_ONCE.split(' ').slice(2))
    expect(exit).toBe(0)
    const { document } = await world.on(['dead', 'list', '--json'])
    expect(document).toMatchObject({ items: [{ key: 'k-1' }], soon: [] })
    // What a person has is not stuck as well.
    const found = checks((await world.on(['doctor', '--json'])).document)
    expect(found.get('stuck')?.text).toBe('1 request nobody finishes.')
    expect(found.get('unknown')?.level).toBe('ok')

    const refused = await world.on(['keys', 'resume', 'k-1', '--reason', 'x', '--yes'])
    expect(refused.exit).toBe(6)
    expect(refused.stderr).toContain('npx reprise dead resolve 1')
  })

  test('is refused as a filter beside states that it never has', async () => {
    await world.up()
    const { exit } = await world.on(['keys', 'list', '--unknown', '--state', 'running'])
    expect(exit).not.toBe(0)
  })
})

test('dead show tells a call that took too long from one of which nothing was heard', async () => {
  await world.up()
  const number = await world.letter()
  const call = {
    actor: 'request',
    ending: null,
    reached: null,
    callKey: 'c',
    error: null,
    endedAt: null,
  }
  const history = [1, 2].map((fence) => ({ ...call, fence, point: 'ordered', beganAt: 0 }))
  await world.sql(
    `update ${world.schema}.dead_letters set fence = 2, point = 'ordered', error = $1, history = $2`,
    ['The call from ordered took more than 30000 ms.', JSON.stringify(history)],
  )
  const { stdout } = await world.on(['dead', 'show', number])
  const tried = stdout.split('What was tried:')[1]?.trim().split('\n') ?? []
  expect(tried[0]).toContain('was never heard of again')
  expect(tried[1]).toContain('ended with an unknown outcome (The call from ordered took more')
})

describe('doctor on workers', () => {
  test('asks for no enqueuer and no completer where there is nothing for them', async () => {
    await world.up()
    await world.record({ age: '1 minute', status: 201 })
    const found = checks((await world.on(['doctor', '--json'])).document)
    expect(found.get('enqueuer')?.level).toBe('ok')
    expect(found.get('completer')?.level).toBe('ok')
    expect(found.get('reaper')?.level).toBe('warn')
  })

  test('where a job waits and no sink is known, says how to give one', async () => {
    await world.up()
    await world.sql(`insert into ${world.schema}.staged_jobs (staged_at, job_id, record_id, name, args)
      values (now() - interval '1 hour', gen_random_uuid(), '\\x00', 'receipt', '{}')`)
    const found = checks((await world.on(['doctor', '--json'])).document)
    expect(found.get('enqueuer')).toMatchObject({
      level: 'FAIL',
      fix: [expect.stringContaining('export sink from reprise.config')],
    })
    const refused = await world.on(['worker', '--once', '--only', 'enqueuer'])
    expect(refused.stderr).toContain('functionSink')
  })
})
