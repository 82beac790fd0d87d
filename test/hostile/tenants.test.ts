import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { idempotent } from '../../src/adapters/fetch.ts'
import { type Dialect, dialects } from '../../src/core/dialects/index.ts'
import { createReprise } from '../../src/engine/reprise.ts'
import type { Store } from '../../src/engine/store.ts'
import { memoryStore } from '../../src/stores/memory/index.ts'
import { type Ground, grounds } from '../holes/stores.ts'

/** Long enough for every dialect. */
const TAKEN = 'taken-key-0000000000000000'
const UNKNOWN = 'fresh-key-0000000000000000'

/** A store that counts what it is asked: a difference in work could be measured from outside. */
function counting(store: Store): { store: Store; calls: string[] } {
  const calls: string[] = []
  const counted = new Proxy(store, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name, target)
      if (typeof value !== 'function') return value
      return (...args: unknown[]) => {
        calls.push(String(name))
        return Reflect.apply(value, target, args)
      }
    },
  })
  return { store: counted, calls }
}

/** A service whose handler can be held, and always answers the same. */
function serviceOn(given: Store, dialect: Dialect) {
  const { store, calls } = counting(given)
  const reprise = createReprise({ store, replayCache: false })
  let hold: Promise<void> | undefined
  const callerOf = (request: Request) => request.headers.get('x-caller') ?? ''
  const handle = idempotent(reprise, { caller: callerOf, dialect, methods: ['POST'] }, async () => {
    await hold
    return new Response('made', { status: 201 })
  })
  const post = (caller: string, key: string, body: string) => {
    const headers = {
      [dialect.header]: key,
      'x-caller': caller,
      'content-type': 'application/json',
    }
    return handle(new Request('http://a.example/charges', { method: 'POST', headers, body }))
  }
  /** All that a prober sees, and all that it costs; the key itself is echoed. */
  const probe = async (caller: string, key: string, body: string) => {
    calls.length = 0
    const response = await post(caller, key, body)
    const headers = JSON.stringify([...response.headers]).replaceAll(key, 'KEY')
    const text = (await response.text()).replaceAll(key, 'KEY')
    return { status: response.status, headers, text, calls: [...calls] }
  }
  return {
    ...{ post, probe },
    /** Holds the handler until what it gives is called. */
    hold() {
      let open = () => {}
      hold = new Promise((resolve) => {
        open = resolve
      })
      return () => {
        hold = undefined
        open()
      }
    },
  }
}

const NAMED = Object.entries(dialects)

describe('a caller who probes for the keys of others', () => {
  it.each(NAMED)('learns nothing from a finished one (%s)', async (_, dialect) => {
    const { post, probe } = serviceOn(memoryStore(), dialect)
    await post('owner', TAKEN, '{"a":1}')
    for (const body of ['{"a":1}', '{"a":2}']) {
      const store = serviceOn(memoryStore(), dialect)
      // The first request of a process also waits for the store to be ready.
      await store.post('owner', TAKEN, body)
      const unknown = await store.probe('prober', UNKNOWN, body)
      expect(unknown.status).toBe(201)
      const prober = `prober of ${body}`
      expect(await probe(prober, TAKEN, body)).toEqual(unknown)
    }
  })

  it.each(NAMED)('learns nothing from one that runs (%s)', async (_, dialect) => {
    const service = serviceOn(memoryStore(), dialect)
    const release = service.hold()
    const running = service.post('owner', TAKEN, '{"a":1}')
    const probed = service.probe('prober', TAKEN, '{"a":1}')
    release()
    const unknown = await serviceOn(memoryStore(), dialect).probe('prober', UNKNOWN, '{"a":1}')
    const { status, headers, text } = await probed
    expect({ status, headers, text }).toEqual({
      ...{ status: unknown.status, headers: unknown.headers, text: unknown.text },
    })
    expect((await running).status).toBe(201)
  })

  it('can not take a key away from others by taking it first', async () => {
    const { post } = serviceOn(memoryStore(), dialects.ietf)
    expect((await post('squatter', TAKEN, '{"a":2}')).status).toBe(201)
    const own = await post('owner', TAKEN, '{"a":1}')
    expect([own.status, own.headers.get('idempotent-replayed')]).toEqual([201, null])
  })

  it('meets nobody by a caller or key that is cut elsewhere', async () => {
    const { post } = serviceOn(memoryStore(), dialects.stripe)
    const pairs = [
      ...[
        ['a', 'b:c'],
        ['a:b', 'c'],
        ['a:', 'b:c'],
        ['1:a', '1:b'],
        ['a', '1:b'],
        ['a"', 'b'],
      ],
    ] as const
    for (const [caller = '', key = ''] of pairs) {
      const answer = await post(caller, `"${key}"`, '{}')
      expect([caller, key, answer.headers.get('idempotent-replayed')]).toEqual([caller, key, null])
    }
  })
})

describe.each(grounds())('a caller who probes on $name', ({ make }) => {
  let ground: Ground
  beforeAll(async () => {
    ground = await make()
  })
  afterAll(() => ground.dispose?.())

  it('sees the same, and has the store asked the same, for a taken and an unknown key', async () => {
    const { post, probe } = serviceOn(ground.store, dialects.ietf)
    await post('owner', TAKEN, '{"a":1}')
    const unknown = await probe('prober', UNKNOWN, '{"a":1}')
    expect(await probe('prober', TAKEN, '{"a":1}')).toEqual(unknown)
  })
})
