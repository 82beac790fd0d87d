/** The schema of an input holds for fresh requests: what was taken before it was changed goes on. */

import express, { type RequestHandler } from 'express'
import { describe, expect, it } from 'vitest'
import { serve } from '../../src/adapters/express.ts'
import {
  advance,
  operation,
  phase,
  respond,
  retryLater,
  type Schema,
} from '../../src/phases/index.ts'
import { createWorkers } from '../../src/workers/index.ts'
import { listen } from '../adapters/listen.ts'
import { anything, deed, request, seen, usePhases } from './phases-world.ts'

type Validate = Schema<unknown>['~standard']['validate']

const REFUSED = { issues: [{ message: 'A currency is needed', path: ['currency'] }] }

function schemaOf(validate: Validate): Schema<unknown> {
  return { '~standard': { version: 1, vendor: 'test', validate } }
}

/** What a deploy may make of a schema that took everything. */
const TIGHTENED: Readonly<Record<string, Validate>> = {
  refuses: () => REFUSED,
  'refuses later': async () => REFUSED,
  throws: () => {
    throw new Error('The schema is broken.')
  },
  'throws later': async () => {
    throw new Error('The schema is broken.')
  },
  'never answers': () => new Promise(() => {}),
}

describe('an operation whose schema was changed', () => {
  const world = usePhases()
  const state = { isDown: false }

  function paying(input: Schema<unknown>) {
    return operation(
      'pay',
      { reprise: world.other(), input, completer: { graceMs: 0, retryMs: 0 } },
      {
        started: phase(async ({ tx, input: given }) => {
          await deed(tx, `charged ${JSON.stringify(given)}`)
          return advance('charged')
        }),
        charged: phase(async () => (state.isDown ? retryLater() : respond(201, 'paid'))),
      },
    )
  }
  const charged = ['charged {"amount":5}']
  const records = async () => {
    return (await world.pool.query('select 1 from reprise.records')).rowCount
  }

  it.each(Object.keys(TIGHTENED))('answers a finished request when it %s', async (name) => {
    state.isDown = false
    await paying(anything).run(request('k'))
    const tightened = paying(schemaOf(TIGHTENED[name] ?? (() => REFUSED)))
    expect(seen(await tightened.run(request('k')))).toEqual(['replayed', 201, 'paid'])
    expect(await world.deeds()).toEqual(charged)
    expect(world.events.map(({ type }) => type)).toEqual(['executed', 'replayed'])
  })

  it.each(Object.keys(TIGHTENED))('goes on with an unfinished request when it %s', async (name) => {
    state.isDown = true
    await paying(anything).run(request('k'))
    state.isDown = false
    const tightened = paying(schemaOf(TIGHTENED[name] ?? (() => REFUSED)))
    expect(seen(await tightened.run(request('k')))).toEqual(['resumed', 201, 'paid'])
    expect(await world.deeds()).toEqual(charged)
  })

  it('gives a resumed run what was stored, whatever the schema makes of the request now', async () => {
    state.isDown = false
    const failing = { isFirst: true }
    const op = (input: Schema<unknown>) =>
      operation(
        'pay',
        { reprise: world.other(), input },
        {
          started: phase(async ({ tx, input: given }) => {
            if (failing.isFirst) return retryLater()
            await deed(tx, `charged ${JSON.stringify(given)}`)
            return respond(201)
          }),
        },
      )
    await op(schemaOf(() => ({ value: { cents: 500 } }))).run(request('k'))
    failing.isFirst = false
    await op(schemaOf(async () => ({ value: { cents: 900 } }))).run(request('k'))
    expect(await world.deeds()).toEqual(['charged {"cents":500}'])
  })

  it('says of another request under a known key that it is another one', async () => {
    await paying(anything).run(request('k'))
    const other = { ...request('k'), input: { amount: 6 } }
    expect(seen(await paying(schemaOf(() => REFUSED)).run(other))).toEqual(['mismatch'])
  })

  it('tells who asks while the request runs elsewhere that it runs', async () => {
    const tightened = paying(schemaOf(() => REFUSED))
    let result: readonly unknown[] = []
    const op = operation(
      'pay',
      { reprise: world.other(), input: anything },
      {
        started: phase(async () => {
          result = seen(await tightened.run(request('k')))
          return respond(201)
        }),
      },
    )
    await op.run(request('k'))
    expect(result).toEqual(['in_progress'])
  })

  it('leaves nothing behind of a fresh request that it refuses, and its key free', async () => {
    for (const validate of [TIGHTENED['refuses'], TIGHTENED['refuses later']]) {
      const tightened = paying(schemaOf(validate ?? (() => REFUSED)))
      await expect(tightened.run(request('k'))).rejects.toMatchObject({
        code: 'idempotency-input-invalid',
        detail: 'currency: A currency is needed',
      })
    }
    for (const validate of [TIGHTENED['throws'], TIGHTENED['throws later']]) {
      const broken = paying(schemaOf(validate ?? (() => REFUSED)))
      await expect(broken.run(request('k'))).rejects.toThrow('The schema is broken.')
    }
    expect(await records()).toBe(0)
    expect(world.events).toEqual([])
    const { completer } = createWorkers(world.reprise, { operations: [paying(anything)] })
    expect(await completer?.runOnce()).toBe(0)
    expect(seen(await paying(anything).run(request('k')))).toEqual(['executed', 201, 'paid'])
  })

  it('refuses a request whose record is past its retention, and leaves the record to the reaper', async () => {
    state.isDown = true
    await paying(anything).run(request('k'))
    state.isDown = false
    await world.age(73 * 3_600_000)
    await expect(paying(schemaOf(() => REFUSED)).run(request('k'))).rejects.toMatchObject({
      code: 'idempotency-input-invalid',
    })
    expect(await records()).toBe(1)
    expect(await world.letters()).toEqual([])
  })

  it('refuses it where the record goes away between the look and the claim', async () => {
    await paying(anything).run(request('k'))
    const { find } = world.store
    const tightened = paying(schemaOf(() => REFUSED))
    world.store.find = async (id) => {
      const found = await find.call(world.store, id)
      await world.pool.query('delete from reprise.records')
      return found
    }
    try {
      await expect(tightened.run(request('k'))).rejects.toMatchObject({
        code: 'idempotency-input-invalid',
      })
    } finally {
      world.store.find = find
    }
    expect(await records()).toBe(0)
    expect(await world.deeds()).toEqual(charged)
  })

  it('never charges behind a refusal while two nodes disagree', async () => {
    for (let round = 0; round < 20; round++) {
      const key = `k-${round}`
      const [loose, tight] = [paying(anything), paying(schemaOf(() => REFUSED))]
      const asked = Array.from({ length: 6 }, (_, index) => {
        const op = index % 2 === 0 ? loose : tight
        return op.run({ ...request(key), waitMs: 5000 }).then(seen, (error) => error.code)
      })
      await Promise.all(asked)
      // What was refused while nothing had begun is answered now like every other retry.
      expect(seen(await tight.run(request(key)))).toEqual(['replayed', 201, 'paid'])
    }
    expect(await world.deeds()).toHaveLength(20)
  })

  it('answers retries over HTTP too, also where the input cannot be taken from the request', async () => {
    const unreadable = () => {
      throw new Error('There is no such header.')
    }
    const caller = () => 'acct'
    const post = async (key: string, handler: RequestHandler) => {
      const app = express()
      app.post('/pay', handler)
      const { port, close } = await listen(app)
      const answer = await fetch(`http://127.0.0.1:${port}/pay`, {
        method: 'POST',
        headers: { 'Idempotency-Key': key, 'Content-Type': 'application/json' },
        body: '{"amount":5}',
      })
      await close()
      return answer.status
    }
    const loose = serve(paying(anything), { caller })
    const tight = serve(paying(schemaOf(() => REFUSED)), { caller })
    const broken = serve(paying(anything), { caller, input: unreadable })
    expect(await post('key-1', tight)).toBe(422)
    expect(await post('key-1', loose)).toBe(201)
    expect(await post('key-1', tight)).toBe(201)
    expect(await post('key-1', broken)).toBe(201)
    expect(await post('key-2', broken)).toBe(500)
    expect(await world.deeds()).toEqual(charged)
  })
})
