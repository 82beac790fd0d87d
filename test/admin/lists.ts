/** What every store with a desk must show. */

import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import type { Admin, RequestFilter, RequestSummary } from '../../src/admin/index.ts'
import { callerDigest } from '../../src/core/identity.ts'
import { keepStats } from '../../src/telemetry/index.ts'
import { ADA, type AdminWorld, put } from './world.ts'

/** Every page of a list, one after the other. */
async function all(admin: Admin, filter: RequestFilter, limit = 2) {
  const items: RequestSummary[] = []
  for (let after: string | null | undefined; after !== null; ) {
    const query: { limit: number; after?: string } =
      after === undefined ? { limit } : { limit, after }
    const page = await admin.list(filter, query)
    items.push(...page.items)
    after = page.next
  }
  return items
}

/** Declares the tests. */
export function describeLists(name: string, open: () => Promise<AdminWorld>): void {
  describe(`lists on ${name}`, () => {
    let world: AdminWorld
    let admin: Admin
    beforeAll(async () => {
      world = await open()
      admin = world.admin({ freshMs: 0 })
    })
    beforeEach(() => world.clear())
    afterAll(() => world.dispose())

    /** One request in each state, the oldest first. */
    async function everything(): Promise<Readonly<Record<string, string>>> {
      const ids: Record<string, string> = {}
      const standings = [
        'expired unfinished' as const,
        ...(world.hasWork ? (['needs_person', 'recovering'] as const) : []),
        ...(['stuck', 'stuck and unknown', 'unfinished'] as const),
        ...(['running', 'finished', 'failed', 'expired'] as const),
      ]
      for (const standing of standings) {
        const operation = standing === 'recovering' ? 'recover_me' : 'POST /charges'
        ids[standing] = (await put(world, standing, { operation })).id
        await world.advance(1)
      }
      return ids
    }

    it('pages through everything, newest first, each once', async () => {
      const ids = await everything()
      const found = await all(admin, {})
      expect(found.map(({ id }) => id)).toEqual(Object.values(ids).reverse())
    })

    it('filters by state, and counts the same', async () => {
      const ids = await everything()
      const counts = await admin.counts()
      const by: Readonly<Record<string, readonly (string | undefined)[]>> = {
        running: [ids.running],
        recovering: world.hasWork ? [ids.recovering] : [],
        unfinished: [ids.unfinished],
        stuck: [ids['stuck and unknown'], ids.stuck],
        finished: [ids.finished],
        failed: [ids.failed],
        needs_person: world.hasWork ? [ids.needs_person] : [],
        expired: [ids.expired, ids['expired unfinished']],
      }
      for (const [state, expected] of Object.entries(by)) {
        // The names are those of states.
        const found = await all(admin, { states: [state as RequestSummary['state']] }, 1)
        expect([state, new Set(found.map(({ id }) => id))]).toEqual([state, new Set(expected)])
        expect([state, found.length]).toEqual([state, expected.length])
        expect(found.every((one) => one.state === state)).toBe(true)
      }
      const sizes = Object.entries(by).map(([state, some]) => [state, some.length])
      expect(counts).toEqual(Object.fromEntries(sizes))
    })

    it('filters by everything else', async () => {
      const origin = { requestId: 'req-7', ip: null, userAgent: null }
      const one = await put(world, 'finished', {
        key: 'abc-1',
        operation: 'op',
        caller: 'ann',
        origin,
      })
      await world.advance(60_000)
      const two = await put(world, 'failed', { key: 'abd-2', operation: 'op2' })
      const three = await put(world, 'unfinished', { recoveryPoint: 'paid' })
      const filters: readonly (readonly [RequestFilter, readonly string[]])[] = [
        [{ operation: 'op' }, [one.id]],
        [{ caller: 'ann' }, [one.id]],
        [{ key: 'abc-1' }, [one.id]],
        [{ key: 'ab*' }, [two.id, one.id]],
        [{ key: 'a%*' }, []],
        [{ recoveryPoint: 'paid' }, [three.id]],
        [{ status: 402 }, [two.id]],
        [{ requestId: 'req-7' }, [one.id]],
        [{ olderThanMs: 30_000 }, [one.id]],
        [{ operation: 'op', caller: 'bob' }, []],
        [{ states: ['failed', 'finished'] }, [two.id, one.id]],
        [{ states: ['running', 'unfinished'] }, [three.id]],
      ]
      for (const [filter, expected] of filters) {
        const found = await all(admin, filter)
        expect([filter, found.map(({ id }) => id)]).toEqual([filter, expected])
      }
      expect((await admin.findByKey('abc-1')).map(({ id }) => id)).toEqual([one.id])
      expect(await admin.counts({ operation: 'op' })).toMatchObject({ finished: 1, failed: 0 })
      expect(await admin.counts({ key: 'abd-2' })).toMatchObject({ finished: 0, failed: 1 })
    })

    it('goes on where it was, whatever comes and goes', async () => {
      const ids: string[] = []
      for (let index = 0; index < 6; index++) {
        ids.unshift((await put(world, 'unfinished and unknown')).id)
        await world.advance(1)
      }
      const first = await admin.list({}, { limit: 2 })
      expect(first.items.map(({ id }) => id)).toEqual(ids.slice(0, 2))
      await put(world, 'finished')
      await admin.act('release', String(ids[1]), { ...ADA, confirm: 'last' })
      const second = await admin.list({}, { limit: 2, after: String(first.next) })
      expect(second.items.map(({ id }) => id)).toEqual(ids.slice(2, 4))
    })

    it('refuses what can not be', async () => {
      const invalid = { code: 'reprise-query-invalid', status: 400 }
      const pages = [{ limit: 0 }, { limit: 201 }, { limit: 1.5 }, { limit: 5, after: 'elsewhere' }]
      for (const page of pages) await expect(admin.list({}, page)).rejects.toMatchObject(invalid)
      const filters = [{ states: ['gone'] }, { status: -1 }, { olderThanMs: Number.NaN }]
      for (const filter of filters) {
        // What comes from outside need not be what the types say.
        const asked = admin.list(filter as RequestFilter, { limit: 5 })
        await expect(asked).rejects.toMatchObject(invalid)
      }
      await expect(admin.findByKey('a\0')).rejects.toMatchObject(invalid)
      await expect(admin.act('resume', 'a\0', ADA)).rejects.toMatchObject(invalid)
      await expect(admin.batch('\0')).rejects.toMatchObject(invalid)
      expect(await admin.find('a\0')).toBeUndefined()
      expect(await admin.letter('\0')).toBeUndefined()
      await expect(admin.overview({ windowMs: 0 })).rejects.toMatchObject(invalid)
    })

    it('hides callers that are out of scope', async () => {
      const mine = await put(world, 'finished', { caller: 'mine' })
      const other = await put(world, 'finished', { caller: 'other' })
      await admin.act('resume', other.id, ADA)
      const scoped = world.admin({ scopes: ['mine'] })
      expect((await all(scoped, {})).map(({ id }) => id)).toEqual([mine.id])
      expect(await scoped.find(other.id)).toBeUndefined()
      expect(await scoped.counts()).toMatchObject({ finished: 1 })
      expect(await scoped.act('expire', other.id, { ...ADA, confirm: 'last' })).toEqual({
        outcome: 'not_found',
      })
      expect(await scoped.reveal(other.id, ADA)).toBeUndefined()
      expect((await admin.find(other.id))?.state).toBe('finished')
      const { items } = await scoped.audit({ limit: 200 })
      expect(items.filter(({ result }) => result !== 'not_found')).toEqual([])
    })

    it('shows duplicates, and counts them', async () => {
      const { id } = await put(world, 'finished', { caller: 'ann' })
      const note = {
        ...{ id, operation: 'op', caller: callerDigest('ann'), requestId: 'r', ip: null },
        ...{ userAgent: 'curl', fingerprint: 'f', agoMs: 5 },
      }
      await world.store.desk?.addNotes({
        notes: [
          { ...note, result: 'replayed' },
          { ...note, result: 'mismatch', userAgent: 'half \uD800 and \0' },
        ],
        counts: { [id]: 7 },
      })
      const found = await admin.find(id)
      expect(found?.duplicates).toBe(7)
      expect(found?.duplicateNotes.map(({ result }) => result)).toEqual(['mismatch', 'replayed'])
      const conflicts = await admin.duplicates({ limit: 5, results: ['mismatch'] })
      expect(conflicts.items).toHaveLength(1)
      expect(conflicts.items[0]).toMatchObject({ id, result: 'mismatch', fingerprint: 'f' })
      const first = await admin.duplicates({ limit: 1 })
      const rest = await admin.duplicates({ limit: 1, after: String(first.next) })
      expect([first, rest].map(({ items }) => items[0]?.result)).toEqual(['mismatch', 'replayed'])
      expect((await all(admin, { duplicatesMin: 7 })).map((one) => one.id)).toEqual([id])
      expect(await all(admin, { duplicatesMin: 8 })).toEqual([])
      expect((await world.admin({ scopes: ['bob'] }).duplicates({ limit: 5 })).items).toEqual([])
    })

    it('sums up what was counted, once for all who look', async () => {
      const { store } = world
      const stats = keepStats(store)
      for (let index = 0; index < 98; index++) {
        stats.onEvent({ type: 'executed', id: 'a', operation: 'o', caller: 'c', elapsedMs: 1 })
      }
      for (const type of ['replayed', 'replayed', 'in_progress', 'mismatch'] as const) {
        stats.onEvent({ type, id: 'a', operation: 'o', caller: 'c', elapsedMs: 1 })
      }
      expect(await stats.flush()).toBe(true)
      await put(world, 'stuck')
      const fresh = world.admin({ freshMs: 3_600_000 })
      const [overview, again] = await Promise.all([
        fresh.overview({ windowMs: 3_600_000 }),
        fresh.overview({ windowMs: 3_600_000 }),
      ])
      expect(again).toBe(overview)
      expect(overview.totals).toMatchObject({
        miss: 98,
        hit: 2,
        checked: 102,
        duplicatesPrevented: 3,
      })
      expect(overview.hitRate.band).toBe('healthy')
      expect(overview.byOperation).toMatchObject([{ of: 'o', counts: { hit: 2 } }])
      expect(overview.byCaller).toMatchObject([{ of: 'c' }])
      expect(overview.states.stuck).toBe(1)
      expect(overview.concerns[0]).toMatchObject({ kind: 'stuck', count: 1 })
      await put(world, 'stuck')
      expect(await fresh.overview({ windowMs: 3_600_000 })).toBe(overview)
      const later = await world.admin({ freshMs: 0 }).overview({ windowMs: 900_000 })
      expect(later.states.stuck).toBe(2)
      await stats.close()
    })

    it('tells the workers, and steers them', async () => {
      const order = { ...ADA, orderKey: `pause ${name}` }
      const first = await admin.steerWorker('completer', 'pause', order)
      expect(first).toMatchObject({ outcome: 'done' })
      expect(await admin.steerWorker('completer', 'pause', order)).toMatchObject({
        outcome: 'repeated',
      })
      expect(await admin.steerWorker('completer', 'pause', ADA)).toMatchObject({
        outcome: 'refused',
      })
      const workers = await admin.workers()
      expect(workers.map(({ worker, isPaused }) => [worker, isPaused])).toEqual([
        ...[
          ['enqueuer', false],
          ['completer', true],
          ['reaper', false],
        ],
      ])
      expect((await admin.steerWorker('completer', 'resume', ADA)).outcome).toBe('done')
      expect((await admin.steerWorker('reaper', 'run_once', ADA)).outcome).toBe('done')
      expect(await world.store.desk?.steering('reaper')).toEqual({ isPaused: false, runs: 1 })
    })
  })
}
