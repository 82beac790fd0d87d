import { describe, expect, test } from 'vitest'
import { createReprise } from '../../src/engine/reprise.ts'
import { postgresStore } from '../../src/stores/postgres/index.ts'
import { keepDuplicates } from '../../src/telemetry/index.ts'
import { DatabaseWorld } from './world.ts'

const world = new DatabaseWorld()

describe('C-10 keys', () => {
  test('C-10 lists as table, JSON and ids, with filters; 4 for what is not there', async () => {
    await world.up()
    await world.record({ age: '1 hour' })
    await world.record({ age: '2 hours', status: 201, key: 'k-2' })
    const table = await world.on(['keys', 'list'])
    expect(table.stdout).toMatch(/stuck +k-1 +POST \/charges/)
    expect(table.stdout).toMatch(/finished +k-2/)
    const ids = await world.on(['keys', 'list', '--state', 'stuck', '-o', 'ids'])
    expect(ids.stdout).toMatch(/^[\w-]{43}\n$/)
    const { document } = await world.on(['keys', 'list', '--key', 'k-2', '--json'])
    expect(document).toMatchObject({ items: [{ key: 'k-2', status: 201 }], next: null })
    const one = await world.on(['keys', 'get', ids.stdout.trim(), '--json'])
    expect(one.document).toMatchObject({
      key: 'k-1',
      state: 'stuck',
      explanation: expect.any(String),
    })
    expect((await world.on(['keys', 'get', 'k-1'])).stdout).toContain('What can be done:')
    expect((await world.on(['keys', 'get', 'nothing'])).exit).toBe(4)
    const typo = await world.on(['keys', 'list', '--state', 'stock'])
    expect([typo.exit, typo.stderr.includes('Did you mean stuck?')]).toEqual([2, true])
  })

  test('C-02 a missing schema is 1, with the command that makes it', async () => {
    const { exit, stderr } = await world.on(['keys', 'list'])
    expect(exit).toBe(1)
    expect(stderr).toContain('npx reprise migrate up')
  })

  test('C-05 what a client sent does not steer the terminal', async () => {
    await world.up()
    await world.record({ age: '1 hour', key: 'k\u001b[2J\u202e' })
    const { stdout } = await world.on(['keys', 'list'])
    expect(['\u001b', '\u202e'].filter((control) => stdout.includes(control))).toEqual([])
  })

  test('C-05 nor does it as JSON, which says the same', async () => {
    await world.up()
    // CSI of eight bits, DEL, a change of direction, and a tag of two units.
    const key = 'k\u009b2J\u007f\u0080\u202e\u2066\u{e0001}é'
    await world.record({ age: '1 hour', key })
    for (const command of ['list', 'get']) {
      const name = command === 'get' ? [key] : []
      const { stdout, document } = await world.on(['keys', command, ...name, '--json'])
      expect(stdout).not.toMatch(/[\u007f-\u009f\p{Cf}]/u)
      expect(stdout).toContain('\\u009b2J\\u007f\\u0080\\u202e\\u2066\\udb40\\udc01é')
      expect(document).toMatchObject(command === 'get' ? { key } : { items: [{ key }] })
    }
  })
})

describe('C-36 what changes something', () => {
  test('C-04 C-36 needs a reason and --yes where nobody can be asked', async () => {
    await world.up()
    await world.record({ age: '1 hour' })
    const bare = await world.on(['keys', 'expire', 'k-1'])
    expect([bare.exit, bare.stderr.includes('--reason')]).toEqual([6, true])
    const unconfirmed = await world.on(['keys', 'expire', 'k-1', '--reason', 'x'])
    expect([unconfirmed.exit, unconfirmed.stderr.includes('--yes')]).toEqual([6, true])
    const ci = await world.on(['keys', 'expire', 'k-1', '--reason', 'x'], {
      typed: ['y'],
      env: { CI: '1' },
    })
    expect([ci.exit, ci.asked]).toEqual([6, []])
    const { rows } = await world.sql(
      `select count(*)::int as n from ${world.schema}.records where expires_at > now()`,
    )
    expect(rows[0].n).toBe(1)
  })

  test('C-36 shows what has happened, asks, acts and writes the audit', async () => {
    await world.up()
    await world.record({ age: '1 hour' })
    const { exit, stderr, stdout } = await world.on(
      ['keys', 'resume', 'k-1', '--author', 'ada', '--reason', 'ticket 4711'],
      { typed: ['y', '', ''] },
    )
    expect(stderr).toContain('What has happened:')
    expect([exit, stdout]).toEqual([0, expect.stringMatching(/^done: /)])
    const { rows } = await world.sql(`select author, action, note from ${world.schema}.audit`)
    expect(rows).toEqual([{ author: 'ada', action: 'resume', note: 'ticket 4711' }])
  })

  test('C-36 what may have a second effect takes the end of the key', async () => {
    await world.up()
    await world.record({ age: '1 hour', status: 201, key: 'key-abcd' })
    const argv = ['keys', 'expire', 'key-abcd', '--reason', 'x', '--yes']
    const without = await world.on(argv)
    expect([without.exit, without.stderr.includes('--confirm')]).toEqual([6, true])
    expect((await world.on([...argv, '--confirm', 'zzzz'])).exit).toBe(6)
    expect((await world.on([...argv, '--confirm', 'abcd'])).exit).toBe(0)
  })

  test('C-36 acts on many, and is never 0 when one failed', async () => {
    await world.up()
    await world.record({ age: '1 hour', key: 'k-1' })
    await world.record({ age: '1 hour', key: 'k-2' })
    const { exit, document } = await world.on([
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
    await world.record({ age: '2 hours', status: 201, key: 'k-3' })
    const mixed = await world.on([
      'keys',
      'resume',
      'k-1',
      'k-3',
      '--reason',
      'x',
      '--yes',
      '--json',
    ])
    expect([mixed.exit, mixed.document['failed']]).toEqual([1, expect.any(Number)])
  })

  test('C-36 dead letters: list, show, resolve; once', async () => {
    await world.up()
    const number = await world.letter()
    expect((await world.on(['dead', 'list'])).stdout).toContain('outcome_unknown')
    expect((await world.on(['dead', 'show', number, '--json'])).document).toMatchObject({
      key: 'k-dead',
    })
    expect((await world.on(['dead', 'show', '999'])).exit).toBe(4)
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
    expect((await world.on([...argv, '--reason', 'x'])).exit).toBe(6)
    expect((await world.on([...argv, '--body', '{'])).exit).toBe(2)
    const { exit, document } = await world.on([...argv, '--reason', 'seen', '--yes', '--json'])
    expect([exit, document['outcome']]).toEqual([0, 'done'])
    expect((await world.on([...argv, '--reason', 'seen', '--yes'])).exit).toBe(6)
    expect((await world.on(['keys', 'get', 'k-dead', '--json'])).document).toMatchObject({
      status: 201,
    })
  })
})

test('C-35 tail streams decisions as lines of JSON, with filters', async () => {
  await world.up()
  const store = postgresStore(world.pool, { schema: world.schema })
  const duplicates = keepDuplicates(store)
  const reprise = createReprise({ store, onEvent: duplicates.onEvent, replayCache: false })
  const request = (key: string, body: string) => ({
    ...{ caller: 'acct_1', operation: 'POST /charges', key, fingerprints: [body] },
  })
  const answer = async () => ({ status: 201, headers: [], body: Buffer.from('ok') })
  const interrupt = new AbortController()
  const seen: string[] = []
  const tail = world.on(
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
  await world.up()
  const { exit, stdout } = await world.on(['stats'])
  expect(exit).toBe(0)
  expect(stdout).toMatch(/hit rate .*Not enough data/)
  expect((await world.on(['stats', '--json'])).document).toHaveProperty(
    'totals.duplicatesPrevented',
  )
})
