import { describe, expect, it } from 'vitest'
import { OutcomeUnknownError } from '../../src/client/errors.ts'
import type { ClientOptions } from '../../src/client/options.ts'
import { done, inProgress, START, type Step, thrownBy, world } from './world.ts'

const post = { json: { amount: 100 } }
const fails = (status: number, headers: Record<string, string> = {}): Step => ({ status, headers })

async function unknownOf(promise: Promise<unknown>): Promise<OutcomeUnknownError> {
  const error = await thrownBy(promise)
  if (!(error instanceof OutcomeUnknownError)) throw error
  return error
}

describe('an operation', () => {
  it('sends one key and the same bytes to the same address on every attempt', async () => {
    const { client, seen } = world(['cut', fails(503), done])
    const result = await client.post<{ id: number }>('charges', post)

    expect(await result.json()).toEqual({ id: 1 })
    expect(result).toMatchObject({ attempts: 3, replayed: false, protected: true })
    expect(seen).toHaveLength(3)
    expect(new Set(seen.map(({ key }) => key))).toEqual(new Set([result.key]))
    expect(new Set(seen.map(({ url }) => url))).toEqual(new Set(['https://api.example/v1/charges']))
    const bodies = seen.map(({ body }) => new TextDecoder().decode(body ?? new Uint8Array()))
    expect(new Set(bodies)).toEqual(new Set(['{"amount":100}']))
  })

  it('has a key of its own', async () => {
    const { client, seen } = world([done])
    await client.post('charges', post)
    await client.post('charges', post)
    expect(seen[0]?.key).not.toBe(seen[1]?.key)
  })

  it.each([['cut'], ['cut-body'], [fails(408)], [fails(500)], [fails(502)]] as const)(
    'is sent again after %o',
    async (step) => {
      const { client, seen } = world([step, done])
      expect(await client.post('charges', post)).toMatchObject({ attempts: 2 })
      expect(seen).toHaveLength(2)
    },
  )

  it.each([425, 429, 503, 504])('is sent again after %i', async (status) => {
    const { client, seen } = world([fails(status), done])
    expect(await client.post('charges', post)).toMatchObject({ attempts: 2 })
    expect(seen).toHaveLength(2)
  })

  it('is sent again when an attempt takes too long', async () => {
    const { client, clock, seen, arrived } = world(['hang', done])
    const sending = client.post('charges', post)
    await arrived(1)
    clock.advance(30_000)
    expect(await sending).toMatchObject({ attempts: 2 })
    expect(seen).toHaveLength(2)
  })

  it.each([400, 401, 402, 403, 404, 410, 422, 501, 505])(
    'is not sent again after %i',
    async (status) => {
      const { client, seen } = world([fails(status, { 'Retry-After': '1' }), done])
      const { response } = await client.post('charges', post)
      expect(response.status).toBe(status)
      expect(seen).toHaveLength(1)
    },
  )

  it('waits while the first attempt is in progress, and no wait is a failure', async () => {
    const waits = Array.from({ length: 9 }, () => inProgress)
    const { client, pauses } = world(['cut', ...waits, done], { attemptsMax: 2 })
    const result = await client.post('charges', post)

    expect(result.attempts).toBe(11)
    expect(pauses('wait')).toEqual(waits.map(() => 2000))
  })

  it.each([
    [{ 'Stripe-Should-Retry': 'true' }, '{"error":{"type":"idempotency_error"}}'],
    [{ 'Idempotent-Retry': 'same-key' }, ''],
    [{}, '{"error":{"code":"idempotency_key_in_use"}}'],
    [{}, '{"code":"idempotency_key_in_progress"}'],
    [{}, '{"title":"A request is outstanding for this Idempotency-Key"}'],
    [{}, '{"detail":"Request is being processed"}'],
  ])('knows a request in progress by %o and %s', async (headers, body) => {
    const { client, pauses } = world([{ status: 409, headers, body }, done])
    await client.post('charges', post)
    expect(pauses('wait')).toEqual([100])
  })

  it.each([
    [{}, '{"error":"email already in use"}'],
    [{}, '{"code":"idempotency_conflict"}'],
    [{ 'Stripe-Should-Retry': 'false' }, '{"code":"idempotency_key_in_use"}'],
    [{ 'Idempotent-Replayed': 'true', 'Retry-After': '1' }, ''],
  ])('takes any other conflict for its answer: %o %s', async (headers, body) => {
    const { client, seen } = world([{ status: 409, headers, body }, done])
    const { response } = await client.post('charges', post)
    expect([response.status, await response.text()]).toEqual([409, body])
    expect(seen).toHaveLength(1)
  })

  it('takes a repeated failure for its answer', async () => {
    const { client, seen } = world(['cut', fails(500, { 'Idempotent-Replayed': 'true' }), done])
    const result = await client.post('charges', post)
    expect(result).toMatchObject({ replayed: true, protected: true, attempts: 2 })
    expect(result.response.status).toBe(500)
    expect(seen).toHaveLength(2)
  })

  it.each(['Stripe-Should-Retry', 'X-Should-Retry', 'Transient-Error'])(
    'is not sent again when %s says so, whatever Retry-After says',
    async (name) => {
      const { client, seen } = world([fails(503, { [name]: 'false', 'Retry-After': '1' }), done])
      expect((await client.post('charges', post)).response.status).toBe(503)
      expect(seen).toHaveLength(1)
    },
  )
})

describe('the pause before a retry', () => {
  it('is anything up to a bound that doubles, from 200 ms to 10 s', async () => {
    const { client, pauses } = world(['cut'], { attemptsMax: 9 })
    await unknownOf(client.post('charges', post))
    // Chance is one half here.
    expect(pauses()).toEqual([100, 200, 400, 800, 1600, 3200, 5000, 5000])
  })

  it('may be as good as nothing, and never reaches its bound', async () => {
    for (const fraction of [0, 0.999]) {
      const random = { bytes: (length: number) => new Uint8Array(length), fraction: () => fraction }
      const { client, pauses } = world(['cut', 'cut', done], { random })
      await client.post('charges', post)
      expect(pauses()).toEqual([200 * fraction, 400 * fraction])
    }
  })

  it.each([
    ['7', undefined, 7000],
    [new Date(START + 9000).toUTCString(), undefined, 9000],
    // The clock of the server is what its date is held against.
    ['Wed, 21 Oct 2015 07:28:30 GMT', 'Wed, 21 Oct 2015 07:28:00 GMT', 30_000],
    ['Wed, 21 Oct 2015 07:28:00 GMT', undefined, 100],
    ['0', undefined, 100],
    ['soon', undefined, 100],
  ])('is what Retry-After says: %s at %s', async (after, date, expected) => {
    const headers = { 'Retry-After': after, ...(date && { Date: date }) }
    const { client, pauses } = world([fails(503, headers), done])
    await client.post('charges', post)
    expect(pauses()).toEqual([expected])
  })
})

describe('an outcome that stays unknown', () => {
  it('is thrown with key and request after five failures, and never tried with another key', async () => {
    const { client, seen } = world(['cut'])
    const error = await unknownOf(client.post('charges?token=x', post))

    expect(error).toMatchObject({ reason: 'network', attempts: 5, sent: true, response: undefined })
    expect(error.request).toMatchObject({ method: 'POST', body: '{"amount":100}', state: 'sent' })
    expect(error.cause).toBeInstanceOf(TypeError)
    expect(error.message).not.toContain('token')
    expect(seen).toHaveLength(5)
    expect(new Set(seen.map(({ key }) => key))).toEqual(new Set([error.key]))
  })

  it('comes with the last answer, where there was one', async () => {
    const { client } = world([fails(500)])
    const error = await unknownOf(client.post('charges', post))
    expect([error.reason, error.response?.status]).toEqual(['failed', 500])
  })

  it.each([520, 524, 507])('is what %i means, at once', async (status) => {
    const { client, seen } = world([fails(status)])
    expect((await unknownOf(client.post('charges', post))).reason).toBe('failed')
    expect(seen).toHaveLength(1)
  })

  it('is what the server itself may say, at once', async () => {
    const body = '{"code":"idempotency-outcome-unknown"}'
    const { client, seen } = world([{ status: 409, body }])
    expect((await unknownOf(client.post('charges', post))).reason).toBe('server')
    expect(seen).toHaveLength(1)
  })

  it.each([401, 403, 407])(
    'is not settled by %i: the attempt before may have counted',
    async (status) => {
      const { client } = world(['cut', fails(status)])
      expect((await unknownOf(client.post('charges', post))).reason).toBe('refused')
    },
  )

  it('is no unknown one where the server took nothing on', async () => {
    const { client, seen } = world([fails(429)])
    const { response, attempts } = await client.post('charges', post)
    expect([response.status, attempts, seen.length]).toEqual([429, 5, 5])
  })

  it('ends at the deadline over all attempts', async () => {
    const { client, clock, arrived } = world(['cut', 'hang'], { deadlineMs: 5000 })
    const sending = unknownOf(client.post('charges', post))
    await arrived(2)
    clock.advance(5000)
    expect(await sending).toMatchObject({ reason: 'deadline', attempts: 2 })
    expect(clock.timerCount).toBe(0)
  })

  it('does not wait for what would come after the deadline', async () => {
    const { client, clock } = world([fails(503, { 'Retry-After': '6' })], { deadlineMs: 5000 })
    expect((await unknownOf(client.post('charges', post))).reason).toBe('deadline')
    expect(clock.now()).toBe(START)
  })

  it('is thrown when the caller aborts an operation that was sent', async () => {
    const { client, arrived } = world(['hang'])
    const control = new AbortController()
    const sending = unknownOf(client.post('charges', { ...post, signal: control.signal }))
    await arrived(1)
    control.abort(new Error('enough'))
    expect(await sending).toMatchObject({ reason: 'aborted', cause: { message: 'enough' } })
  })

  it('is not thrown when the caller had aborted before', async () => {
    const { client, seen } = world([done])
    const signal = AbortSignal.abort(new Error('never mind'))
    await expect(client.post('charges', { ...post, signal })).rejects.toThrow('never mind')
    expect(seen).toEqual([])
    expect(await client.journal.list()).toEqual([])
  })

  it('is never retried past the retention of its key', async () => {
    const { client, clock, seen } = world(['cut', 'cut', done], { attemptsMax: 1 })
    await unknownOf(client.post('charges', post))
    clock.advance(86_399_999)
    const [young] = await client.resume()
    expect(young).toMatchObject({ error: { reason: 'network' } })
    clock.advance(1)
    const [old] = await client.resume()
    expect(old).toMatchObject({ error: { reason: 'retention' } })
    expect(seen).toHaveLength(2)
    expect(await client.journal.list()).toMatchObject([{ state: 'expired' }])
    expect(await client.resume()).toEqual([])
  })

  it('is never retried within one call past the retention either', async () => {
    const late = fails(503, { 'Retry-After': '11' })
    const { client, seen } = world([late, done], { retentionMs: 10_000 })
    expect((await unknownOf(client.post('charges', post))).reason).toBe('retention')
    expect(seen).toHaveLength(1)
  })
})

describe('the budget of retries', () => {
  it('ends retries to an origin in trouble, and to no other', async () => {
    const { client, seen } = world(['cut'], { retryBudget: 12 })
    const reasons = []
    for (let i = 0; i < 2; i++) reasons.push((await unknownOf(client.post('a', post))).reason)
    expect(reasons).toEqual(['budget', 'budget'])
    // Two retries for 5 each, then none.
    expect(seen).toHaveLength(4)
    await unknownOf(client.post('https://other.example/', post))
    expect(seen).toHaveLength(7)
  })

  it('gets back what a retry took when it is answered, and one token for an answer at once', async () => {
    const { client, pauses } = world(['cut', done, 'cut', done, done, 'cut', 'cut', done], {
      retryBudget: 9,
    })
    for (let i = 0; i < 3; i++) await client.post('a', post)
    expect((await unknownOf(client.post('a', post))).reason).toBe('budget')
    expect(pauses()).toHaveLength(3)
  })

  it('gets nothing back for an answer that speaks of trouble', async () => {
    const { client } = world(['cut', { status: 501 }, 'cut'], { retryBudget: 6 })
    await client.post('a', post)
    expect(await unknownOf(client.post('a', post))).toMatchObject({ reason: 'budget', attempts: 1 })
  })

  it('pays more for a retry after a time-out', async () => {
    const { client, clock, arrived } = world(['hang'], { retryBudget: 9 })
    const sending = unknownOf(client.post('a', post))
    await arrived(1)
    clock.advance(30_000)
    expect((await sending).reason).toBe('budget')
  })
})

describe('a request without a key', () => {
  it('is not sent again when its method is not safe', async () => {
    const { client, seen } = world(['cut', done])
    await expect(client.post('charges', { ...post, key: null })).rejects.toThrow('fetch failed')
    expect(seen.map(({ key }) => key)).toEqual([null])
    expect(await client.journal.list()).toEqual([])
  })

  it('is given its answer, whatever that is', async () => {
    for (const status of [409, 500, 503, 524]) {
      const { client, seen } = world([fails(status, { 'Retry-After': '1' })])
      const { response } = await client.post('charges', { ...post, key: null })
      expect([response.status, seen.length]).toEqual([status, 1])
    }
  })

  it.each(['GET', 'HEAD', 'OPTIONS', 'PROPFIND'])(
    'is sent once, as fetch does it: %s',
    async (method) => {
      const cut = world(['cut', { status: 200 }])
      await expect(cut.client('charges', { method })).rejects.toThrow('fetch failed')
      const failed = world([fails(503, { 'Retry-After': '1' }), { status: 200 }])
      expect((await failed.client('charges', { method })).status).toBe(503)
      expect([cut.seen.length, failed.seen.length]).toEqual([1, 1])
    },
  )
})

describe('a login page', () => {
  const at =
    (url: string, status = 200) =>
    async () => {
      const response = new Response('log in', { status })
      Object.defineProperties(response, { url: { value: url }, redirected: { value: true } })
      return response
    }
  const home = 'https://api.example/v1/charges'

  it('does not settle an attempt that may have counted', async () => {
    const answers = [() => Promise.reject(new TypeError('cut')), at('https://api.example/login')]
    const { client } = world([], { fetch: () => answers.shift()?.() ?? at(home)() })
    const error = await unknownOf(client.post('charges', post))
    expect(error).toMatchObject({ reason: 'refused', attempts: 2 })
    expect((await client.journal.list())[0]?.state).toBe('sent')
  })

  it('is the answer where nothing was sent before, as with fetch', async () => {
    const { client } = world([], { fetch: at('https://api.example/login') })
    expect(await client.post('charges', post)).toMatchObject({ attempts: 1, protected: false })
  })

  it('that comes from the same address is known by the sign that is missing', async () => {
    const plain: Step = { status: 200, body: 'log in' }
    const { client } = world([done, 'cut', plain])
    await client.post('charges', post)
    expect(await unknownOf(client.post('charges', post))).toMatchObject({ reason: 'refused' })
  })

  it('is not taken for one where another address of the server answers and shows the key', async () => {
    const moved = async () => {
      const response = new Response('{}', { status: 201, headers: { 'Idempotency-Key': 'k' } })
      Object.defineProperty(response, 'url', { value: `${home}/` })
      return response
    }
    const answers = [() => Promise.reject(new TypeError('cut')), moved]
    const { client } = world([], { fetch: () => answers.shift()?.() ?? moved() })
    expect(await client.post('charges', post)).toMatchObject({ attempts: 2, protected: true })
  })
})

describe('a redirect that is not followed', () => {
  it('does not settle an attempt that may have counted', async () => {
    const elsewhere: Step = { status: 307, headers: { Location: 'https://login.example/' } }
    const { client, seen } = world(['cut', elsewhere])
    const error = await unknownOf(client.post('charges', post))
    expect(error).toMatchObject({ reason: 'refused', response: { status: 307 } })
    expect(seen).toHaveLength(2)
    expect(await world([elsewhere]).client.post('charges', post)).toMatchObject({ attempts: 1 })
  })
})

describe('a server that gives no sign of honouring keys', () => {
  const plain: Step = { status: 201, body: '{}' }

  it('but marks replays is believed when it answers what is no replay', async () => {
    const replay: Step = { status: 201, headers: { 'Idempotent-Replayed': 'true' }, body: '{}' }
    const { client } = world(['cut', replay, inProgress, plain])
    await client.post('charges', post)
    expect(await client.post('charges', post)).toMatchObject({ attempts: 2, replayed: false })
  })

  it('but says that a key is in progress is believed when it answers', async () => {
    const { client } = world([inProgress, plain])
    expect(await client.post('charges', post)).toMatchObject({ attempts: 2, protected: false })
  })

  it('is reported in the result and by an event', async () => {
    const { client, events } = world([plain])
    expect(await client.post('charges', post)).toMatchObject({ protected: false })
    expect(events.map(({ type }) => type)).toEqual(['attempt', 'unprotected', 'answered'])
  })

  it.each<[string, Step]>([
    ['no answer', 'cut'],
    ['half an answer', 'cut-body'],
    ['an answer that is late', 'hang'],
    ...[408, 500, 502, 503, 504].map((status): [string, Step] => [`${status}`, { status }]),
    ['409 with Retry-After', { status: 409, headers: { 'Retry-After': '1' } }],
    ['500 with the advice to try again', { status: 500, headers: { 'X-Should-Retry': 'true' } }],
  ])('is trusted by default, and by option not sent anything twice: after %s', async (_, step) => {
    const sent = async (options: ClientOptions) => {
      const made = world([step, plain], { attemptTimeoutMs: 1000, ...options })
      const sending = made.client.post('charges', post).catch((error: unknown) => error)
      await made.arrived(1)
      await new Promise((resolve) => setImmediate(resolve))
      made.clock.advance(1000)
      const outcome = await sending
      await made.client.resume()
      return {
        outcome,
        times: made.seen.length,
        retries: made.pauses().length,
        keys: new Set(made.seen.map(({ key }) => key)).size,
      }
    }
    expect(await sent({})).toMatchObject({ outcome: { attempts: 2 }, times: 2, keys: 1 })
    expect(await sent({ unprotected: 'refuse' })).toMatchObject({
      ...{ outcome: { name: 'OutcomeUnknownError', sent: true }, times: 1, keys: 1, retries: 0 },
    })
  })

  it('is sent again by that option once it has shown that it honours them', async () => {
    const { client, seen } = world([done, 'cut', done], { unprotected: 'refuse' })
    await client.post('charges', post)
    expect(await client.post('charges', post)).toMatchObject({ attempts: 2 })
    expect(seen).toHaveLength(3)
  })

  it.each([
    ['resume()', async ({ client }: ReturnType<typeof world>) => void (await client.resume())],
    [
      'the network that comes back',
      async ({ network }: ReturnType<typeof world>) => {
        network.set(false)
        network.set(true)
      },
    ],
    [
      'the next operation of its resource',
      async ({ client }: ReturnType<typeof world>) => {
        await thrownBy(client.post('charges', { ...post, resource: 'account' }))
      },
    ],
  ])('is by that option not sent anything twice by %s either', async (_, act) => {
    const made = world(['cut', plain], { unprotected: 'refuse' })
    const first = await unknownOf(made.client.post('charges', { ...post, resource: 'account' }))
    await act(made)
    await new Promise((resolve) => setImmediate(resolve))
    expect(made.seen.filter(({ key }) => key === first.key)).toHaveLength(1)
    expect(await made.client.resume()).toMatchObject([{ error: { reason: 'unprotected' } }])
  })

  it('shows that it honours keys by saying that one is in progress, and not by Retry-After alone', async () => {
    const speaks = world([inProgress, done], { unprotected: 'refuse' })
    expect(await speaks.client.post('charges', post)).toMatchObject({ attempts: 2 })
    const busy = world([fails(409, { 'Retry-After': '1' }), plain], { unprotected: 'refuse' })
    expect(await unknownOf(busy.client.post('charges', post))).toMatchObject({
      reason: 'unprotected',
    })
    expect(busy.seen).toHaveLength(1)
  })
})
