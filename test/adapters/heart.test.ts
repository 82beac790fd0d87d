import { describe, expect, expectTypeOf, it } from 'vitest'
import type { Exchange } from '../../src/adapters/exchange.ts'
import type { HttpOptions } from '../../src/adapters/options.ts'
import { Guard, type Protected } from '../../src/adapters/protect.ts'
import { giveRun, markProtected, runOf, txOf } from '../../src/adapters/run-of.ts'
import type { HttpRun } from '../../src/adapters/watched-handler.ts'
import { stripe } from '../../src/core/dialects/stripe.ts'
import { tasks } from '../../src/core/dialects/tasks.ts'
import { BODY_TOO_LARGE, STORE_UNAVAILABLE } from '../../src/core/error-table.ts'
import type { RunOptions } from '../../src/core/options.ts'
import { resolveRunOptions } from '../../src/core/options.ts'
import type { Skipped } from '../../src/engine/events.ts'
import type { RunRequest } from '../../src/engine/job.ts'
import { keyAge } from '../../src/engine/key-age.ts'
import type { AnyReprise } from '../../src/engine/reprise.ts'
import { unstored } from '../../src/engine/result.ts'
import type { TransactionOptions } from '../../src/engine/transaction-handler.ts'
import { createReprise, memoryStore, type Reprise, RepriseError } from '../../src/index.ts'
import { type Asked, created, exchangeOf } from './exchange-stub.ts'

type Options = Partial<HttpOptions<unknown>>

const FORM = ['content-type', 'application/x-www-form-urlencoded'] as const
const KEY = ['idempotency-key', 'key-1'] as const

/** An engine that notes what it is asked and runs every handler. */
class NotingReprise implements AnyReprise<string> {
  readonly hasTransactions = true
  readonly options = resolveRunOptions()
  readonly given: RunOptions[] = []
  readonly requests: RunRequest[] = []
  readonly skipped: Skipped[] = []
  readonly transactions: TransactionOptions<string>[] = []

  checkTransaction(): void {}

  recall(): undefined {}

  with(options: RunOptions): this {
    this.given.push(options)
    return this
  }

  run: AnyReprise<string>['run'] = async (request, handler) => {
    this.requests.push(request)
    const signal = new AbortController().signal
    const run = {
      fence: 1,
      signal,
      setResource() {},
      async markEffect() {},
      store() {},
      release() {},
      holdUntil() {},
    }
    return unstored({ response: await handler(run), fate: 'stored' })
  }

  runInTransaction: NonNullable<AnyReprise<string>['runInTransaction']> = async (
    request,
    handler,
    options = {},
  ) => {
    this.requests.push(request)
    this.transactions.push(options)
    const stage = async () => 'id'
    const run = {
      tx: 'the transaction',
      stage,
      setResource() {},
      store() {},
      release() {},
      holdUntil() {},
    }
    return unstored({ response: await handler(run), fate: 'stored' })
  }

  skip(skipped: Skipped): void {
    this.skipped.push(skipped)
  }

  async ready(): Promise<void> {}

  async close(): Promise<void> {}
}

/** What the engine is asked for a request. */
async function asked(request: Asked, options: Options = {}): Promise<RunRequest> {
  const reprise = new NotingReprise()
  const guard = new Guard<unknown, string>(reprise, { caller: () => 'acct_1', ...options })
  await guard.protect({}, exchangeOf(request), created)
  const [noted] = reprise.requests
  if (noted === undefined) throw new Error('The engine was not asked.')
  return noted
}

describe('what the engine is asked', () => {
  it('names caller, key, operation and origin', async () => {
    const headers = [KEY, ['x-request-id', 'req_1'], ['user-agent', 'test']] as const

    expect(await asked({ headers })).toMatchObject({
      ...{ caller: 'acct_1', key: 'key-1', operation: 'POST /items/:id' },
      origin: { requestId: 'req_1', ip: '192.0.2.1', userAgent: 'test' },
    })
  })

  it('selects the record by the parts that the dialect counts', async () => {
    const ours = ['caller', 'acct_1', 'key', 'key-1']

    expect((await asked({})).identity).toEqual([...ours, 'method', 'POST', 'route', '/items/:id'])
    expect((await asked({}, { dialect: stripe })).identity).toEqual(ours)
    const byPath = [...ours, 'method', 'POST', 'path', '/items/7']
    expect((await asked({}, { dialect: tasks })).identity).toEqual(byPath)
  })

  it('takes the path for the route where the template is not known', async () => {
    const { identity, operation } = await asked({ route: null })

    expect(operation).toBe('POST /items/7')
    expect(identity?.slice(-2)).toEqual(['route', '/items/7'])
  })

  it('takes the name of the operation for the route where there is one', async () => {
    const { identity, operation } = await asked({ route: null }, { operation: 'create item' })

    expect(operation).toBe('create item')
    expect(identity?.slice(-2)).toEqual(['route', 'create item'])
  })

  it.each([
    ['wait=2', 2000],
    ['respond-async, wait=2', 2000],
    ['WAIT = "2"; x=y', 2000],
    ['wait=0', 0],
    ['wait=86400', 10_000],
    ['wait=-1', undefined],
    ['wait=soon', undefined],
    ['await=2', undefined],
    ['return=minimal', undefined],
  ])('waits for "Prefer: %s" as it says', async (prefer, expected) => {
    expect((await asked({ headers: [KEY, ['prefer', prefer]] })).waitMs).toBe(expected)
  })

  it('reads Prefer from several lines', async () => {
    const headers = [KEY, ['prefer', 'return=minimal'], ['prefer', 'wait=3']] as const

    expect((await asked({ headers })).waitMs).toBe(3000)
  })
})

describe('what is compared', () => {
  const fingerprint = async (request: Asked, options?: Options) =>
    (await asked(request, options)).fingerprints

  it('leaves out the hidden field of a form, and nothing else of that name', async () => {
    const form = (body: string) => fingerprint({ headers: [KEY, FORM], body })
    const json = (body: string) =>
      fingerprint({ headers: [KEY, ['content-type', 'application/json']], body })

    expect(await form('idempotency_key=a&b=1')).toEqual(await form('b=1&idempotency_key=c'))
    expect(await form('b=1')).not.toEqual(await form('b=2'))
    expect(await json('{"idempotency_key":1}')).not.toEqual(await json('{"idempotency_key":2}'))
  })

  it('leaves out the member and the query field that hold the key, and what the route says', async () => {
    const type = ['content-type', 'application/json'] as const
    const options = { key: { field: 'id' }, fingerprint: { exclude: ['at'] } }
    const event = (body: string) => fingerprint({ headers: [type], body }, options)
    const query = (query: string) => fingerprint({ query }, { key: { query: 'k' } })

    expect(await event('{"id":"1","at":1}')).toEqual(await event('{"id":"2","at":2}'))
    expect(await event('{"id":"1","b":1}')).not.toEqual(await event('{"id":"1","b":2}'))
    expect(await query('k=1&a=b')).toEqual(await query('k=2&a=b'))
    expect(await query('k=1&a=b')).not.toEqual(await query('k=1&a=c'))
  })
})

describe('transaction mode', () => {
  const run = async (options: Options, handler?: { isRepeatable: boolean }) => {
    const reprise = new NotingReprise()
    const all = { caller: () => 'acct_1', ...options }
    const guard = new Guard<unknown, string>(reprise, all, handler)
    await guard.protect({}, exchangeOf(), created)
    return reprise
  }

  it('is not used unless asked for', async () => {
    expect((await run({})).transactions).toEqual([])
    expect((await run({ transaction: false })).transactions).toEqual([])
  })

  it('takes the isolation that the route says', async () => {
    expect((await run({ transaction: true })).transactions).toEqual([{ claim: 'first' }])
    expect((await run({ transaction: 'serializable' })).transactions).toEqual([
      { isolation: 'serializable', claim: 'first' },
    ])
  })

  it('runs a handler again only where the adapter can call it again', async () => {
    const options = { transaction: true, transactionAttemptsMax: 7 }
    const attempts = ({ given }: NotingReprise) => given[0]?.transactionAttemptsMax

    expect(attempts(await run(options))).toBe(1)
    expect(attempts(await run(options, { isRepeatable: true }))).toBe(7)
  })
})

describe('what the listener is told of requests that come to no run', () => {
  const told = async (request: Asked, options: Options = {}) => {
    const reprise = new NotingReprise()
    const guard = new Guard<unknown, string>(reprise, { caller: () => 'acct_1', ...options })
    const exchange = exchangeOf(request)
    if (guard.takes(exchange)) await guard.protect({}, exchange, created)
    return reprise.skipped
  }

  it('names the operation as for those that do', async () => {
    const bypassed = (operation: string) => [{ type: 'bypassed', operation }]

    expect(await told({ method: 'GET' })).toEqual(bypassed('GET /items/:id'))
    expect(await told({ method: 'GET', route: null })).toEqual(bypassed('GET /items/7'))
    expect(await told({ headers: [] })).toEqual(bypassed('POST /items/:id'))
    expect(await told({ headers: [] }, { operation: 'create' })).toEqual(bypassed('create'))
    expect(await told({})).toEqual([])
  })

  it('says why one was rejected', async () => {
    const rejected = (code: string) => [{ type: 'rejected', operation: 'POST /items/:id', code }]
    const early = [['early-data', '1']] as const
    const old = [['idempotency-key', '00000000-0000-7000-8000-000000000001']] as const

    expect(await told({ headers: [] }, { required: true })).toEqual(
      rejected('idempotency-key-missing'),
    )
    expect(await told({ headers: early })).toEqual(rejected('idempotency-too-early'))
    expect(await told({ headers: old }, { keyAge: keyAge({ ageMsMax: 1000 }) })).toEqual(
      rejected('idempotency-key-expired'),
    )
  })
})

describe('errors', () => {
  const protect = async (
    execute: () => Promise<never>,
    options: Options = {},
  ): Promise<Protected> =>
    new Guard<unknown, never>(createReprise({ store: memoryStore() }), {
      ...{ caller: () => 'acct_1', ...options },
      transaction: false,
    }).protect({}, exchangeOf(), execute)

  it('of the handler are its own, also those that look like ours', async () => {
    const failure = new RepriseError(STORE_UNAVAILABLE)

    await expect(protect(() => Promise.reject(failure), { failOpen: true })).rejects.toBe(failure)
  })

  it('of the caller function are thrown, and the handler does not run', async () => {
    const failure = new Error('no session')
    const run = protect(() => Promise.reject(new Error('ran')), {
      caller: () => Promise.reject(failure),
    })

    await expect(run).rejects.toBe(failure)
  })

  it('of the request say what is wrong with it, those of the store do not', async () => {
    const detailOf = (result: Protected): unknown =>
      result.kind === 'answered' && JSON.parse(Buffer.from(result.response.body).toString()).detail
    const length = (bytes: string) => exchangeOf({ headers: [KEY, ['content-length', bytes]] })
    const down = Object.assign(memoryStore(), { claim: () => Promise.reject(new Error('down')) })
    const ask = (exchange: Exchange, options: Options = {}, store = memoryStore()) =>
      new Guard<unknown, never>(createReprise({ store }), {
        ...{ caller: () => 'acct_1', ...options },
        transaction: false,
      }).protect({}, exchange, created)

    expect(detailOf(await ask(length('33554433')))).toMatch(/^The body has over 33554432 bytes\. /)
    expect(detailOf(await ask(exchangeOf(), {}, down))).toMatch(/^Nothing was started\. /)
    expect(await ask(length('33554432'))).toMatchObject({ kind: 'executed' })
    const boundless = { fingerprint: { bodyBytesMax: Number.POSITIVE_INFINITY } }
    expect(await ask(length('33554433'), boundless)).toMatchObject({ kind: 'executed' })
  })

  it('of reading the body for the key are refusals', async () => {
    const guard = new Guard(createReprise({ store: memoryStore() }), {
      ...{ caller: () => 'acct_1', key: { field: 'id' } },
    })
    const exchange = {
      ...exchangeOf(),
      body: () => Promise.reject(new RepriseError(BODY_TOO_LARGE)),
    }

    expect(await guard.protect({}, exchange, created)).toMatchObject({
      ...{ kind: 'answered', response: { status: 413 } },
    })
  })
})

describe('the way to the run', () => {
  const stage = async () => 'id'
  const run: HttpRun<string> = {
    tx: 'tx',
    stage,
    setResource() {},
    store() {},
    release() {},
    holdUntil() {},
  }

  it('leads from the request to the run and its transaction', () => {
    const request = {}
    markProtected(request)
    expect(runOf(request)).toBeUndefined()

    giveRun(request, run)

    expect(runOf(request)).toBe(run)
    expect(txOf(request)).toBe('tx')
  })

  it('ends in a sentence where there is no transaction', () => {
    expect(() => txOf({})).toThrow(/set transaction on the route/)
    // @ts-expect-error Without types nobody says that there is a request.
    expect(() => txOf(undefined)).toThrow(/set transaction on the route/)
  })

  it('can not be taken twice', () => {
    const request = {}
    markProtected(request)

    expect(() => markProtected(request)).toThrow(/protected twice/)
  })

  it('is not that of requests that are made of a protected one', () => {
    const request = {}
    markProtected(request)

    expect(Reflect.ownKeys({ ...request })).toEqual([])
    expect(() => markProtected({ ...request })).not.toThrow()
    expect(() => markProtected(Object.create(request))).not.toThrow()
  })
})

describe('the options of a route', () => {
  interface Tx {
    query(sql: string): Promise<void>
  }

  it('have no transaction where the store has none, and always a caller', () => {
    type Idempotent = <Req, Tx = never>(reprise: Reprise<Tx>, options: HttpOptions<Req, Tx>) => Tx
    const compiled = (idempotent: Idempotent, memory: Reprise, postgres: Reprise<Tx>) => {
      const caller = () => 'acct_1'
      idempotent(memory, { caller })
      expectTypeOf(
        idempotent(postgres, { caller, transaction: 'serializable' }),
      ).toEqualTypeOf<Tx>()
      // @ts-expect-error the memory store has no transactions
      idempotent(memory, { caller, transaction: true })
      // @ts-expect-error there is no silent global scope
      idempotent(postgres, { transaction: true })
    }

    expectTypeOf(compiled).toBeFunction()
  })
})
