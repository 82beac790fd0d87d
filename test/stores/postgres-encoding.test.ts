/** Callers and operations that a database cannot hold: the client is told so, once and for all. */

import { Pool, type PoolClient } from 'pg'
import { describe, expect, it, onTestFinished } from 'vitest'
import { idempotent, txOf } from '../../src/adapters/fetch.ts'
import { createReprise, memoryStore, type Store } from '../../src/index.ts'
import { postgresStore } from '../../src/stores/postgres/index.ts'
import { temporaryDatabase } from '../support/postgres.ts'

const REFUSED = { status: 400, code: 'idempotency-identity-invalid', retryable: false }
const NUL = String.fromCharCode(0)

describe('a database with the encoding LATIN1', () => {
  it.each([
    ['in lease mode', false],
    ['in transaction mode', true],
  ] as const)('has a caller that it cannot hold refused for good, %s', async (_, transaction) => {
    const { ask, pool } = await service(transaction)
    const answers = [await ask('Жанна'), await ask('Жанна')]

    expect(answers).toMatchObject([REFUSED, REFUSED])
    expect((await pool.query('select 1 from reprise.records')).rowCount).toBe(0)
    expect(await ask('René')).toMatchObject({ status: 201 })
    expect(await ask('René')).toMatchObject({ status: 201, isReplayed: true })
  })

  it('has them refused one by one where claims go together', async () => {
    const { ask } = await service(false)
    const callers = Array.from({ length: 40 }, (_, n) => (n % 4 === 0 ? `Ж${n}` : `é${n}`))
    const answers = await Promise.all(callers.map((caller) => ask(caller)))

    expect(answers.map(({ status }) => status)).toEqual(
      callers.map((caller) => (caller.startsWith('Ж') ? 400 : 201)),
    )
  })

  it('undoes what the handler did in its transaction', async () => {
    const { ask, pool } = await service(true)
    await ask('Жанна')

    expect((await pool.query('select 1 from app_rows')).rowCount).toBe(0)
  })
})

describe('a database with the encoding SQL_ASCII', () => {
  it.each([
    ['in lease mode', false],
    ['in transaction mode', true],
  ] as const)('holds every caller, whatever it is written in, %s', async (_, transaction) => {
    const { ask, pool } = await service(transaction, 'SQL_ASCII')
    for (const caller of ['Жанна', 'René', '\u{1F600}', '\uD83D']) {
      expect([caller, await ask(caller)]).toMatchObject([caller, { status: 201 }])
      expect([caller, await ask(caller)]).toMatchObject([caller, { status: 201, isReplayed: true }])
    }
    const many = await Promise.all(Array.from({ length: 40 }, (__, n) => ask(`Ж${n}`)))
    expect(new Set(many.map(({ status }) => status))).toEqual(new Set([201]))
    expect((await pool.query('select 1 from app_rows')).rowCount).toBe(44)
  })
})

describe('a caller or an operation with a NUL character', () => {
  it.each([
    ['memory', async () => memoryStore()],
    ['PostgreSQL', async () => postgresStore(await encodedIn('LATIN1'))],
  ] as [string, () => Promise<Store>][])('is refused for good with %s', async (_, open) => {
    const reprise = createReprise({ store: await open() })
    onTestFinished(() => reprise.close())
    let runs = 0
    const asked = (options: { caller: string; operation: string }) => {
      const handler = idempotent(
        reprise,
        { caller: () => options.caller, operation: options.operation },
        () => {
          runs++
          return new Response(null, { status: 201 })
        },
      )
      return outcomeOf(handler(request()))
    }

    expect(await asked({ caller: `a${NUL}`, operation: 'charge' })).toMatchObject(REFUSED)
    expect(await asked({ caller: 'a', operation: `charge${NUL}` })).toMatchObject(REFUSED)
    expect(runs).toBe(0)
    expect(await asked({ caller: 'a', operation: 'charge' })).toMatchObject({ status: 201 })
  })

  it('is refused without HTTP as well, and so is such a key', async () => {
    const reprise = createReprise({ store: memoryStore() })
    const usual = { caller: 'a', operation: 'charge', key: 'k', fingerprints: ['f'] }
    const answer = async () => ({ status: 201, headers: [], body: new Uint8Array() })

    for (const part of ['caller', 'operation', 'key'] as const) {
      const run = reprise.run({ ...usual, [part]: `a${NUL}b` }, answer)
      await expect(run).rejects.toMatchObject({ code: REFUSED.code, message: RegExp(part) })
    }
  })
})

/** A pool on a database with an encoding of its own. */
async function encodedIn(encoding: Encoding): Promise<Pool> {
  const database = await temporaryDatabase(`encoding '${encoding}' lc_collate 'C' lc_ctype 'C'`)
  const pool = new Pool({ connectionString: database.url, max: 5 })
  onTestFinished(async () => {
    await pool.end()
    await database.drop()
  })
  return pool
}

type Encoding = 'LATIN1' | 'SQL_ASCII'

async function service(transaction: boolean, encoding: Encoding = 'LATIN1') {
  const pool = await encodedIn(encoding)
  await pool.query('create table app_rows (n integer)')
  const reprise = createReprise({ store: postgresStore(pool) })
  onTestFinished(() => reprise.close())
  const ask = async (caller: string) => {
    const handler = idempotent(
      reprise,
      { caller: () => caller, ...(transaction && { transaction }) },
      async (request) => {
        // The store is on this pool, so its transactions have clients of it.
        const tx = transaction ? (txOf(request) as PoolClient) : pool
        await tx.query('insert into app_rows values (1)')
        return new Response(null, { status: 201 })
      },
    )
    return outcomeOf(handler(request()))
  }
  return { ask, pool }
}

function request(): Request {
  return new Request('http://localhost/charges', {
    method: 'POST',
    headers: { 'Idempotency-Key': '"key-1"' },
  })
}

async function outcomeOf(answered: Promise<Response>) {
  const response = await answered
  const text = await response.text()
  return {
    status: response.status,
    isReplayed: response.headers.get('idempotent-replayed') === 'true',
    ...(text === '' ? {} : (JSON.parse(text) as { code: string; retryable: boolean })),
  }
}
