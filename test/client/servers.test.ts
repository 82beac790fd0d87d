/**
 * The client on real sockets, against servers of several kinds, and behind axios and ky.
 *
 * @module
 */

import axios, { AxiosError } from 'axios'
import ky, { HTTPError } from 'ky'
import { describe, expect, it, onTestFinished } from 'vitest'
import { withIdempotency as withAxios } from '../../src/client/axios.ts'
import { createClient, idempotentFetch } from '../../src/client/client.ts'
import { OutcomeUnknownError } from '../../src/client/errors.ts'
import type { ClientEvent } from '../../src/client/events.ts'
import { withIdempotency as withKy } from '../../src/client/ky.ts'
import type { ClientOptions } from '../../src/client/options.ts'
import { dialects } from '../../src/core/dialects/index.ts'
import { responsePolicies } from '../../src/core/policy.ts'
import { type ChargesOptions, type Request, serve, serveCharges } from '../behaviour/api.ts'
import { Gate } from '../behaviour/gate.ts'
import { type CuttingProxy, cuttingProxy } from '../clients/cutting-proxy.ts'
import { thrownBy } from './world.ts'

/** A server behind a network that breaks, and what the client makes of it. */
async function world(options: ChargesOptions = {}, clientOptions: ClientOptions = {}) {
  const keys: (string | undefined)[] = []
  const charges = await serveCharges({
    before: [
      (request: Request, _, next) => {
        keys.push(request.get('Idempotency-Key'))
        next()
      },
    ],
    ...options,
  })
  const proxy = await cuttingProxy(charges.port)
  const events: ClientEvent[] = []
  const client = createClient({
    ...{ baseUrl: baseOf(proxy), backoffMs: 20, onEvent: (event) => events.push(event) },
    ...clientOptions,
  })
  onTestFinished(() => client.close())
  return { charges, proxy, client, keys, events }
}

const baseOf = ({ port }: Pick<CuttingProxy, 'port'>) => `http://127.0.0.1:${port}/`
const charge = { json: { amount: 100 } }

/** The dialects, and how each server is told to speak them; the client is told nothing. */
const SERVERS: readonly (readonly [string, ChargesOptions])[] = [
  ['ietf', {}],
  ['stripe', { dialect: dialects.stripe, policy: responsePolicies.stripe }],
  ['tasks', { dialect: dialects.tasks }],
  ['rides', { dialect: dialects.rides }],
  ['workflows', { dialect: dialects.workflows }],
  ['charges', { dialect: dialects.charges }],
]

describe.each(SERVERS)('against a server that speaks %s, the client', (_, options) => {
  it('gets the answer of the one effect after a cut', async () => {
    const { client, proxy, charges, keys } = await world(options)
    proxy.loseNextAnswer()
    const result = await client.post<{ id: string }>('charges', charge)

    expect(await result.json()).toEqual({ id: 'ch_1' })
    expect(result).toMatchObject({ attempts: 2, replayed: true, protected: true })
    expect([charges.runs(), keys]).toEqual([1, [result.key, result.key]])
  })

  it('waits for an attempt that is still in progress', async () => {
    const gate = new Gate()
    const { client, proxy, charges, events } = await world({
      ...options,
      async handle(_, response) {
        await gate.pass()
        response.status(201).json('done')
      },
    })
    const sending = client.post('charges', charge)
    await gate.reached()
    proxy.cut()
    await charges.happened('in_progress')
    gate.open()
    const result = await sending
    expect([await result.json(), result.replayed, charges.runs()]).toEqual(['done', true, 1])
    expect(events.filter(({ type }) => type === 'wait').length).toBeGreaterThan(0)
  })

  it('takes the refusal of another payload for its answer, whatever its status', async () => {
    const { client, charges } = await world(options)
    const key = 'a-key-of-more-than-twenty-characters'
    await client.post('charges', { ...charge, key })
    const again = await client.post('charges', { json: { amount: 200 }, key })
    expect(again).toMatchObject({ attempts: 1, replayed: false })
    expect([400, 409, 422]).toContain(again.response.status)
    expect(charges.runs()).toBe(1)
  })
})

describe('against other servers, the client', () => {
  it('sends quoted keys to a server that takes nothing else', async () => {
    const strict = { ...dialects.ietf, key: { mode: 'strict' } as const }
    for (const options of [{ dialect: strict }, { keyFormat: 'quoted' }] as const) {
      const { client, proxy, charges, keys } = await world({ dialect: strict }, options)
      proxy.loseNextAnswer()
      const result = await client.post('charges', charge)
      expect(result).toMatchObject({ attempts: 2, replayed: true, protected: true })
      expect([charges.runs(), keys[0]]).toEqual([1, `"${result.key}"`])
    }
    // Nothing ran for a key that the server could not read, and the client says what it was told.
    const { client, charges } = await world({ dialect: strict })
    expect((await client.post('charges', charge)).response.status).toBe(400)
    expect(charges.runs()).toBe(0)
  })

  it('puts the key where a dialect of its own has it', async () => {
    const { agents } = dialects
    const { client, charges } = await world({ dialect: agents }, { dialect: agents })
    const first = await client.post('charges', { ...charge, key: 'k' })
    const second = await client.post('charges', { ...charge, key: 'k' })
    expect([first.replayed, second.replayed, charges.runs()]).toEqual([false, true, 1])
  })

  it('says so when the server ignores keys', async () => {
    let runs = 0
    const { port } = await serve((app) => {
      app.post('/charges', (_, response) => {
        response.status(201).json({ id: ++runs })
      })
    })
    const proxy = await cuttingProxy(port)
    const events: ClientEvent[] = []
    const onEvent = (event: ClientEvent) => events.push(event)
    const baseUrl = baseOf(proxy)
    const trusting = createClient({ baseUrl, backoffMs: 20, onEvent })
    proxy.loseNextAnswer()
    expect(await trusting.post('charges', charge)).toMatchObject({ protected: false, attempts: 2 })
    expect(events.map(({ type }) => type)).toContain('unprotected')
    expect(runs).toBe(2)

    // Who can not be sure of the server asks the client to be careful.
    const careful = createClient({ baseUrl, backoffMs: 20, unprotected: 'refuse' })
    proxy.loseNextAnswer()
    expect(await thrownBy(careful.post('charges', charge))).toMatchObject({
      ...{ reason: 'network', attempts: 1, sent: true },
    })
    expect(runs).toBe(3)
  })

  it('learns from the server that it does not know either, and settles it later', async () => {
    let mayAnswer = false
    const { client, charges } = await world({
      afterCrash: async () => {
        if (!mayAnswer) throw new Error('not yet')
        return { status: 201, headers: [], body: new TextEncoder().encode('"it happened"') }
      },
      handle(_, response) {
        response.status(500).end()
      },
    })
    const error = await thrownBy(client.post('charges', charge))
    expect(error).toBeInstanceOf(OutcomeUnknownError)
    mayAnswer = true
    const [resumed] = await client.resume()
    if (resumed === undefined || !('result' in resumed)) throw new Error('It was not resumed.')
    expect(await resumed.result.json()).toBe('it happened')
    expect(charges.runs()).toBe(1)
  })
})

describe('idempotentFetch', () => {
  it('is fetch, with a key and safe retries', async () => {
    const { proxy, charges, keys } = await world()
    const send = idempotentFetch(fetch, { backoffMs: 20 })
    proxy.loseNextAnswer()
    const response = await send(`${baseOf(proxy)}charges`, { method: 'POST', body: 'x' })
    expect([response.status, await response.json(), charges.runs()]).toEqual([
      ...[201, { id: 'ch_1' }],
      1,
    ])
    expect(new Set(keys).size).toBe(1)
  })
})

describe('axios', () => {
  it('sends through the client: one key, one effect', async () => {
    const { client, proxy, charges, keys } = await world()
    const api = withAxios(axios.create({ baseURL: baseOf(proxy), timeout: 1 }), client)
    proxy.loseNextAnswer()
    const { data, status, headers } = await api.post('charges', { amount: 100 })
    expect([status, data, headers['idempotent-replayed']]).toEqual([201, { id: 'ch_1' }, 'true'])
    expect([charges.runs(), keys.length, new Set(keys).size]).toEqual([1, 2, 1])

    await api.post('charges', { amount: 1 }, { headers: { 'Idempotency-Key': 'mine' } })
    expect(keys.at(-1)).toBe('mine')
    await expect(api.post('nowhere', {})).rejects.toMatchObject({ response: { status: 404 } })
  })

  it('tells what the client threw', async () => {
    const { client, proxy } = await world({}, { attemptsMax: 1 })
    const api = withAxios(axios.create({ baseURL: baseOf(proxy) }), client)
    proxy.loseNextAnswer()
    const error = await thrownBy(api.post('charges', { amount: 100 }))
    expect(error).toBeInstanceOf(AxiosError)
    expect(error instanceof AxiosError && error.cause).toBeInstanceOf(OutcomeUnknownError)
    const [resumed] = await client.resume()
    expect(resumed).toMatchObject({ result: { replayed: true, attempts: 2 } })
  })

  it('is sent for by an adapter of ours where it is not known to take a fetch', async () => {
    const { client, proxy, charges, keys } = await world()
    const read = (text: string): unknown => (text.startsWith('{') ? JSON.parse(text) : text)
    const reads = { transformResponse: [read] }
    const api = withAxios(axios.create({ baseURL: baseOf(proxy), ...reads }), client)
    proxy.loseNextAnswer()
    const { data, status, headers } = await api.post('charges', { amount: 100 })
    expect([status, data, headers['idempotent-replayed']]).toEqual([201, { id: 'ch_1' }, 'true'])
    expect([charges.runs(), keys.length, new Set(keys).size]).toEqual([1, 2, 1])

    const refused = await thrownBy(api.post('nowhere', {}))
    expect(axios.isAxiosError(refused) && refused.response?.status).toBe(404)
    const { token, cancel } = axios.CancelToken.source()
    const stopped = thrownBy(api.post('charges', { amount: 1 }, { cancelToken: token }))
    cancel('enough')
    expect(axios.isAxiosError(await stopped)).toBe(true)
  })
})

describe('ky', () => {
  it('sends through the client: one key, one effect', async () => {
    const { client, proxy, charges, keys } = await world()
    const api = withKy(ky.create({ prefixUrl: baseOf(proxy) }), client)
    proxy.loseNextAnswer()
    expect(await api.post('charges', { json: { amount: 100 } }).json()).toEqual({ id: 'ch_1' })
    expect([charges.runs(), keys.length, new Set(keys).size]).toEqual([1, 2, 1])
    await expect(api.post('nowhere')).rejects.toBeInstanceOf(HTTPError)
  })

  it('tells what the client threw', async () => {
    const { client, proxy } = await world({}, { attemptsMax: 1 })
    const api = withKy(ky.create({ prefixUrl: baseOf(proxy) }), client)
    proxy.loseNextAnswer()
    expect(await thrownBy(api.post('charges').text())).toBeInstanceOf(OutcomeUnknownError)
  })
})
