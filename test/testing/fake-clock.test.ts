import { describe, expect, it } from 'vitest'
import { FakeClock } from '../../src/testing/fake-clock.ts'

describe('the fake clock', () => {
  it('stands still until it is told to go on', () => {
    const clock = new FakeClock(5)
    expect(clock.now()).toBe(5)
    clock.advance(10)

    expect(clock.now()).toBe(15)
  })

  it('calls what comes due in the order of time, then of setting, at its time', () => {
    const clock = new FakeClock()
    const calls: [string, number][] = []
    const call = (name: string) => () => void calls.push([name, clock.now()])
    clock.after(20, call('late'))
    clock.after(10, call('early'))
    clock.after(20, call('later'))
    clock.after(21, call('not yet'))
    clock.advance(20)

    expect(calls).toEqual([
      ['early', 10],
      ['late', 20],
      ['later', 20],
    ])
    expect(clock.now()).toBe(20)
    expect(clock.timerCount).toBe(1)
  })

  it('calls what is set on the way, when that comes due too', () => {
    const clock = new FakeClock()
    const calls: number[] = []
    const again = () => {
      calls.push(clock.now())
      clock.after(10, again)
    }
    clock.after(10, again)
    clock.advance(35)

    expect(calls).toEqual([10, 20, 30])
    expect(clock.now()).toBe(35)
  })

  it('does not call what was cancelled', () => {
    const clock = new FakeClock()
    let calls = 0
    const cancel = clock.after(10, () => calls++)
    cancel()
    clock.advance(10)

    expect(calls).toBe(0)
    expect(clock.timerCount).toBe(0)
  })

  it('does not go back', () => {
    const clock = new FakeClock()

    expect(() => clock.advance(-1)).toThrow(RangeError)
    expect(() => clock.advance(Number.NaN)).toThrow(RangeError)
  })
})
