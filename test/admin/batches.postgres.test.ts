import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import type { Admin } from '../../src/admin/index.ts'
import { ADA, type AdminWorld, postgresWorld, put } from './world.ts'

let world: AdminWorld
let admin: Admin

beforeAll(async () => {
  world = await postgresWorld()
  admin = world.admin()
})
beforeEach(() => world.clear())
afterAll(() => world.dispose())

describe('a batch', () => {
  async function settled(batch: string): Promise<void> {
    await expect.poll(async () => (await admin.batch(batch))?.isOver).toBe(true)
  }

  it('acts on those that matched when it began, and on nothing later', async () => {
    const fast = world.admin({ batchPerSecond: 1000 })
    const old = [await put(world, 'unfinished'), await put(world, 'unfinished')]
    const order = { ...ADA, orderKey: 'bulk' }
    const begun = await fast.startBatch('resume', { filter: { states: ['unfinished'] } }, order)
    const late = await put(world, 'unfinished')
    await settled(begun.batch)
    const over = await fast.batch(begun.batch)
    expect(over).toMatchObject({ total: 2, done: 2, failed: 0, isCancelled: false })
    expect(new Set(over?.results.map(({ id }) => id))).toEqual(new Set(old.map(({ id }) => id)))
    expect((await admin.find(late.id))?.explanation).not.toContain('An operator asked')
    const again = await fast.startBatch('resume', { filter: {} }, order)
    expect(again.batch).toBe(begun.batch)
  })

  it('leaves alone what is dangerous, unless their number was confirmed', async () => {
    const fast = world.admin({ batchPerSecond: 1000 })
    const ids = [(await put(world, 'finished')).id, (await put(world, 'finished')).id]
    const timid = await fast.startBatch('expire', { ids }, ADA)
    await settled(timid.batch)
    expect((await fast.batch(timid.batch))?.results.map(({ result }) => result)).toEqual([
      ...['unconfirmed', 'unconfirmed'],
    ])
    const wrong = fast.startBatch('expire', { ids }, { ...ADA, confirm: '3' })
    await expect(wrong).rejects.toMatchObject({ code: 'reprise-query-invalid' })
    const bold = await fast.startBatch('expire', { ids }, { ...ADA, confirm: '2' })
    await settled(bold.batch)
    expect((await fast.batch(bold.batch))?.done).toBe(2)
  })

  it('is cancelled, and is taken up by another process', async () => {
    const ids: string[] = []
    for (let index = 0; index < 3; index++) ids.push((await put(world, 'unfinished')).id)
    const slow = world.admin({ batchPerSecond: 1 })
    const { batch } = await slow.startBatch('resume', { ids }, ADA)
    const bob = { ...ADA, author: 'bob', reason: 'Too many.' }
    const cancelled = await slow.cancelBatch(batch, bob)
    expect(cancelled).toMatchObject({ isOver: true, isCancelled: true, total: 3 })
    await slow.cancelBatch(batch, ADA)
    const { items } = await slow.audit({ limit: 50 })
    const lines = items.filter(({ action }) => action === 'batch cancel')
    expect(lines).toMatchObject([
      { subject: `batch ${batch}`, author: 'bob', note: 'Too many.', result: 'done' },
    ])
    expect(lines[0]?.text).toMatch(/^[01] of 3 were over\.$/)
    // Left by a process that is no more.
    const left = await world.store.desk?.batches.begin({
      ...{ batch: 'left', action: 'resume', isConfirmed: false },
      entry: {
        action: 'resume',
        subject: 'batch',
        author: 'ada',
        note: 'why',
        ip: null,
        orderKey: null,
      },
      items: ids.map((id, place) => ({ place, id, version: null })),
    })
    expect(await world.admin({ batchPerSecond: 1000 }).batch('nobody')).toBeUndefined()
    await settled(String(left))
    expect((await admin.batch('left'))?.done).toBe(3)
  })

  it('has a bound', async () => {
    const few = world.admin({ batchMax: 1 })
    await put(world, 'finished')
    await put(world, 'finished')
    const asked = few.startBatch('expire', { filter: {} }, ADA)
    await expect(asked).rejects.toThrow('at most 1 requests')
  })
})
