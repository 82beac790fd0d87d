import type pg from 'pg'
import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest'
import type { CapturedResponse } from '../../src/core/response.ts'
import type { Store } from '../../src/engine/store.ts'
import type { TransactionHandler } from '../../src/engine/transaction-handler.ts'
import { createReprise, DuplicateRequest, type RepriseOptions } from '../../src/index.ts'
import { postgresStore } from '../../src/stores/postgres/index.ts'
import { poolOf } from '../conformance/postgres.harness.ts'
import { type TemporaryDatabase, temporaryDatabase } from '../support/postgres.ts'

type Tx = pg.PoolClient

const ADD = { name: 'add', text: 'insert into effects (note) values ($1)' }
const HELD = { claim: 'with-first-statement' } as const

let database: TemporaryDatabase
let pools: readonly pg.Pool[]
const stores = new Map<pg.Pool, Store<Tx>>()
let keys = 0

beforeAll(async () => {
  database = await temporaryDatabase()
  pools = Array.from({ length: 3 }, () => poolOf(database.url, { pipeline: true, max: 4 }))
  await at(0).query('create table effects (id bigint generated always as identity, note text)')
  // The first on each connection prepares; from then on all of it travels together.
  for (const pool of pools) {
    const { reprise } = node(pool)
    const warm = () => reprise.runInTransaction(fresh(), adding('warm'), HELD)
    for (let round = 0; round < 3; round++) await Promise.all(Array.from({ length: 4 }, warm))
  }
})

beforeEach(async () => {
  await at(0).query('truncate effects')
})

afterAll(async () => {
  await Promise.all(pools.map((pool) => pool.end()))
  await database.drop()
})

function at(index: number): pg.Pool {
  const pool = pools[index]
  if (pool === undefined) throw new Error('There is no such pool.')
  return pool
}

/** The store on a pool, which learns from its first transaction what isolation the database gives. */
function storeOn(pool: pg.Pool): Store<Tx> {
  const store = stores.get(pool) ?? postgresStore(pool)
  stores.set(pool, store)
  return store
}

/** An engine as another process has it. */
function node(pool: pg.Pool, options: Partial<RepriseOptions<Tx>> = {}) {
  const retries: unknown[] = []
  const reprise = createReprise<Tx>({
    store: storeOn(pool),
    replayCache: false,
    onEvent: ({ type }) => {
      if (type === 'transaction_retry') retries.push(type)
    },
    ...options,
  })
  return { reprise, retries }
}

function fresh() {
  return { caller: 'acct', operation: 'op', key: `key-${++keys}`, fingerprints: ['print'] }
}

function answer(text: string, status = 201): CapturedResponse {
  return { status, headers: [], body: new TextEncoder().encode(text) }
}

function adding(note: string): TransactionHandler<Tx> {
  return async ({ tx }) => {
    await tx.query({ ...ADD, values: [note] })
    return answer(note)
  }
}

async function notes(): Promise<readonly string[]> {
  const { rows } = await at(0).query<{ note: string }>('select note from effects order by id')
  return rows.map(({ note }) => note)
}

function bodyOf(result: object): string | undefined {
  return 'response' in result
    ? new TextDecoder().decode((result.response as CapturedResponse).body)
    : undefined
}

/** Something to wait for, and its end. */
function gate() {
  let open = () => {}
  const opened = new Promise<void>((resolve) => {
    open = resolve
  })
  return { opened, open }
}

describe('a duplicate, with the claim in its first statement', () => {
  it.each<readonly [string, TransactionHandler<Tx>]>([
    ['lets the error pass', adding('second')],
    [
      'swallows the error and answers',
      async ({ tx }) => {
        await tx.query({ ...ADD, values: ['second'] }).catch(() => {})
        await tx.query('rollback; insert into effects (note) values (4)').catch(() => {})
        return answer('mine')
      },
    ],
    [
      'throws something else',
      async ({ tx }) => {
        await tx.query({ ...ADD, values: ['second'] }).catch(() => {})
        throw new Error('mine')
      },
    ],
    ['makes no statement', async () => answer('mine')],
    ['answers what is not stored', async () => answer('mine', 500)],
    ['throws before its statement', async () => Promise.reject(new Error('mine'))],
    [
      'says that its answer counts',
      async (run) => {
        run.store()
        await run.tx.query({ ...ADD, values: ['second'] }).catch(() => {})
        run.setResource({ type: 'a', id: 'b' })
        return answer('mine')
      },
    ],
  ])('gets the first answer when its handler %s', async (_, handler) => {
    const request = fresh()
    await node(at(0)).reprise.runInTransaction(request, adding('first'), HELD)
    const result = await node(at(1)).reprise.runInTransaction(request, handler, HELD)

    expect(result.outcome).toBe('replayed')
    expect(bodyOf(result)).toBe('first')
    expect(await notes()).toEqual(['first'])
  })

  it('tells the handler by an error of its own', async () => {
    const request = fresh()
    await node(at(0)).reprise.runInTransaction(request, adding('first'))
    let told: unknown
    const handler: TransactionHandler<Tx> = async ({ tx }) => {
      told = await tx.query({ ...ADD, values: ['x'] }).catch((error: unknown) => error)
      return answer('mine')
    }
    await node(at(1)).reprise.runInTransaction(request, handler, HELD)

    expect(told).toBeInstanceOf(DuplicateRequest)
  })

  it('is told that the first is in progress, or that it asks for something else', async () => {
    const request = fresh()
    const [begun, end] = [gate(), gate()]
    const first = node(at(0)).reprise.runInTransaction(
      request,
      async ({ tx }) => {
        await tx.query({ ...ADD, values: ['first'] })
        begun.open()
        await end.opened
        return answer('first')
      },
      HELD,
    )
    await begun.opened
    const { reprise } = node(at(1))
    const outcomes = [
      await reprise.runInTransaction(request, adding('second'), HELD),
      await reprise.runInTransaction({ ...request, fingerprints: ['other'] }, adding('x'), HELD),
    ].map(({ outcome }) => outcome)
    const waiting = reprise.runInTransaction({ ...request, waitMs: 20_000 }, adding('y'), HELD)
    end.open()

    expect(outcomes).toEqual(['in_progress', 'mismatch'])
    expect((await first).outcome).toBe('executed')
    const waited = await waiting
    expect([waited.outcome, bodyOf(waited)]).toEqual(['replayed', 'first'])
    expect(await notes()).toEqual(['first'])
  })

  it('is told that the outcome is unknown', async () => {
    const request = fresh()
    const { reprise } = node(at(0))
    await reprise.run(request, () => Promise.reject(new Error('stopped'))).catch(() => {})

    expect((await reprise.runInTransaction(request, adding('x'), HELD)).outcome).toBe('unknown')
    expect(await notes()).toEqual([])
  })

  it('is in progress at once in the same process, also before the first statement', async () => {
    const request = fresh()
    const [begun, end] = [gate(), gate()]
    const { reprise } = node(at(0))
    const first = reprise.runInTransaction(
      request,
      async (run) => {
        begun.open()
        await end.opened
        return adding('first')(run)
      },
      HELD,
    )
    await begun.opened
    const second = await reprise.runInTransaction(request, adding('second'), HELD)
    end.open()

    expect(second.outcome).toBe('in_progress')
    expect((await first).outcome).toBe('executed')
    expect(await notes()).toEqual(['first'])
  })

  it.each([
    [5, 'executed', ['again']],
    [1, 'failed', []],
  ])('with %i runs at most, when what blocked it is gone: %s', async (max, outcome, left) => {
    const request = fresh()
    const [begun, end] = [gate(), gate()]
    const first = node(at(0)).reprise.runInTransaction(request, async ({ tx }) => {
      await tx.query({ ...ADD, values: ['first'] })
      begun.open()
      await end.opened
      throw new Error('The first fails.')
    })
    await begun.opened
    let runs = 0
    const handler: TransactionHandler<Tx> = async (run) => {
      runs++
      return adding('again')(run)
    }
    const { transactions } = storeOn(at(1))
    if (transactions === undefined) throw new Error('It has transactions.')
    const begin = transactions.begin.bind(transactions)
    // The first is undone after the refusal and before the key is asked for again.
    const asked = vi.spyOn(transactions, 'begin').mockImplementation(async (again) => {
      if (runs > 0) {
        end.open()
        await first.catch(() => {})
      }
      return begin(again)
    })
    const { reprise } = node(at(1), { transactionAttemptsMax: max })
    const result = await reprise.runInTransaction(request, handler, HELD).catch((error) => error)
    asked.mockRestore()

    expect(result.outcome ?? 'failed').toBe(outcome)
    if (outcome === 'failed') expect(result.code).toBe('idempotency-conflict')
    expect(runs).toBe(max === 1 ? 1 : 2)
    expect(await notes()).toEqual(left)
  })
})

describe('a duplicate that waits, with no run left', () => {
  it('is told to ask again when the one it waited for is undone', async () => {
    const request = { ...fresh(), waitMs: 30_000 }
    const [begun, end] = [gate(), gate()]
    const first = node(at(0)).reprise.runInTransaction(request, async ({ tx }) => {
      await tx.query({ ...ADD, values: ['first'] })
      begun.open()
      await end.opened
      throw new Error('The first fails.')
    })
    await begun.opened
    // One who came too late to be woken has left his note.
    await at(2).query('delete from reprise.waiters')
    let runs = 0
    const { reprise } = node(at(1), { transactionAttemptsMax: 1 })
    const counted: TransactionHandler<Tx> = async (run) => {
      runs++
      return adding('again')(run)
    }
    const second = reprise.runInTransaction(request, counted, HELD).catch((error) => error)
    const isWaiting = async () => (await at(2).query('select from reprise.waiters')).rowCount === 1
    while (!(await isWaiting())) await new Promise((resolve) => setImmediate(resolve))
    end.open()
    await first.catch(() => {})

    expect(await second).toMatchObject({ code: 'idempotency-conflict' })
    expect(runs).toBe(1)
    expect(await notes()).toEqual([])
  })
})

describe('a fresh request, with the claim in its first statement', () => {
  it('is run again after a serialization failure', async () => {
    const { reprise, retries } = node(at(0))
    let runs = 0
    const result = await reprise.runInTransaction(
      fresh(),
      async ({ tx }) => {
        const text = `do $$ begin raise exception 'again' using errcode = '40001'; end $$`
        await tx.query({ ...ADD, values: ['x'] })
        if (++runs < 3) await tx.query(text)
        return answer('done')
      },
      HELD,
    )

    expect(result.outcome).toBe('executed')
    expect(retries).toHaveLength(2)
    expect(await notes()).toEqual(['x'])
  })

  it('leaves nothing when the handler throws, before its statement or after', async () => {
    const request = fresh()
    const { reprise } = node(at(0))
    const failure = new Error('mine')
    const before = reprise.runInTransaction(request, () => Promise.reject(failure), HELD)
    await expect(before).rejects.toBe(failure)
    const after = reprise.runInTransaction(
      request,
      async ({ tx }) => {
        await tx.query({ ...ADD, values: ['x'] })
        throw failure
      },
      HELD,
    )
    await expect(after).rejects.toBe(failure)
    expect(await notes()).toEqual([])
    expect((await reprise.runInTransaction(request, adding('y'), HELD)).outcome).toBe('executed')

    expect(await notes()).toEqual(['y'])
  })

  it('is rehearsed as a duplicate where that is wanted, so that an effect too early shows', async () => {
    const seen: unknown[] = []
    const { reprise } = node(at(0))
    const handler: TransactionHandler<Tx> = async ({ tx }) => {
      seen.push('too early')
      await tx.query({ ...ADD, values: ['x'] }).catch((error: unknown) => {
        seen.push(error)
        throw error
      })
      return answer('done')
    }
    const result = await reprise.runInTransaction(fresh(), handler, { ...HELD, rehearse: true })

    expect(result.outcome).toBe('executed')
    expect(seen).toEqual(['too early', expect.any(DuplicateRequest), 'too early'])
    expect(await notes()).toEqual(['x'])
  })

  it('is rehearsed also where the handler never comes back from a refusal', async () => {
    const { reprise } = node(at(0))
    const handler: TransactionHandler<Tx> = async ({ tx }) => {
      await tx.query({ ...ADD, values: ['x'] }).catch(() => new Promise(() => {}))
      return answer('done')
    }
    const result = await reprise.runInTransaction(fresh(), handler, { ...HELD, rehearse: true })

    expect(result.outcome).toBe('executed')
    expect(await notes()).toEqual(['x'])
  })

  it('is not rehearsed where the handler can not be run again', async () => {
    const { reprise } = node(at(0), { transactionAttemptsMax: 1 })
    let runs = 0
    const handler: TransactionHandler<Tx> = async (run) => {
      runs++
      return adding('x')(run)
    }
    await reprise.runInTransaction(fresh(), handler, { ...HELD, rehearse: true })

    expect(runs).toBe(1)
    expect(await notes()).toEqual(['x'])
  })

  it('refuses what does not go with it', async () => {
    const { reprise } = node(at(0))
    const join = await at(0).connect()
    const joined = reprise.runInTransaction(fresh(), adding('x'), { ...HELD, join })
    await expect(joined).rejects.toMatchObject({ code: 'reprise-options-invalid' })
    await expect(joined).rejects.toThrow(/claim: 'with-first-statement' and join/)
    const claim = 'later' as 'first'
    const odd = reprise.runInTransaction(fresh(), adding('x'), { claim })
    await expect(odd).rejects.toThrow(/claim is 'first' or/)
    join.release()

    expect(await notes()).toEqual([])
  })
})

describe('1,000 duplicates, with the claim in their first statement', () => {
  it('have one effect and one answer, from engines that know nothing of each other', async () => {
    const request = { ...fresh(), waitMs: 60_000 }
    const engines = Array.from({ length: 12 }, (_, index) => node(at(index % 3)).reprise)
    const all = Array.from({ length: 1000 }, (_, index) => {
      const reprise = engines[index % engines.length] ?? node(at(0)).reprise
      return reprise.runInTransaction(request, adding(`by ${index}`), HELD)
    })
    const results = await Promise.all(all)
    const bodies = new Set(results.map(bodyOf))
    const outcomes = results.map(({ outcome }) => outcome)

    expect(outcomes.filter((outcome) => outcome === 'executed')).toHaveLength(1)
    expect(outcomes.filter((outcome) => outcome === 'replayed')).toHaveLength(999)
    expect([...bodies]).toEqual(await notes())
    expect(bodies.size).toBe(1)
  })
})
