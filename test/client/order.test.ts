import { describe, expect, it } from 'vitest'
import { memoryJournal } from '../../src/client/journal.ts'
import type { ClientOptions } from '../../src/client/options.ts'
import { type Turns, takeTurn } from '../../src/client/turns.ts'
import { done, type Step, thrownBy, world } from './world.ts'

const paths = (seen: readonly { url: string }[]) => seen.map(({ url }) => url.split('/').at(-1))
const ordered = { resource: 'cart' }

describe('without a network', () => {
  it('operations are written down and sent when it comes back', async () => {
    const { client, network, seen, events } = world([done])
    network.set(false)
    const sending = [client.post('a'), client.post('b')]
    await expect.poll(async () => (await client.journal.list()).length).toBe(2)
    expect(seen).toEqual([])
    expect((await client.journal.list()).map(({ state }) => state)).toEqual(['queued', 'queued'])
    network.set(true)

    const results = await Promise.all(sending)
    expect(results.map(({ attempts }) => attempts)).toEqual([1, 1])
    expect(seen).toHaveLength(2)
    expect(events.map(({ type }) => type).slice(0, 2)).toEqual(['queued', 'queued'])
  })

  it('an operation is not forgotten when it comes back while the journal is being written', async () => {
    const memory = memoryJournal()
    const put: typeof memory.put = async (entry) => {
      await memory.put(entry)
      network.set(true)
    }
    const { client, network, seen } = world([done], { journal: { ...memory, put } })
    network.set(false)
    expect(await client.post('a')).toMatchObject({ attempts: 1 })
    expect(seen).toHaveLength(1)
  })

  it('an attempt that fails is no failure of the server', async () => {
    const { client, network, seen, arrived } = world(['cut', done], {
      ...{ attemptsMax: 1, onEvent: ({ type }) => type === 'attempt' && network.set(false) },
    })
    const sending = client.post('a')
    await arrived(1)
    await expect.poll(() => network.isOn).toBe(false)
    // The next one waits for the network, and there is none yet.
    await new Promise(setImmediate)
    expect(seen).toHaveLength(1)
    network.set(true)
    expect(await sending).toMatchObject({ attempts: 2 })
  })

  it('what has to be given up is sent by itself when the network is back', async () => {
    const { client, clock, network, seen, arrived } = world([done], { deadlineMs: 1000 })
    network.set(false)
    const sending = thrownBy(client.post('a'))
    await expect.poll(async () => (await client.journal.list()).length).toBe(1)
    clock.advance(1000)
    expect(await sending).toMatchObject({ reason: 'deadline', sent: false, attempts: 0 })
    expect(seen).toEqual([])

    network.set(true)
    await arrived(1)
    await expect.poll(async () => (await client.journal.list())[0]?.state).toBe('answered')
  })

  it('nothing is sent by itself once the client is closed', async () => {
    const { client, network, seen } = world(['cut', done], { attemptsMax: 1 })
    await thrownBy(client.post('a'))
    client.close()
    network.set(false)
    network.set(true)
    await new Promise(setImmediate)
    expect(seen).toHaveLength(1)
  })

  it('an operation that is not wanted any more is not sent later', async () => {
    const { client, network } = world([done])
    const control = new AbortController()
    network.set(false)
    const sending = thrownBy(client.post('a', { signal: control.signal }))
    await expect.poll(async () => (await client.journal.list()).length).toBe(1)
    control.abort(new Error('changed my mind'))
    expect(await sending).toMatchObject({ message: 'changed my mind' })
    expect(await client.journal.list()).toEqual([])
  })
})

describe('what the program throws', () => {
  it('takes back an operation that was written down and never sent', async () => {
    const headers = () => {
      throw new Error('no token')
    }
    const { client, network } = world([done], { headers })
    network.set(false)
    const sending = thrownBy(client.post('a'))
    await expect.poll(async () => (await client.journal.list()).length).toBe(1)
    network.set(true)
    expect(await sending).toMatchObject({ message: 'no token' })
    expect(await client.journal.list()).toEqual([])
  })

  it('leaves the outcome unknown once an attempt was sent', async () => {
    let asked = 0
    const headers = () => {
      if (asked++ > 0) throw new Error('no token')
      return {}
    }
    const { client } = world(['cut'], { headers })
    expect(await thrownBy(client.post('a'))).toMatchObject({
      ...{ reason: 'network', attempts: 1, cause: { message: 'no token' } },
    })
    expect(await client.journal.list()).toMatchObject([{ state: 'sent' }])
  })
})

describe('operations of one resource', () => {
  it('are sent in the order in which they were begun, one after the other', async () => {
    const answers: (() => void)[] = []
    const begun: string[] = []
    const send: typeof fetch = async (url) => {
      begun.push(typeof url === 'string' ? (url.at(-1) ?? '') : '')
      await new Promise<void>((resolve) => answers.push(resolve))
      return new Response('{}')
    }
    const { client } = world([], { fetch: send })
    // The first one takes the longest to prepare.
    const large = new Blob([new Uint8Array(4_000_000)])
    const all = [
      client.post('a', { ...ordered, body: large }),
      client.post('b', ordered),
      client.post('c', ordered),
      client.post('x', { resource: 'another' }),
    ]
    await expect.poll(() => [...begun].sort()).toEqual(['a', 'x'])
    for (const next of ['a', 'b', 'c']) {
      await expect.poll(() => begun.includes(next)).toBe(true)
      for (const answer of answers.splice(0)) answer()
    }
    await Promise.all(all)
    expect(begun.filter((path) => path !== 'x')).toEqual(['a', 'b', 'c'])
  })

  it('keep their order after the network was away', async () => {
    const { client, network, seen } = world([done])
    network.set(false)
    const all = ['a', 'b', 'c', 'd', 'e'].map((path) => client.post(path, ordered))
    await expect.poll(async () => (await client.journal.list()).length).toBe(5)
    network.set(true)
    await Promise.all(all)
    expect(paths(seen)).toEqual(['a', 'b', 'c', 'd', 'e'])
  })

  it('keep their order after a reload, one client after another', async () => {
    const journal = memoryJournal()
    const first = world(['cut'], { journal, attemptsMax: 1 })
    const left = ['a', 'b', 'c'].map((path) => thrownBy(first.client.post(path, ordered)))
    expect((await Promise.all(left)).map((error) => error)).toMatchObject([
      { reason: 'network', sent: true },
      // Neither may overtake the first.
      { reason: 'held', sent: false },
      { reason: 'held', sent: false },
    ])
    expect(new Set(paths(first.seen))).toEqual(new Set(['a']))

    const failed: Step = { status: 500 }
    const second = world([done, failed, done], { journal, attemptsMax: 1 })
    expect(await second.client.resume()).toMatchObject([{ result: {} }, { error: {} }])
    expect(paths(second.seen)).toEqual(['a', 'b'])
    // A new one settles what is before it.
    await second.client.post('d', ordered)
    expect(paths(second.seen)).toEqual(['a', 'b', 'b', 'c', 'd'])
  })

  it('let the next one go on when one fails before it is sent, and not before its turn', async () => {
    const { client, clock, seen, arrived } = world(['hang', done])
    const first = client.post('a', ordered)
    await arrived(1)
    const refused = client.post('b', { ...ordered, body: new ReadableStream() })
    await expect(refused).rejects.toThrow(TypeError)
    const next = client.post('c', ordered)
    await expect.poll(async () => (await client.journal.list()).length).toBe(2)
    expect(paths(seen)).toEqual(['a'])
    clock.advance(30_000)
    await Promise.all([first, next])
    expect(paths(seen)).toEqual(['a', 'a', 'c'])
  })
})

describe('events', () => {
  it('tell the way of an operation, without query, header or body', async () => {
    const { client, events } = world(
      ['cut', { status: 503 }, { status: 409, headers: { 'Retry-After': '3' } }, done],
      { newKey: () => 'k' },
    )
    await client.post('charges?secret=1', { body: 's3cret', headers: { A: 's3cret' } })
    expect(events.map(({ type, attempts, status }) => [type, attempts, status])).toEqual([
      ['attempt', 1, undefined],
      ['retry', 1, undefined],
      ['attempt', 2, undefined],
      ['retry', 2, 503],
      ['attempt', 3, undefined],
      ['wait', 3, 409],
      ['attempt', 4, undefined],
      ['answered', 4, 201],
    ])
    expect(events.at(-1)).toMatchObject({
      ...{ key: 'k', method: 'POST', url: 'https://api.example/v1/charges', replayed: false },
      elapsedMs: 100 + 200 + 3000,
    })
    expect(JSON.stringify(events)).not.toContain('secret')
    expect(JSON.stringify(events)).not.toContain('s3cret')
  })

  it('end with what is thrown', async () => {
    const { client, events } = world(['cut'])
    const error = await thrownBy(client.post('a'))
    expect(events.at(-1)).toMatchObject({ type: 'unknown', attempts: 5, error })
  })

  it('do no harm when their listener throws', async () => {
    const client = world([done]).client
    const noisy = world([done], {
      onEvent() {
        throw new Error('bug')
      },
    })
    expect((await client.post('a')).attempts).toBe((await noisy.client.post('a')).attempts)
  })
})

describe('a queue of turns', () => {
  it('is forgotten when the last one is done', async () => {
    const turns: Turns = new Map()
    const [first, second] = [takeTurn(turns, 'cart'), takeTurn(turns, 'cart')]
    first.done()
    await second.before
    expect(turns.size).toBe(1)
    second.done()
    await expect.poll(() => turns.size).toBe(0)
  })
})

describe('two clients of one resource at the same time', () => {
  it('leave each other alone: neither sends what the other is at work on', async () => {
    const journal = memoryJournal()
    const busy = world([done], { journal })
    busy.network.set(false)
    const first = busy.client.post('a', { resource: 'cart' })
    await expect.poll(async () => (await journal.list()).length).toBe(1)

    const other = world([done], { journal })
    expect(await other.client.post('b', { resource: 'cart' })).toMatchObject({ attempts: 1 })
    expect(other.seen.map(({ url }) => url.at(-1))).toEqual(['b'])
    busy.network.set(true)
    await first
    expect(busy.seen.map(({ url }) => url.at(-1))).toEqual(['a'])
  })

  it('keep the order of their own operations', async () => {
    const journal = memoryJournal()
    const busy = world(['hang'], { journal })
    const own = world(['cut', done], { journal, attemptsMax: 1 })
    await thrownBy(own.client.post('a', { resource: 'cart' }))
    void thrownBy(busy.client.post('b', { resource: 'cart', deadlineMs: 1e9 }))
    // It settles what is left, and hangs.
    await busy.arrived(1)
    expect(await thrownBy(own.client.post('c', { resource: 'cart' }))).toMatchObject({
      ...{ reason: 'held', sent: false },
    })
    expect(own.seen.map(({ url }) => url.at(-1))).toEqual(['a'])
  })
})

describe('an operation that waits in the journal while another client has the lock of its resource', () => {
  const plain: Step = { status: 201, body: '{}' }

  /** A client without a network, whose operation waits; and one that has the lock, until it lets go. */
  async function waiting(steps: readonly Step[], options: ClientOptions = {}) {
    const journal = memoryJournal()
    const letGo = await journal.lock(' cart')
    const here = world(steps, { journal, ...options })
    here.network.set(false)
    const sending = here.client.post('a', { resource: 'cart', deadlineMs: 1000 }).then(
      (result) => result,
      (error: unknown) => error,
    )
    await expect.poll(async () => (await journal.list()).length).toBe(1)
    const there = world(steps, { journal, ...options })
    return { here, there, sending, letGo: async () => letGo?.() }
  }

  it('is not sent a second time when the other has sent it', async () => {
    const { here, there, sending, letGo } = await waiting([plain], { unprotected: 'refuse' })
    await letGo()
    expect(await there.client.resume()).toMatchObject([{ result: { attempts: 1 } }])
    here.network.set(true)
    expect(await sending).toMatchObject({ reason: 'unprotected', sent: true })
    expect([here.seen.length, there.seen.length]).toEqual([0, 1])
  })

  it('gets the answer with its key from an origin that honours keys', async () => {
    const { here, there, sending, letGo } = await waiting([done])
    await letGo()
    await there.client.resume()
    here.network.set(true)
    expect(await sending).toMatchObject({ response: { status: 201 } })
    expect(here.seen[0]?.key).toBe(there.seen[0]?.key)
  })

  it('is left to the other while it has the lock', async () => {
    const { here, sending } = await waiting([done])
    here.network.set(true)
    expect(await sending).toMatchObject({ reason: 'held', sent: false })
    expect(here.seen).toEqual([])
  })

  it('is said to have been sent when the time is up and the other has sent it', async () => {
    const { here, there, sending, letGo } = await waiting([done])
    await letGo()
    await there.client.resume()
    here.clock.advance(1000)
    expect(await sending).toMatchObject({ reason: 'deadline', sent: true })
  })

  it('is not sent when a person has removed it', async () => {
    const { here, sending, letGo } = await waiting([done])
    await letGo()
    const [entry] = await here.client.journal.list()
    await here.client.journal.forget(entry?.id ?? '')
    here.network.set(true)
    expect(await sending).toMatchObject({ reason: 'journal' })
    expect(here.seen).toEqual([])
    expect(await here.client.journal.list()).toEqual([])
  })
})
