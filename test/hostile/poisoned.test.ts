import { brotliCompressSync } from 'node:zlib'
import { afterEach, describe, expect, it } from 'vitest'
import { idempotent } from '../../src/adapters/fetch.ts'
import { aesGcm } from '../../src/engine/aes-gcm.ts'
import type { RepriseEvent } from '../../src/engine/events.ts'
import { createReprise } from '../../src/engine/reprise.ts'
import type { Store } from '../../src/engine/store.ts'
import { grounds } from '../holes/stores.ts'

const encryption = aesGcm({ current: 'a', keys: { a: new Uint8Array(32).fill(7) } })

interface Poison {
  readonly name: string
  readonly isEncrypted?: boolean
  spoil(sealed: Uint8Array): Uint8Array
}

const cut = (sealed: Uint8Array, bytes: number) => sealed.subarray(0, sealed.length - bytes)
const framed = (head: string) => {
  const length = Buffer.alloc(4)
  length.writeUInt32BE(head.length)
  return Buffer.concat([Uint8Array.of(1, 0), length, Buffer.from(head)])
}

/** What stands in a row after a bad disk, another program or a foe. */
const POISONS: readonly Poison[] = [
  { name: 'nothing', spoil: () => new Uint8Array(0) },
  { name: 'one byte', spoil: () => Uint8Array.of(1) },
  { name: 'an unknown version', spoil: (sealed) => Uint8Array.of(99, ...sealed.subarray(1)) },
  {
    name: 'bad compression',
    spoil: (sealed) => Buffer.concat([cut(sealed, 9), Buffer.alloc(9, 255)]),
  },
  { name: 'compression that is none', spoil: () => Uint8Array.of(1, 1, 200, 201, 202, 203) },
  {
    name: 'compression that unpacks to nothing',
    spoil: () => Buffer.concat([Uint8Array.of(1, 1), brotliCompressSync(Buffer.alloc(0))]),
  },
  {
    name: 'a frame longer than the bytes',
    spoil: () => Uint8Array.of(1, 0, 255, 255, 255, 255, 91),
  },
  { name: 'a head that is no JSON', spoil: () => framed('[[["a"') },
  { name: 'a head that is no list', spoil: () => framed('{"__proto__":[]}') },
  { name: 'headers that are none', spoil: () => framed('[[["a"],[1,2]],null]') },
  { name: 'an envelope of somebody else', spoil: () => Buffer.from('{"v":2,"data":"…"}') },
  { name: 'truncated cipher text', isEncrypted: true, spoil: (sealed) => cut(sealed, 20) },
  {
    name: 'a cipher text without its tag',
    isEncrypted: true,
    spoil: (sealed) => sealed.subarray(0, 10),
  },
  {
    name: 'the name of another key',
    isEncrypted: true,
    spoil: (sealed) => {
      return sealed.map((byte, at) => (at === 3 ? byte ^ 1 : byte))
    },
  },
]

/** The store, with other bytes in the rows than those that were to be kept. */
function spoiling(store: Store, spoil: Poison['spoil']): Store {
  const finish: Store['finish'] = (claim, given) => {
    const { response } = given
    return store.finish(claim, {
      ...given,
      response: { ...response, sealed: spoil(response.sealed) },
    })
  }
  return new Proxy(store, {
    get(target, name) {
      if (name === 'finish') return finish
      const value: unknown = Reflect.get(target, name, target)
      return typeof value === 'function' ? value.bind(target) : value
    },
  })
}

describe.each(grounds())('rows that were damaged, on $name', ({ make }) => {
  let dispose = async () => {}
  afterEach(() => dispose())

  it('never crash a node, are never run again, and are told to client and operator', async () => {
    const ground = await make()
    dispose = async () => ground.dispose?.()
    let runs = 0
    const service = (store: Store, poison?: Poison) => {
      const events: RepriseEvent[] = []
      const reprise = createReprise({
        ...{ store, replayCache: false, onEvent: (event) => void events.push(event) },
        ...(poison?.isEncrypted ? { encryption } : {}),
      })
      const handle = idempotent(reprise, { caller: () => 'me' }, () => {
        runs++
        return new Response('text '.repeat(500), { status: 201 })
      })
      const send = (key: string) => {
        const headers = { 'idempotency-key': key }
        return handle(new Request('http://a.example/charges', { method: 'POST', headers }))
      }
      return { send, events }
    }
    for (const [number, poison] of POISONS.entries()) {
      const key = `poisoned-${number}`
      expect((await service(spoiling(ground.store, poison.spoil), poison).send(key)).status).toBe(
        201,
      )
      const { send, events } = service(ground.store, poison)
      for (let time = 0; time < 2; time++) {
        const answer = await send(key)
        expect([poison.name, answer.status]).toEqual([poison.name, 409])
        expect(await answer.json()).toMatchObject({ code: 'idempotency-result-gone' })
      }
      const told = events.map(({ type, error }) => [type, Reflect.get(Object(error), 'code')])
      const broken = ['failed', 'reprise-seal-broken']
      expect(told).toEqual([broken, broken])
      // The next request is served as ever.
      expect((await send(`${key}-next`)).status).toBe(201)
    }
    expect(runs).toBe(2 * POISONS.length)
  })
})
