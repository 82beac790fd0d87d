/**
 * Handlers on pg that go on after their end, with a database that takes a while to answer. Judged by
 * the rows that are there at the end: a request ran once, whole, or not at all.
 */

import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import express from 'express'
import type pg from 'pg'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { idempotent, txOf } from '../../src/adapters/express.ts'
import type { TransactionOptions } from '../../src/engine/transaction-handler.ts'
import { createReprise, isRepriseError, type Reprise } from '../../src/index.ts'
import { postgresStore } from '../../src/stores/postgres/index.ts'
import { Gate } from '../behaviour/gate.ts'
import { poolOf } from '../conformance/postgres.harness.ts'
import { type TemporaryDatabase, temporaryDatabase } from '../support/postgres.ts'
import { Cursor } from './pg-cursor.ts'
import { openProxy, type Proxy } from './postgres-proxy.ts'

/** How long a message takes each way, in milliseconds. */
const DELAY_MS = 1

let database: TemporaryDatabase
let proxy: Proxy
let direct: pg.Pool

beforeAll(async () => {
  database = await temporaryDatabase()
  proxy = await openProxy(database.url)
  direct = poolOf(database.url, { max: 2 })
  await direct.query('create table items (key text not null, item integer not null)')
  await postgresStore(direct).ready()
  proxy.delay(DELAY_MS)
})

afterAll(async () => {
  await direct.end()
  await proxy.close()
  await database.drop()
})

const OK = { status: 201, headers: [], body: new Uint8Array() }
const FAILED = { status: 500, headers: [], body: new Uint8Array() }
const ADD = 'insert into items (key, item) values ($1, $2)'

type Tx = pg.PoolClient

/** An engine on a pool that is far from its database. */
function engine({ prepare = true, ...settings }: pg.PoolConfig & { prepare?: boolean } = {}) {
  const pool = poolOf(proxy.url, { max: 3, ...settings })
  const reprise = createReprise({ store: postgresStore(pool, { prepare, listen: false }) })
  onTestFinished(async () => {
    await reprise.close()
    await pool.end()
  })
  return { pool, reprise }
}

async function itemsOf(key: string): Promise<readonly number[]> {
  const { rows } = await direct.query('select item from items where key = $1 order by item', [key])
  return rows.map(({ item }) => item)
}

function requestOf(key: string) {
  return { caller: 'anna', operation: 'order', key, fingerprints: ['f'.repeat(64)] }
}

function isOver(error: unknown): boolean {
  return isRepriseError(error) && error.code === 'reprise-transaction-over'
}

/** Resolves after so many answers from the database, on a connection of its own. */
async function trips(count: number): Promise<void> {
  for (let trip = 0; trip < count; trip++) await direct.query('select')
}

class Refused extends Error {}

const WAYS: readonly {
  readonly name: string
  readonly settings: pg.PoolConfig & { prepare?: boolean }
  readonly options: TransactionOptions<Tx>
}[] = [
  { name: 'pg', settings: {}, options: {} },
  { name: 'pg, pipelined', settings: { pipeline: true }, options: {} },
  { name: 'pg, unprepared', settings: { pipeline: true, prepare: false }, options: {} },
  {
    name: 'pg, claimed with the first statement',
    settings: { pipeline: true },
    options: { claim: 'with-first-statement', isolation: 'read committed' },
  },
]

describe.each(WAYS)('through $name', ({ settings, options }) => {
  it('branches that go on after one has failed add nothing', async () => {
    const { reprise } = engine(settings)
    for (let round = 0; round < 20; round++) {
      const key = randomUUID()
      const branches: Promise<unknown>[] = []
      const order = (bad: number) =>
        reprise.runInTransaction(
          requestOf(key),
          async ({ tx }) => {
            const add = async (item: number) => {
              await trips(item)
              if (item === bad) throw new Refused()
              await tx.query(ADD, [key, item])
              await tx.query(ADD, [key, item + 10])
            }
            branches.push(...[1, 2, 3, 4, 5].map(add))
            for (const branch of branches) branch.catch(() => {})
            await Promise.all(branches.slice(-5))
            return OK
          },
          options,
        )
      await expect(order(2)).rejects.toBeInstanceOf(Refused)
      const again = order(0)
      expect((await again).outcome).toBe('executed')
      await Promise.allSettled(branches)
      expect(await itemsOf(key)).toEqual([1, 2, 3, 4, 5, 11, 12, 13, 14, 15])
    }
  })

  it.each([
    ['500', 0],
    ['201', 1],
  ] as const)('a handler that answers %s and goes on adds nothing more', async (status, kept) => {
    const { reprise } = engine(settings)
    const key = randomUUID()
    const late: Promise<unknown>[] = []
    await reprise.runInTransaction(
      requestOf(key),
      async ({ tx }) => {
        await tx.query(ADD, [key, 1])
        for (let item = 2; item < 12; item++) {
          late.push(trips(item).then(() => tx.query(ADD, [key, item])))
        }
        for (const one of late) one.catch(() => {})
        return status === '500' ? FAILED : OK
      },
      options,
    )
    const results = await Promise.allSettled(late)
    const taken = results.filter(({ status: became }) => became === 'fulfilled').length

    // What was sent before the end counts with the answer.
    expect(await itemsOf(key)).toHaveLength(kept === 0 ? 0 : 1 + taken)
    expect(taken).toBeLessThan(5)
    for (const result of results) {
      if (result.status === 'rejected') expect(result.reason).toSatisfy(isOver)
    }
  })

  it('a statement that nobody awaits and that fails makes the answer no 201', async () => {
    const { reprise } = engine(settings)
    for (let round = 0; round < 10; round++) {
      const key = randomUUID()
      const run = reprise.runInTransaction(
        requestOf(key),
        async ({ tx }) => {
          await tx.query(ADD, [key, 1])
          void tx.query('select 1 / 0').catch(() => {})
          return OK
        },
        options,
      )
      await expect(run).rejects.toThrow('current transaction is aborted')
      expect(await itemsOf(key)).toEqual([])
      const again = await reprise.runInTransaction(requestOf(key), async () => OK, options)
      expect(again.outcome).toBe('executed')
    }
  })

  it('a late statement stays out of the transaction that has its connection next', async () => {
    const { reprise } = engine({ ...settings, max: 1 })
    const [one, two] = [randomUUID(), randomUUID()]
    const kept: Tx[] = []
    await reprise.runInTransaction(
      requestOf(one),
      async ({ tx }) => {
        await tx.query(ADD, [one, 1])
        kept.push(tx)
        return OK
      },
      options,
    )
    const second = reprise.runInTransaction(
      requestOf(two),
      async ({ tx }) => {
        await tx.query(ADD, [two, 1])
        await expect(kept[0]?.query(ADD, [one, 2])).rejects.toSatisfy(isOver)
        throw new Refused()
      },
      options,
    )
    await expect(second).rejects.toBeInstanceOf(Refused)
    expect([await itemsOf(one), await itemsOf(two)]).toEqual([[1], []])
  })

  it('a handler that releases its connection does not give it to others', async () => {
    const { reprise, pool } = engine({ ...settings, max: 1 })
    const key = randomUUID()
    const turns: string[] = []
    const run = reprise.runInTransaction(
      requestOf(key),
      async ({ tx }) => {
        await tx.query(ADD, [key, 1])
        const other = pool.query('select').then(() => turns.push('other'))
        onTestFinished(() => other.then(() => {}))
        tx.release()
        await trips(5)
        await tx.query(ADD, [key, 2])
        turns.push('handler')
        return OK
      },
      options,
    )
    expect((await run).outcome).toBe('executed')
    expect(turns[0]).toBe('handler')
    expect(await itemsOf(key)).toEqual([1, 2])
  })

  it('a run that joins and outlives the handler around it adds nothing', async () => {
    const { reprise } = engine(settings)
    const [outer, inner] = [randomUUID(), randomUUID()]
    const within: Promise<unknown>[] = []
    const answered = new Gate()
    await reprise.runInTransaction(
      requestOf(outer),
      async ({ tx }) => {
        await tx.query(ADD, [outer, 1])
        const joined = reprise.runInTransaction(
          requestOf(inner),
          async (run) => {
            await answered.pass()
            await run.tx.query(ADD, [inner, 1])
            return OK
          },
          { join: tx },
        )
        joined.catch(() => {})
        within.push(joined)
        await trips(5)
        // After everything that the engine does at once with the answer.
        setImmediate(() => answered.open())
        return OK
      },
      options,
    )
    await expect(within[0]).rejects.toBeInstanceOf(Error)
    expect([await itemsOf(outer), await itemsOf(inner)]).toEqual([[1], []])
    const again = await reprise.runInTransaction(requestOf(inner), async () => OK)
    expect(again.outcome).toBe('executed')
  })
})

describe('a cursor', () => {
  it('is read as ever, and refused once its transaction is over', async () => {
    const { reprise } = engine()
    const key = randomUUID()
    const cursor = new Cursor('select generate_series(1, 10)')
    await reprise.runInTransaction(requestOf(key), async ({ tx }) => {
      tx.query(cursor)
      expect(await cursor.read(4)).toHaveLength(4)
      expect(await cursor.read(10)).toHaveLength(6)
      expect(await cursor.read(10)).toHaveLength(0)
      await tx.query(ADD, [key, 1])
      return OK
    })
    expect(await itemsOf(key)).toEqual([1])
  })

  it.each(['read in part', 'never read'])(
    'that was left open (%s) holds up nothing',
    async (how) => {
      const { reprise } = engine({ max: 1 })
      const key = randomUUID()
      const cursor = new Cursor('select generate_series(1, 10)')
      const run = () =>
        reprise.runInTransaction(requestOf(key), async ({ tx }) => {
          await tx.query(ADD, [key, 1])
          tx.query(cursor)
          if (how === 'read in part') await cursor.read(4)
          return OK
        })
      expect((await run()).outcome).toBe('executed')
      await expect(cursor.read(4)).rejects.toSatisfy(isOver)
      expect((await run()).outcome).toBe('replayed')
      expect(await itemsOf(key)).toEqual([1])
      const other = await reprise.runInTransaction(requestOf(randomUUID()), async ({ tx }) => {
        expect((await tx.query('select 1 as one')).rows).toEqual([{ one: 1 }])
        return OK
      })
      expect(other.outcome).toBe('executed')
    },
  )

  it('that is read while its handler answers adds nothing later', async () => {
    const { reprise } = engine({ max: 1 })
    const key = randomUUID()
    const text = `insert into items (key, item) select '${key}', generate_series(1, 10) returning item`
    const cursor = new Cursor(text)
    const reads: Promise<unknown>[] = []
    await reprise.runInTransaction(requestOf(key), async ({ tx }) => {
      tx.query(cursor)
      reads.push(cursor.read(4).then(() => cursor.read(4)))
      reads[0]?.catch(() => {})
      return FAILED
    })
    await expect(reads[0]).rejects.toSatisfy(isOver)
    expect(await itemsOf(key)).toEqual([])
  })
})

describe('what the handler is given', () => {
  it('keeps what is assigned to it for itself, and its listeners off the connection', async () => {
    const { reprise, pool } = engine({ max: 1 })
    const heard: unknown[] = []
    await reprise.runInTransaction(requestOf(randomUUID()), async ({ tx }) => {
      const { query } = tx
      const asked: unknown[] = []
      // As the guides of pg trace the queries of a client.
      tx.query = ((...args: unknown[]) => {
        asked.push(args[0])
        return Reflect.apply(query, tx, args)
      }) as Tx['query']
      tx.on('notice', ({ message }) => heard.push(message))
      await tx.query(`do $$ begin raise notice 'one'; end $$`)
      expect(asked).toHaveLength(1)
      return OK
    })
    const connection = await pool.connect()
    await connection.query(`do $$ begin raise notice 'two'; end $$`)
    expect(connection.listenerCount('notice')).toBe(0)
    expect(Object.hasOwn(connection, 'query')).toBe(false)
    connection.release()
    expect(heard).toEqual(['one'])
  })
})

describe('through Express', () => {
  const CHUNK = Buffer.alloc(64 * 1024, 'x')

  async function serve(reprise: Reprise<Tx>, handler: express.Handler): Promise<string> {
    const app = express()
    const settings = {
      caller: () => 'anna',
      required: true,
      transaction: true,
      bodyBytesMax: 100_000,
    }
    app.post('/', idempotent(reprise, settings), handler)
    app.use(((_error, _req, res, _next) => {
      if (!res.headersSent) res.status(500).end()
    }) as express.ErrorRequestHandler)
    const server = app.listen(0, '127.0.0.1')
    await once(server, 'listening')
    onTestFinished(() => {
      server.closeAllConnections()
      server.close()
    })
    const address = server.address()
    if (address === null || typeof address === 'string') throw new Error('It has no port.')
    return `http://127.0.0.1:${address.port}/`
  }

  it.each(['is too long', 'is cut'])(
    'a handler that goes on adds nothing: an answer that %s',
    async (how) => {
      const { reprise } = engine()
      const key = randomUUID()
      const late: Promise<unknown>[] = []
      const url = await serve(reprise, async (req, res) => {
        const tx = txOf<Tx>(req)
        await tx.query(ADD, [key, 1])
        res.status(201)
        if (how === 'is cut') {
          res.write(CHUNK)
          req.socket.destroy()
        } else for (let count = 0; count < 4; count++) res.write(CHUNK)
        late.push(trips(20).then(() => tx.query(ADD, [key, 2])))
        late[0]?.catch(() => {})
      })
      const headers = { 'idempotency-key': `"${key}"` }
      await fetch(url, { method: 'POST', headers })
        .then((response) => response.arrayBuffer())
        .catch(() => {})
      await expect(late[0]).rejects.toSatisfy(isOver)
      expect(await itemsOf(key)).toEqual([])
    },
  )
})
