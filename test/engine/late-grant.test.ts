import { expect, it } from 'vitest'
import type { Clock } from '../../src/engine/clock.ts'
import { createReprise, memoryStore } from '../../src/index.ts'
import { REQUEST, response } from './world.ts'

it('a late reply does not withdraw a claim that was granted again and is in use', async () => {
  // The process slept, and its clock with it: the time is up and none has passed.
  const timers: (() => void)[] = []
  const after: Clock['after'] = (_, callback) => {
    timers.push(callback)
    return () => void timers.splice(timers.indexOf(callback), 1)
  }
  const inner = memoryStore()
  const replies: (() => void)[] = []
  const claim: typeof inner.claim = async (request) => {
    const result = await inner.claim(request)
    if (replies.length === 0) await new Promise<void>((resolve) => replies.push(resolve))
    return result
  }
  const store = new Proxy(inner, {
    get(target, name) {
      const member: unknown = name === 'claim' ? claim : Reflect.get(target, name)
      return typeof member === 'function' ? member.bind(target) : member
    },
  })
  const reprise = createReprise({ store, clock: { now: () => 0, unix: () => 0, after } })
  const turn = () => new Promise((resolve) => setImmediate(resolve))

  const run = reprise.run(REQUEST, async () => {
    replies[0]?.()
    await turn()
    return response()
  })
  await turn()
  for (const fire of timers.splice(0)) fire()

  expect(await run).toMatchObject({ outcome: 'executed', fate: 'stored' })
})
