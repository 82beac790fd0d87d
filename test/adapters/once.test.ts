import { describe, expect, expectTypeOf, it } from 'vitest'
import { type Json, once, onceInTransaction } from '../../src/adapters/once.ts'
import { createReprise, memoryStore, type Reprise } from '../../src/index.ts'
import { postgresStore } from '../../src/stores/postgres/index.ts'
import { poolOf } from '../conformance/postgres.harness.ts'
import { temporaryDatabase } from '../support/postgres.ts'

const CALL = { caller: 'orders', operation: 'ship', key: 'msg_1' }

function setUp(options: Partial<Parameters<typeof createReprise>[0]> = {}): Reprise {
  return createReprise({ store: memoryStore(), ...options })
}

describe('once', () => {
  it('does the work for the first call and gives its value to every further one', async () => {
    const reprise = setUp()
    let count = 0
    const ship = async () => ({ parcel: `p_${++count}`, weights: [1, 2.5], note: null })

    const first = await once(reprise, CALL, ship)
    const again = await once(reprise, CALL, ship)

    expect(first).toEqual({ parcel: 'p_1', weights: [1, 2.5], note: null })
    expect(again).toEqual(first)
    expect(count).toBe(1)
  })

  it('keeps callers, operations and keys apart', async () => {
    const reprise = setUp()
    let count = 0
    const work = async () => ++count

    await once(reprise, CALL, work)
    await once(reprise, { ...CALL, caller: 'returns' }, work)
    await once(reprise, { ...CALL, operation: 'bill' }, work)
    await once(reprise, { ...CALL, key: 'msg_2' }, work)

    expect(count).toBe(4)
  })

  it('gives the first caller what JSON leaves of the value, as it gives the others', async () => {
    const reprise = setUp()
    const work = async () => ({ at: new Date(0), gone: undefined })

    const first = await once(reprise, CALL, work)

    expect(first).toStrictEqual({ at: '1970-01-01T00:00:00.000Z' })
    expect(await once(reprise, CALL, work)).toStrictEqual(first)
    expectTypeOf(first.at).toEqualTypeOf<string>()
  })

  it('takes work without a value', async () => {
    const reprise = setUp()
    let count = 0
    const work = async () => void count++

    expect(await once(reprise, CALL, work)).toBeUndefined()
    expect(await once(reprise, CALL, work)).toBeUndefined()
    expect(count).toBe(1)
  })

  it('refuses the same key with another input, and takes another order for the same', async () => {
    const reprise = setUp()
    const work = async () => 'done'

    await once(reprise, { ...CALL, input: { a: 1, b: 2 } }, work)

    expect(await once(reprise, { ...CALL, input: { b: 2, a: 1 } }, work)).toBe('done')
    await expect(once(reprise, { ...CALL, input: { a: 2 } }, work)).rejects.toMatchObject({
      code: 'idempotency-key-reused',
    })
    await expect(once(reprise, CALL, work)).rejects.toMatchObject({
      code: 'idempotency-key-reused',
    })
  })

  it('tells that it runs elsewhere, so that the message is delivered again later', async () => {
    const reprise = setUp()
    let finish = () => {}
    const gate = new Promise<void>((resolve) => {
      finish = resolve
    })

    const first = once(reprise, CALL, () => gate)
    await expect(once(reprise, CALL, () => gate)).rejects.toMatchObject({
      code: 'idempotency-in-progress',
    })
    finish()
    await first
  })

  it('waits for the same call where told to', async () => {
    const reprise = setUp()
    let finish = (_: string) => {}
    const gate = new Promise<string>((resolve) => {
      finish = resolve
    })

    const first = once(reprise, CALL, () => gate)
    const second = once(reprise, { ...CALL, waitMs: 10_000 }, async () => 'second')
    finish('first')

    expect(await Promise.all([first, second])).toEqual(['first', 'first'])
  })

  it('throws what the work throws, and does not do it again by itself', async () => {
    const reprise = setUp()
    const failure = new Error('The work failed.')

    await expect(once(reprise, CALL, () => Promise.reject(failure))).rejects.toBe(failure)
    await expect(once(reprise, CALL, async () => 'done')).rejects.toMatchObject({
      code: 'idempotency-outcome-unknown',
    })
  })

  it('does work again that failed before its effect', async () => {
    const reprise = setUp({ marksEffect: true })

    await expect(once(reprise, CALL, () => Promise.reject(new Error('no')))).rejects.toThrow('no')

    expect(await once(reprise, CALL, async () => 'done')).toBe('done')
  })

  it('tells that a value was too large to be kept', async () => {
    const reprise = setUp({ bodyBytesMax: 10 })
    const work = async () => 'more than ten bytes'

    expect(await once(reprise, CALL, work)).toBe('more than ten bytes')
    await expect(once(reprise, CALL, work)).rejects.toMatchObject({
      code: 'idempotency-result-gone',
    })
  })

  it('says by type what comes back', () => {
    expectTypeOf<Json<{ a: 1; b: Date; c: string[] }>>().toEqualTypeOf<{
      a: 1
      b: string
      c: string[]
    }>()
    expectTypeOf<Json<undefined>>().toEqualTypeOf<undefined>()
  })
})

describe('once in a transaction', () => {
  it('commits what the work does together with its value', async () => {
    const { url, drop } = await temporaryDatabase()
    const pool = poolOf(url)
    try {
      await pool.query('create table parcels (n integer)')
      const reprise = createReprise({ store: postgresStore(pool) })
      const ship = (fails: boolean) =>
        onceInTransaction(reprise, CALL, async ({ tx }) => {
          await tx.query('insert into parcels values (1)')
          if (fails) throw new Error('no')
          return 'shipped'
        })

      await expect(ship(true)).rejects.toThrow('no')
      expect((await pool.query('select from parcels')).rowCount).toBe(0)
      expect(await ship(false)).toBe('shipped')
      expect(await ship(false)).toBe('shipped')
      expect((await pool.query('select from parcels')).rowCount).toBe(1)
      await reprise.close()
    } finally {
      await pool.end()
      await drop()
    }
  })
})
