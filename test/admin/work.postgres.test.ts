import { hostname } from 'node:os'
import type pg from 'pg'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { type Admin, createAdmin } from '../../src/admin/index.ts'
import type { Store } from '../../src/engine/store.ts'
import { createReprise, type Reprise } from '../../src/index.ts'
import { advance, foreignCall, operation, phase, respond } from '../../src/phases/index.ts'
import { memoryStore } from '../../src/stores/memory/index.ts'
import { combine, keepDuplicates } from '../../src/telemetry/index.ts'
import { createWorkers } from '../../src/workers/index.ts'
import { anything, request, seen } from '../phases/phases-world.ts'
import { ADA, type AdminWorld, postgresWorld, put } from './world.ts'

let world: AdminWorld
let admin: Admin
let reprise: Reprise<pg.PoolClient>

beforeAll(async () => {
  world = await postgresWorld()
  admin = world.admin()
  // Made by `postgresStore` on a pool of pg.
  const store = world.store as Store<pg.PoolClient>
  reprise = createReprise({ store, replayCache: false })
})
beforeEach(() => world.clear())
afterAll(() => world.dispose())

/** An operation that fails in its second phase until it is mended. */
function pay(completer = {}) {
  const state = { isBroken: true, calls: 0 }
  const op = operation(
    'pay',
    { reprise, input: anything, completer },
    {
      started: phase(async () => advance('charged', { card: '4242424242424242', rideId: 7 })),
      charged: foreignCall({
        call: async () => {
          state.calls++
          if (state.isBroken) throw Object.assign(new Error('no route'), { code: 'ENOTFOUND' })
          return 'ch_1'
        },
        done: async ({ stage }) => {
          await stage('mail', { to: 'ann' })
          return respond(201, { id: 'ch_1', big: 1, token: 'abc' })
        },
      }),
    },
  )
  return { op, state }
}

async function failed(key: string, completer = {}) {
  const { op, state } = pay(completer)
  await op.run(request(key)).catch(() => {})
  const [found] = await admin.findByKey(key)
  if (found === undefined) throw new Error('There is no such request.')
  return { op, state, id: found.id }
}

describe('resume', () => {
  it('has the completer take it at its next run, whatever its patience says', async () => {
    const { op, state, id } = await failed('resume-me')
    state.isBroken = false
    const { completer } = createWorkers(reprise, { operations: [op], reaper: false })
    expect(await completer?.runOnce()).toBe(0)
    expect((await admin.act('resume', id, ADA)).outcome).toBe('done')
    expect((await admin.find(id))?.explanation).toContain('An operator asked for it')
    expect(await completer?.runOnce()).toBe(1)
    const found = await admin.find(id)
    expect(found?.state).toBe('finished')
    expect(found?.jobs).toMatchObject([{ name: 'mail', state: 'waiting' }])
    expect(found?.story.at(-1)).toContain('Answered with 201')
    expect(found?.history.map(({ actor }) => actor)).toContain('completer')
    const node = `${hostname()}:${process.pid}`
    for (const entry of found?.history ?? []) expect(entry.node).toBe(node)
    expect(found?.story.join('\n')).toContain(`The completer (${node})`)
  })

  it('explains what it waits for', async () => {
    const { id } = await failed('explain-me')
    const found = await admin.find(id)
    expect(found?.explanation).toContain('It stopped at charged')
    expect(found?.explanation).toContain('25 tries left')
    expect(found?.story.join('\n')).toContain('from started')
  })
})

describe('a dead letter', () => {
  async function buried() {
    const { id } = await put(world, 'needs_person')
    const { items } = await admin.letters({ limit: 5, isSettled: false })
    const letter = items.find((one) => one.id === id)
    if (letter === undefined) throw new Error('There is no letter.')
    return { id, letter: letter.letter }
  }

  it.each([
    [{ way: 'happened', status: 201, body: { id: 'ch_0' } } as const, 'finished'],
    [{ way: 'give_up', status: 410, body: { error: 'gone' } } as const, 'failed'],
    [{ way: 'resume' } as const, undefined],
  ])('is settled by %j, once', async (settlement, state) => {
    const { id, letter } = await buried()
    const order = { ...ADA, orderKey: `settle ${id}` }
    const first = await admin.settle(letter, settlement, order)
    expect(first).toMatchObject({ outcome: 'done' })
    expect(await admin.settle(letter, settlement, order)).toEqual({ ...first, outcome: 'repeated' })
    expect((await admin.settle(letter, settlement, ADA)).outcome).toBe('refused')
    expect((await admin.find(id))?.state).toBe(state)
    const { items } = await admin.audit({ limit: 2 })
    const [refused, done] = items
    expect(refused?.result).toBe('refused')
    expect(done).toMatchObject({ ...{ result: 'done', ip: ADA.ip, author: 'ada' } })
    expect(done?.subject).toBe(`dead letter ${letter}`)
    expect((await admin.letter(letter))?.settlement?.author).toBe('ada')
    expect((await admin.letters({ limit: 5, isSettled: true })).items).toHaveLength(1)
  })

  it('counts once, also where its request has another', async () => {
    const { letter } = await buried()
    const columns = `created_at, buried_at, fence, tries, record_id, caller, operation, key,
                     fingerprint, cause, history`
    await world.pool?.query(
      `insert into reprise.dead_letters (${columns})
       select ${columns} from reprise.dead_letters where number = $1`,
      [letter],
    )
    for (const filter of [{}, { states: ['needs_person'] as const }]) {
      expect((await admin.counts(filter)).needs_person).toBe(1)
    }
    const { items } = await admin.list({ states: ['needs_person'] }, { limit: 5 })
    expect(items).toHaveLength(1)
  })

  it('is as if it were not there for who may not see its caller', async () => {
    const { letter } = await buried()
    const scoped = world.admin({ scopes: ['nobody'] })
    expect(await scoped.letter(letter)).toBeUndefined()
    expect((await scoped.letters({ limit: 5 })).items).toEqual([])
    expect(await scoped.settle(letter, { way: 'resume' }, ADA)).toEqual({ outcome: 'not_found' })
    expect((await admin.letter(letter))?.settledAt).toBeNull()
  })

  it('takes no answer that can not be sent', async () => {
    const { letter } = await buried()
    const asked = admin.settle(letter, { way: 'happened', status: 99, body: null }, ADA)
    await expect(asked).rejects.toMatchObject({ code: 'reprise-query-invalid' })
  })
})

describe('a staged job', () => {
  it('that was set aside is tried again, once', async () => {
    const { op, state } = pay()
    state.isBroken = false
    expect(seen(await op.run(request('stage-me')))[0]).toBe('executed')
    const sink = {
      name: 'down',
      deliver: async (jobs: readonly { id: string }[]) =>
        jobs.map(({ id }) => ({ id, error: 'Bearer abcdefghijklmnop was refused' })),
    }
    const enqueuer = { attemptsMax: 1 }
    const workers = createWorkers(reprise, { sink, enqueuer, reaper: false, completer: false })
    await workers.enqueuer?.runOnce()
    const { items } = await admin.jobs({ limit: 5, state: 'set_aside' })
    expect(items).toMatchObject([{ name: 'mail', state: 'set_aside', attempts: 1 }])
    expect(items[0]?.lastError).toMatch(/^REDACTED:[0-9a-f]{8} was refused$/)
    const jobId = String(items[0]?.jobId)
    const order = { ...ADA, orderKey: `retry ${jobId}` }
    const all = await Promise.all([admin.retryJob(jobId, order), admin.retryJob(jobId, order)])
    expect(all.map(({ outcome }) => outcome).sort()).toEqual(['done', 'repeated'])
    expect(await admin.retryJob(jobId, ADA)).toEqual({ outcome: 'not_found' })
    expect((await admin.jobs({ limit: 5, state: 'waiting' })).items).toMatchObject([{ jobId }])
    expect((await admin.workers())[0]).toMatchObject({ worker: 'enqueuer', backlog: 1 })
  })
})

describe('reveal', () => {
  it('shows what is stored, masked, and is audited', async () => {
    const { op, state, id } = await failed('reveal-me')
    const open = await admin.reveal(id, ADA)
    expect(open?.input).toEqual({ amount: 5 })
    expect(open?.state).toEqual({ card: expect.stringMatching(/^REDACTED:/), rideId: 7 })
    state.isBroken = false
    await op.run(request('reveal-me'))
    const done = await admin.reveal(id, ADA)
    expect(done?.response).toMatchObject({ status: 201, body: { id: 'ch_1', big: 1 } })
    expect(JSON.stringify(done)).not.toContain('abc"')
    const { items } = await admin.audit({ limit: 1 })
    expect(items).toMatchObject([{ action: 'reveal', subject: `request ${id}`, result: 'done' }])
  })
})

describe('workers', () => {
  it('pause on every node, run once, and go on', async () => {
    const { op, state } = await failed('pause-me', { graceMs: 0, retryMs: 0 })
    state.isBroken = false
    const settings = { operations: [op], reaper: false } as const
    const nodes = ['one', 'two'].map((node) => createWorkers(reprise, { ...settings, node }))
    await admin.steerWorker('completer', 'pause', ADA)
    for (const { completer } of nodes) expect(await completer?.runOnce()).toBe(0)
    const [, completer] = await admin.workers()
    expect(completer).toMatchObject({ isPaused: true, isSilent: false, backlog: 1 })
    expect(completer?.nodes.map(({ node }) => node).sort()).toEqual(['one', 'two'])
    await admin.steerWorker('completer', 'run_once', ADA)
    expect(await nodes[0]?.completer?.runOnce()).toBe(1)
    const second = await failed('pause-me-too', { graceMs: 0, retryMs: 0 })
    expect(await nodes[0]?.completer?.runOnce()).toBe(0)
    expect((await admin.find(second.id))?.state).not.toBe('finished')
    await admin.steerWorker('completer', 'resume', ADA)
    expect(await nodes[1]?.completer?.runOnce()).toBeGreaterThan(0)
  })

  it('are woken', async () => {
    const { op, state, id } = await failed('wake-me')
    state.isBroken = false
    const everyMs = 3_600_000
    const workers = createWorkers(reprise, {
      ...{ operations: [op], reaper: false, completer: { everyMs } },
    })
    workers.start()
    // It has looked, found nothing to do, and rests for an hour.
    await expect.poll(async () => (await admin.workers())[1]?.nodes.length).toBe(1)
    await admin.act('resume', id, ADA)
    await expect.poll(async () => (await admin.find(id))?.state).toBe('finished')
    await workers.stop()
  })
})

describe('keepDuplicates', () => {
  it('notes who was answered, off the way, up to a bound', async () => {
    const duplicates = keepDuplicates(world.store, { perRequestMax: 3 })
    const events = combine(duplicates.onEvent)
    const engine = createReprise({ store: world.store, onEvent: events })
    const asked = {
      ...{ caller: 'ann', operation: 'op', key: 'dup-1', fingerprints: ['f'] },
      origin: { requestId: 'r1', ip: '192.0.2.9', userAgent: 'curl' },
    }
    const answer = { status: 201, headers: [], body: new Uint8Array() }
    await engine.run(asked, async () => answer)
    for (let index = 0; index < 5; index++) await engine.run(asked, async () => answer)
    await engine.run({ ...asked, fingerprints: ['g'] }, async () => answer)
    expect((await admin.duplicates({ limit: 5 })).items).toEqual([])
    expect(await duplicates.close()).toBe(true)
    const [found] = await admin.findByKey('dup-1')
    expect(found?.duplicates).toBe(6)
    const { items } = await admin.duplicates({ limit: 50 })
    expect(items.map(({ result }) => result)).toEqual(['replayed', 'replayed', 'replayed'])
    expect(items[0]).toMatchObject({ requestId: 'r1', ip: '192.0.2.9', userAgent: 'curl' })
    await world.pool?.query(`update reprise.duplicates set at = at - interval '8 days'`)
    await createWorkers(reprise, { completer: false }).reaper?.runOnce()
    expect((await admin.duplicates({ limit: 50 })).items).toEqual([])
  })
})

it('keeps the audit as it is', async () => {
  await put(world, 'finished')
  await admin.act('resume', 'nobody', ADA)
  for (const text of [`update reprise.audit set author = 'x'`, 'delete from reprise.audit']) {
    await expect(world.pool?.query(text)).rejects.toThrow('stays as it is')
  }
})

it('says what to do where the store has no view for operators', () => {
  const engine = createReprise({ store: memoryStore() })
  expect(() => createAdmin(engine)).toThrow('memoryStore({ desk: memoryDesk })')
})
