import { describe, expect, it } from 'vitest'
import { keyAge } from '../../src/engine/key-age.ts'

const MADE_AT = Date.parse('2022-02-22T19:22:22Z')
const UUID_V7 = '017f22e2-79b0-7cc3-98c4-dc0c0c07398f'

describe('keyAge', () => {
  it('takes a key up to the greatest age and none beyond', () => {
    const isOverAt = (unix: number) =>
      keyAge({ ageMsMax: 1000, clock: { unix: () => unix } }).isOver(UUID_V7)

    expect([MADE_AT - 5000, MADE_AT + 1000, MADE_AT + 1001].map(isOverAt)).toEqual([
      false,
      false,
      true,
    ])
  })

  it('takes keys that do not tell their age', () => {
    expect(keyAge({ ageMsMax: 1 }).isOver('order-1')).toBe(false)
  })

  it.each([0, -1, 0.5, Number.NaN])('refuses %d milliseconds at start', (ageMsMax) => {
    expect(() => keyAge({ ageMsMax })).toThrow(/ageMsMax must be/)
  })
})
