import { describe, expect, it } from 'vitest'
import { budgetsOf } from '../../src/client/budget.ts'
import { type Turns, takeTurn } from '../../src/client/turns.ts'

const [A, B] = ['https://a.test', 'https://b.test']

describe('the budget of an origin', () => {
  it('pays five for a retry and ten for one after a time-out, down to nothing', () => {
    const budgets = budgetsOf(20)
    const taken = [true, false, false, false, true].map((isTimeout) => budgets.take(A, isTimeout))
    expect(taken).toEqual([10, 5, 5, undefined, undefined])
    expect(budgets.take(B, true)).toBe(10)
  })

  it('pays no retry that costs more than is left, and a cheaper one that does not', () => {
    const budgets = budgetsOf(9)
    expect([budgets.take(A, true), budgets.take(A, false), budgets.take(A, false)]).toEqual([
      undefined,
      5,
      undefined,
    ])
    budgets.give(A, 1)
    expect(budgets.take(A, false)).toBe(5)
  })

  it('never has more than it began with', () => {
    const budgets = budgetsOf(10)
    budgets.give(A, 100)
    expect([budgets.take(A, true), budgets.take(A, false)]).toEqual([10, undefined])
  })
})

describe('turns', () => {
  it('come one after the other under one name, and leave nothing behind', async () => {
    const turns: Turns = new Map()
    const [first, second, other] = ['a', 'a', 'b'].map((name) => takeTurn(turns, name))
    expect([first?.before, other?.before]).toEqual([undefined, undefined])
    const log: string[] = []
    const waited = second?.before?.then(() => log.push('second'))
    second?.done()
    await Promise.resolve()
    expect(log).toEqual([])
    first?.done()
    other?.done()
    await waited
    await new Promise((resolve) => setImmediate(resolve))
    expect(log).toEqual(['second'])
    expect(turns.size).toBe(0)
  })
})
