import { describe, expect, it } from 'vitest'
import { keyAge } from '../../src/engine/key-age.ts'

const MADE_AT = Date.parse('2022-02-22T19:22:22Z')
const UUID_V7 = '017f22e2-79b0-7cc3-98c4-dc0c0c07398f'

describe('keyAge', () => {
  it('takes a key up to the greatest age and none beyond', () => {
    const checkedAt = (unix: number) => () =>
      keyAge({ ageMsMax: 1000, clock: { unix: () => unix } }).check(UUID_V7)

    expect(checkedAt(MADE_AT - 5000)).not.toThrow()
    expect(checkedAt(MADE_AT + 1000)).not.toThrow()
    expect(checkedAt(MADE_AT + 1001)).toThrow(
      expect.objectContaining({ code: 'idempotency-key-expired' }),
    )
  })

  it('takes keys that do not tell their age', () => {
    expect(() => keyAge({ ageMsMax: 1 }).check('order-1')).not.toThrow()
  })

  it('takes the age of keys of another make from a function', () => {
    const madeAt = (key: string) => Number(key.slice('order-'.length))
    const { check } = keyAge({ ageMsMax: 10, clock: { unix: () => 100 }, madeAt })

    expect(() => check('order-90')).not.toThrow()
    expect(() => check('order-89')).toThrow(/too old/)
  })

  it('may not be greater than what the retention is', () => {
    const { checkRetention } = keyAge({ ageMsMax: 10 })

    expect(() => checkRetention(10)).not.toThrow()
    expect(() => checkRetention(9)).toThrow(/ageMsMax \(10\) is longer than retentionMs \(9\)/)
  })

  it.each([0, -1, 0.5, Number.NaN])('refuses %d milliseconds at start', (ageMsMax) => {
    expect(() => keyAge({ ageMsMax })).toThrow(/ageMsMax must be/)
  })
})
