import { PGlite } from '@electric-sql/pglite'
import pg from 'pg'
import postgres from 'postgres'
import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest'
import { STARTED } from '../../src/core/record.ts'
import type { ClaimRequest, Store } from '../../src/engine/store.ts'
import { clientOf } from '../../src/stores/postgres/clients/client-of.ts'
import {
  claimsValue,
  endingsValue,
  toEnds,
  toGrants,
} from '../../src/stores/postgres/groups/values.ts'
import { postgresStore } from '../../src/stores/postgres/index.ts'
import { queries } from '../../src/stores/postgres/queries.ts'
import {
  comparable,
  expectFound,
  expectGranted,
  rivalOf,
  sampleFinish,
  sampleRequest,
  sampleResponse,
  snapshot,
  take,
  takeAndFinish,
} from '../../src/testing/contract/sample.ts'
import { poolOf } from '../conformance/postgres.harness.ts'
import { type TemporaryDatabase, temporaryDatabase } from '../support/postgres.ts'

const COUNT = 60
const STATEMENTS = queries('reprise')

let database: TemporaryDatabase
let pool: pg.Pool
let store: Store<pg.PoolClient>
const sent: string[] = []

beforeAll(async () => {
  database = await temporaryDatabase()
  pool = poolOf(database.url, { max: 8 })
  const query: (...args: unknown[]) => unknown = pool.query.bind(pool)
  vi.spyOn(pool, 'query').mockImplementation((...args: unknown[]) => {
    const [asked] = args
    if (typeof asked === 'object' && asked !== null) sent.push(String(Reflect.get(asked, 'name')))
    return query(...args)
  })
  store = postgresStore(pool)
  await store.ready()
})

beforeEach(() => {
  sent.length = 0
})

afterAll(async () => {
  await store.close()
  await pool.end()
  await database.drop()
})

function times(verb: string): number {
  return sent.filter(
    (name) =>
      name.startsWith(`reprise_${verb}_`) && !name.includes('_many_') === !verb.includes('many'),
  ).length
}

function samples(overrides: Partial<ClaimRequest> = {}): readonly ClaimRequest[] {
  return Array.from({ length: COUNT }, () => sampleRequest(overrides))
}

function claimAll(requests: readonly ClaimRequest[]) {
  return Promise.all(requests.map((request) => store.claim(request)))
}

describe('claims and ends of many requests at once', () => {
  it('go together, and each is as if it had gone alone', async () => {
    const requests = samples()
    const results = await claimAll(requests)
    expect(times('claim')).toBe(4)
    expect(times('claim_many')).toBeLessThanOrEqual(6)

    const claims = results.map((result) => expectGranted(result).claim)
    expect(claims.map(({ id, owner, fence }) => [id, owner, fence])).toEqual(
      requests.map(({ id, owner }) => [id, owner, 1]),
    )
    const ends = claims.map((claim, index) =>
      store.finish(claim, sampleFinish({ response: sampleResponse(`answer ${index}`) })),
    )
    expect(await Promise.all(ends)).toEqual(claims.map(() => true))
    expect(times('finish_many')).toBeGreaterThan(0)
    for (const [index, { id }] of requests.entries()) {
      const { record, status } = await expectFound(store, id)
      expect(status).toBe('finished')
      expect(String(record.response?.sealed)).toBe(`answer ${index}`)
    }
  })

  it('leave the record that one alone leaves', async () => {
    const input = new Uint8Array([0, 255, 10])
    const odd = { caller: `a"\\b'c`, operation: 'POST /ü\n', recoveryPoint: STARTED, input }
    const requests = samples(odd)
    const results = await claimAll(requests)
    const alone = sampleRequest(odd)
    await take(store, alone)

    const last = requests.at(-1) ?? alone
    const grouped = results.at(-1)
    expect(grouped).toMatchObject({ outcome: 'execute', recoveryPoint: STARTED, abandoned: false })
    const timeless = async ({ id, key, owner, origin }: ClaimRequest) => {
      const { record, status } = await expectFound(store, id)
      const { createdAt, expiresAt, leaseUntil, ...rest } = comparable(record)
      const kept = Number(expiresAt) - Number(createdAt)
      const leased = Number(leaseUntil) - Number(createdAt)
      const own = JSON.stringify([rest, kept, leased, status])
      const names = [id, key, owner, String(origin.requestId)]
      return names
        .reduce((text, name) => text.replaceAll(name, ''), own)
        .replaceAll(/fingerprint of [\w-]*/g, '')
    }
    expect(await timeless(last)).toBe(await timeless(alone))
  })

  it('are granted to one of those who ask for the same key', async () => {
    const request = sampleRequest()
    const results = await claimAll([
      ...samples(),
      ...samples().map(() => rivalOf(request)),
      request,
    ])
    const same = results.slice(COUNT)

    expect(same.filter((result) => 'claim' in result)).toHaveLength(1)
    expect(new Set(same.map(({ outcome }) => outcome))).toEqual(new Set(['execute', 'in_progress']))
  })

  it('are told what stands in the way', async () => {
    const finished = sampleRequest()
    await takeAndFinish(store, finished)
    const running = sampleRequest()
    await take(store, running)
    const results = await claimAll([...samples(), rivalOf(finished), rivalOf(running)])

    expect(results.slice(COUNT).map(({ outcome }) => outcome)).toEqual(['replay', 'in_progress'])
  })

  it('are told apart by their keys, whoever asks', async () => {
    const running = sampleRequest()
    await take(store, running)
    const { owner } = rivalOf(running)
    const results = await claimAll([...samples({ owner }), rivalOf(running, { owner })])

    expect(results.at(-1)?.outcome).toBe('in_progress')
  })

  it('are asked for alone where one claim was sent twice: what stands is told to both', async () => {
    const once = sampleRequest({ input: new Uint8Array([1]) })
    const again = { ...once, input: new Uint8Array([2]) }
    const results = await claimAll([...samples(), once, again])

    const inputs = results.slice(COUNT).map((result) => expectGranted(result).input?.[0])
    expect(inputs[0]).toBe(inputs[1])
  })

  it('go together through postgres.js and PGlite too', async () => {
    const sql = postgres(database.url, { max: 1, onnotice: () => {} })
    const pglite = await PGlite.create()
    await Promise.all([postgresStore(sql).ready(), postgresStore(pglite).ready()])
    for (const source of [sql, pglite]) {
      const client = clientOf(source, true)
      const requests = samples()
      const values = [claimsValue(requests)]
      const rows = await client.query({ statement: STATEMENTS.claimMany, values })
      const claims = toGrants(rows, requests).map(
        (grant) => grant && 'claim' in grant && grant.claim,
      )
      expect(claims.map((claim) => claim && claim.owner)).toEqual(
        requests.map(({ owner }) => owner),
      )

      const endings = requests.map(({ id, owner }) => ({
        ...{ claim: { id, owner, fence: 1 }, finish: sampleFinish() },
      }))
      const ended = await client.query({
        ...{ statement: STATEMENTS.finishMany, values: [endingsValue(endings)] },
      })
      expect(toEnds(ended)).toEqual(requests.map(() => true))
    }
    await sql.end()
    await pglite.close()
  }, 60_000)

  it('know a claim that was carried out and not heard of', async () => {
    const request = sampleRequest()
    await take(store, request)
    const results = await claimAll([...samples(), request])

    expect(results.at(-1)).toMatchObject({ outcome: 'execute', claim: { fence: 1 } })
  })

  it('do not suffer from one that can not be carried out', async () => {
    const impossible = sampleRequest({ caller: 'a\u0000b' })
    const asked = [...samples(), impossible, ...samples()].map((request) => store.claim(request))
    const results = await Promise.allSettled(asked)

    expect(results.filter(({ status }) => status === 'rejected')).toHaveLength(1)
    expect(results[COUNT]?.status).toBe('rejected')
  })

  it('are refused to a run that another has taken over, and to it alone', async () => {
    const request = sampleRequest({ recoveryPoint: STARTED })
    const { claim } = await take(store, request)
    await store.release(claim, 'suspend')
    await take(store, rivalOf(request))
    const before = await snapshot(store, request.id)
    const others = (await claimAll(samples())).map((result) => expectGranted(result).claim)
    const ends = [...others, claim].map((one) => store.finish(one, sampleFinish()))

    expect(await Promise.all(ends)).toEqual([...others.map(() => true), false])
    expect(await snapshot(store, request.id)).toEqual(before)
  })

  it('do not wait for one whose key is held for long', async () => {
    const request = sampleRequest()
    const holder = await pool.connect()
    await holder.query('begin')
    const joined = await store.transactions?.begin({ ...request, join: holder })
    if (joined === undefined || !('commit' in joined)) throw new Error('It is refused.')
    await joined.commit(sampleFinish())
    const others = claimAll(samples())
    const blocked = store.claim(rivalOf(request))
    const later = claimAll(samples())

    const results = await Promise.all([others, later])
    expect(results.flat().every((result) => 'claim' in result)).toBe(true)
    expect(times('claim_many')).toBeGreaterThan(1)
    await holder.query('commit')
    holder.release()
    expect((await blocked).outcome).toBe('replay')
  })
})
