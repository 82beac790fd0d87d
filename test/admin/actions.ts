/** What every store with a desk must do with orders. */

import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import type { Admin, RequestAction, RequestState } from '../../src/admin/index.ts'
import type { Claim } from '../../src/engine/store.ts'
import { rivalOf, sampleFinish, sampleRequest, take } from '../../src/testing/contract/sample.ts'
import { ADA, type AdminWorld, CONFIRM, put, type Standing } from './world.ts'

/** What becomes of each action: done, dangerous (done once confirmed) or refused. */
type Fate = 'done' | 'dangerous' | 'refused'

const TABLE: readonly (readonly [Standing, RequestState, Record<RequestAction, Fate>])[] = [
  ['running', 'running', { resume: 'refused', release: 'dangerous', expire: 'refused' }],
  ['running at a point', 'running', { resume: 'refused', release: 'dangerous', expire: 'refused' }],
  ['recovering', 'recovering', { resume: 'refused', release: 'dangerous', expire: 'refused' }],
  ['unfinished', 'unfinished', { resume: 'done', release: 'refused', expire: 'done' }],
  [
    ...(['unfinished and unknown', 'unfinished'] as const),
    { resume: 'refused', release: 'dangerous', expire: 'dangerous' },
  ],
  ['stuck', 'stuck', { resume: 'done', release: 'refused', expire: 'done' }],
  [
    ...(['stuck and unknown', 'stuck'] as const),
    { resume: 'refused', release: 'dangerous', expire: 'dangerous' },
  ],
  ['finished', 'finished', { resume: 'refused', release: 'refused', expire: 'dangerous' }],
  ['failed', 'failed', { resume: 'refused', release: 'refused', expire: 'dangerous' }],
  ['needs_person', 'needs_person', { resume: 'refused', release: 'refused', expire: 'refused' }],
  ['expired', 'expired', { resume: 'refused', release: 'refused', expire: 'refused' }],
  ['expired unfinished', 'expired', { resume: 'refused', release: 'refused', expire: 'refused' }],
]

const WITH_WORK: ReadonlySet<Standing> = new Set(['recovering', 'needs_person'])

/** Declares the tests. */
export function describeActions(name: string, open: () => Promise<AdminWorld>): void {
  describe(`orders on ${name}`, () => {
    let world: AdminWorld
    let admin: Admin
    beforeAll(async () => {
      world = await open()
      admin = world.admin()
    })
    beforeEach(() => world.clear())
    afterAll(() => world.dispose())

    const rows = TABLE.flatMap(([standing, state, fates]) =>
      (['resume', 'release', 'expire'] as const).map((action) => {
        return [action, standing, state, fates[action]] as const
      }),
    )

    it.each(rows)('%s what is %s', async (action, standing, state, expected) => {
      if (!world.hasWork && WITH_WORK.has(standing)) return
      const fate = world.hasWork || action !== 'resume' ? expected : 'refused'
      const { id } = await put(world, standing)
      const before = await admin.find(id)
      expect(before?.state).toBe(state)
      const possibility = before?.possibilities.find((one) => one.action === action)
      expect(possibility).toMatchObject({
        ...{ isAllowed: fate !== 'refused', isDangerous: fate === 'dangerous' },
      })

      const first = await admin.act(action, id, ADA)
      const refusal = { done: 'done', dangerous: 'unconfirmed', refused: 'refused' }[fate]
      expect(first.outcome).toBe(refusal)
      const second = await admin.act(action, id, { ...ADA, confirm: CONFIRM })
      if (fate === 'dangerous') expect(second.outcome).toBe('done')
      if (fate === 'refused') expect(second.outcome).toBe('refused')
      const { items } = await admin.audit({ limit: 2 })
      expect(items.map((entry) => [entry.action, entry.subject, entry.result])).toEqual([
        ...[[action, `request ${id}`, second.outcome]],
        ...[[action, `request ${id}`, first.outcome]],
      ])
      expect(items[0]).toMatchObject({ author: 'ada', note: ADA.reason, ip: ADA.ip })
      if (fate === 'refused') expect((await admin.find(id))?.version).toBe(before?.version)
    })

    it('an order sent twice has one effect and one answer', async () => {
      const { id } = await put(world, 'finished')
      const order = { ...ADA, confirm: CONFIRM, orderKey: `twice ${id}` }
      const first = await admin.act('expire', id, order)
      expect(first).toMatchObject({ outcome: 'done' })
      const second = await admin.act('expire', id, order)
      expect(second).toEqual({ ...first, outcome: 'repeated' })
      const { items } = await admin.audit({ limit: 50 })
      expect(items.filter(({ subject }) => subject === `request ${id}`)).toHaveLength(1)
    })

    it('orders that arrive at once have one effect', async () => {
      const { id } = await put(world, 'unfinished and unknown')
      const order = { ...ADA, confirm: CONFIRM, orderKey: `at once ${id}` }
      const all = await Promise.all(
        Array.from({ length: 8 }, () => admin.act('release', id, order)),
      )
      const outcomes = all.map(({ outcome }) => outcome).sort()
      expect(outcomes).toEqual(['done', ...Array.from({ length: 7 }, () => 'repeated')])
    })

    it('an order key stands for one order', async () => {
      const [one, other] = [await put(world, 'finished'), await put(world, 'finished')]
      const order = { ...ADA, confirm: CONFIRM, orderKey: `one ${one.id}` }
      await admin.act('expire', one.id, order)
      expect(await admin.act('expire', other.id, order)).toMatchObject({ outcome: 'refused' })
      expect((await admin.find(other.id))?.state).toBe('finished')
    })

    it('an order that was not confirmed can be sent again under its key', async () => {
      const { id } = await put(world, 'finished')
      const order = { ...ADA, orderKey: `again ${id}` }
      expect((await admin.act('expire', id, order)).outcome).toBe('unconfirmed')
      const confirmed = { ...order, confirm: CONFIRM }
      expect((await admin.act('expire', id, confirmed)).outcome).toBe('done')
    })

    it('is told when the request has changed since it was shown', async () => {
      const claim = await put(world, 'running at a point')
      const shown = await admin.find(claim.id)
      await world.store.renew(claim, 7_200_000)
      expect((await admin.find(claim.id))?.version).toBe(shown?.version)
      await world.store.finish(claim, sampleFinish())
      const order = { ...ADA, confirm: CONFIRM, version: String(shown?.version) }
      const result = await admin.act('release', claim.id, order)
      expect(result).toMatchObject({ outcome: 'conflict', state: 'finished' })
    })

    it('finds nothing where there is nothing', async () => {
      expect(await admin.act('resume', 'nobody', ADA)).toEqual({ outcome: 'not_found' })
      expect(await admin.find('nobody')).toBeUndefined()
    })

    it('needs an author, a reason and a known action', async () => {
      const { id } = await put(world, 'finished')
      const invalid = { code: 'reprise-query-invalid', status: 400 }
      await expect(admin.act('expire', id, { ...ADA, author: '' })).rejects.toMatchObject(invalid)
      await expect(admin.act('expire', id, { ...ADA, reason: ' ' })).rejects.toMatchObject(invalid)
    })

    describe('a zombie', () => {
      async function writes(claim: Claim): Promise<readonly boolean[]> {
        const { store } = world
        return [
          await store.renew(claim, 1000),
          await store.advance(claim, { recoveryPoint: 'next', state: null, leaseMs: 1000 }),
          await store.finish(claim, sampleFinish()),
          await store.release(claim, 'forget'),
        ]
      }

      it.each([
        ['release', 'running'],
        ['release', 'running at a point'],
        ['expire', 'unfinished'],
        ['release', 'stuck and unknown'],
        ['expire', 'stuck and unknown'],
      ] as const)('of what was %sd, %s, writes nothing', async (action, standing) => {
        const claim = await put(world, standing)
        const done = await admin.act(action, claim.id, { ...ADA, confirm: CONFIRM })
        expect(done.outcome).toBe('done')
        expect(await writes(claim)).toEqual([false, false, false, false])
      })

      it('whose lease lapsed before its key was expired writes nothing', async () => {
        const key = `lapsed-${CONFIRM}`
        const asked = sampleRequest({ key, recoveryPoint: 'started', leaseMs: 1000 })
        const { claim } = await take(world.store, asked)
        await world.advance(60_000)
        expect((await admin.find(claim.id))?.state).toBe('unfinished')
        expect((await admin.act('expire', claim.id, ADA)).outcome).toBe('done')
        expect(await writes(claim)).toEqual([false, false, false, false])
      })

      it('of a freed key does not reach the run that has it now', async () => {
        const { store } = world
        const request = sampleRequest({ key: `free-${CONFIRM}` })
        const { claim } = await take(store, request)
        await admin.act('release', claim.id, { ...ADA, confirm: CONFIRM })
        await admin.act('release', claim.id, { ...ADA, confirm: CONFIRM })
        const next = await take(store, rivalOf(request))
        expect(await writes(claim)).toEqual([false, false, false, false])
        expect(await store.finish(next.claim, sampleFinish())).toBe(true)
      })
    })

    it('an expired key runs again from the start', async () => {
      const { store } = world
      const request = sampleRequest({ key: `expired-${CONFIRM}` })
      const { claim } = await take(store, request)
      await store.finish(claim, sampleFinish())
      expect((await store.claim(rivalOf(request))).outcome).toBe('replay')
      await admin.act('expire', claim.id, { ...ADA, confirm: CONFIRM })
      expect((await store.claim(rivalOf(request))).outcome).toBe('execute')
    })
  })
}
