import { describe, expect, it } from 'vitest'
import type { Clock } from '../../src/engine/clock.ts'
import { Deadlines, Due } from '../../src/engine/deadlines.ts'

/** A clock that is set by hand and says how many timers there are. */
class HandClock implements Clock {
  #now = 0
  readonly #timers = new Map<object, { at: number; callback: () => void }>()

  now(): number {
    return this.#now
  }

  unix(): number {
    return this.#now
  }

  after(ms: number, callback: () => void): () => void {
    const timer = {}
    this.#timers.set(timer, { at: this.#now + ms, callback })
    return () => this.#timers.delete(timer)
  }

  get timers(): number {
    return this.#timers.size
  }

  /** Forgets all timers, as if the process had other ones now. */
  lose(): void {
    this.#timers.clear()
  }

  goTo(instant: number): void {
    this.#now = instant
    for (const [timer, { at, callback }] of [...this.#timers]) {
      if (at <= instant && this.#timers.delete(timer)) callback()
    }
  }
}

class Noted extends Due {
  readonly #name: string
  readonly #seen: string[]

  constructor(name: string, seen: string[]) {
    super()
    this.#name = name
    this.#seen = seen
  }

  due(): void {
    this.#seen.push(this.#name)
    if (this.#name === 'throws') throw new Error('It threw.')
  }
}

function setUp() {
  const clock = new HandClock()
  const seen: string[] = []
  const deadlines = new Deadlines(clock, 100)
  const add = (name: string): Due => {
    const one = new Noted(name, seen)
    deadlines.add(one, clock.now())
    return one
  }
  return { clock, seen, deadlines, add }
}

describe('deadlines', () => {
  it('has each due in time, over one timer', () => {
    const { clock, seen, add } = setUp()
    add('a')
    clock.goTo(30)
    add('b')
    add('c')
    expect(clock.timers).toBe(1)
    clock.goTo(100)
    expect(seen).toEqual(['a'])
    clock.goTo(129)
    expect(seen).toEqual(['a'])
    clock.goTo(130)
    expect(seen).toEqual(['a', 'b', 'c'])
    expect(clock.timers).toBe(0)
  })

  it('has nothing due that left, whichever it was', () => {
    const { clock, seen, deadlines, add } = setUp()
    const [first, , middle, , last] = ['a', 'b', 'c', 'd', 'e'].map(add)
    for (const one of [first, middle, last, middle]) deadlines.remove(one as Due)
    clock.goTo(100)
    expect(seen).toEqual(['b', 'd'])
  })

  it('leaves no timer when all have left, and sets one for who comes then', () => {
    const { clock, seen, deadlines, add } = setUp()
    deadlines.remove(add('a'))
    expect(clock.timers).toBe(0)
    clock.goTo(50)
    add('b')
    clock.goTo(149)
    expect(seen).toEqual([])
    clock.goTo(150)
    expect(seen).toEqual(['b'])
  })

  it('has the next due in time when the one that the timer was for has left', () => {
    const { clock, seen, deadlines, add } = setUp()
    const first = add('a')
    clock.goTo(60)
    add('b')
    deadlines.remove(first)
    clock.goTo(100)
    expect(seen).toEqual([])
    clock.goTo(160)
    expect(seen).toEqual(['b'])
  })

  it('goes on after one that threw', () => {
    const { clock, seen, add } = setUp()
    add('throws')
    add('b')
    expect(() => clock.goTo(100)).toThrow('It threw.')
    clock.goTo(101)
    expect(seen).toEqual(['throws', 'b'])
  })

  it('finds its way back when its timer was lost', () => {
    const { clock, seen, add } = setUp()
    add('a')
    clock.lose()
    // It is overdue, as where the process was busy, and then for longer than that can last.
    clock.goTo(1100)
    add('b')
    clock.goTo(1101)
    expect(seen).toEqual([])
    add('c')
    clock.goTo(1102)
    expect(seen).toEqual(['a'])
    clock.goTo(1201)
    expect(seen).toEqual(['a', 'b', 'c'])
  })

  it('takes in who comes while one is due', () => {
    const { clock, seen, deadlines } = setUp()
    class Again extends Due {
      due(): void {
        seen.push('again')
        deadlines.add(this, clock.now())
      }
    }
    deadlines.add(new Again(), 0)
    clock.goTo(100)
    expect(clock.timers).toBe(1)
    clock.goTo(200)
    expect(seen).toEqual(['again', 'again'])
  })
})
