/** A claim whose reply was lost is sent again: whose record is it, and under which keys are its calls? */

import type { PoolClient } from 'pg'
import { describe, expect, it } from 'vitest'
import { createReprise, type Reprise, type Store } from '../../src/index.ts'
import { foreignCall, operation, respond } from '../../src/phases/index.ts'
import { anything, request, seen, usePhases } from './phases-world.ts'

const DAY_MS = 86_400_000

describe('a claim whose reply was lost', () => {
  const world = usePhases()

  /** An engine that loses the reply of its first claim, after `meanwhile`. */
  function losing(meanwhile: () => Promise<unknown>): Reprise<PoolClient> {
    let isFirst = true
    const store: Store<PoolClient> = new Proxy(world.store, {
      get(target, name) {
        const member: unknown = Reflect.get(target, name, target)
        if (typeof member !== 'function') return member
        if (name !== 'claim') return member.bind(target)
        return async (asked: Parameters<Store['claim']>[0]) => {
          if (!isFirst) return target.claim(asked)
          isFirst = false
          await target.claim(asked)
          await meanwhile()
          throw new Error('connection reset')
        }
      },
    })
    return createReprise({ store, replayCache: false, storeTimeoutMs: 60_000 })
  }

  /** One call; notes the keys under which it is made. */
  function paying(reprise: Reprise<PoolClient>, keys: string[], call = async () => 'ch_1') {
    return operation(
      'pay',
      { reprise, input: anything },
      {
        started: foreignCall({
          call: async ({ key }) => {
            keys.push(key)
            return call()
          },
          done: async ({ result }) => respond(201, result),
        }),
      },
    )
  }

  it('is recognised, and calls under the keys that stand in its record', async () => {
    const keys: string[] = []
    let died = () => {}
    const dying = new Promise<void>((resolve) => {
      died = resolve
    })
    const hang = () => {
      died()
      return new Promise<string>(() => {})
    }
    const first = paying(
      losing(async () => {}),
      keys,
      hang,
    )
    first.run(request('k')).catch(() => {})
    await dying
    await world.lapse()
    const second = await paying(world.other(), keys).run(request('k'))

    expect(seen(second)).toEqual(['resumed', 201, 'ch_1'])
    expect(keys).toEqual([keys[0], keys[0]])
  })

  it('is not looked for where none was sent, because its input can not be stored', async () => {
    const asked: PropertyKey[] = []
    const store: Store<PoolClient> = new Proxy(world.store, {
      get(target, name) {
        const member: unknown = Reflect.get(target, name, target)
        if (typeof member !== 'function') return member
        return (...args: unknown[]): unknown => {
          if (name === 'claim' || name === 'find') asked.push(name)
          return Reflect.apply(member, target, args)
        }
      },
    })
    const fail = () => {
      throw new Error('no key to seal with')
    }
    const encryption = { encrypt: fail, decrypt: fail }
    const reprise = createReprise({ store, replayCache: false, encryption })
    await expect(paying(reprise, []).run(request('k'))).rejects.toThrow('no key to seal with')
    await reprise.close()
    expect(asked).toEqual([])
  })

  it('calls under new keys where its record was finished by another and has expired', async () => {
    const keys: string[] = []
    const sleep = async () => {
      await world.lapse()
      expect(seen(await paying(world.other(), keys).run(request('k')))).toEqual([
        ...['resumed', 201, 'ch_1'],
      ])
      await world.age(4 * DAY_MS)
    }
    const late = await paying(losing(sleep), keys).run(request('k'))

    expect(seen(late)).toEqual(['executed', 201, 'ch_1'])
    expect(new Set(keys).size).toBe(2)
  })
})
