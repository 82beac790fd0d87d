/**
 * What holds in transactions of every ORM.
 *
 * @module
 */

import { randomUUID } from 'node:crypto'
import { inspect } from 'node:util'
import { Logger, makeWorkerUtils } from 'graphile-worker'
import PgBoss from 'pg-boss'
import { describe, expect, it } from 'vitest'
import type { Isolation } from '../../src/engine/transactions.ts'
import { isRepriseError } from '../../src/index.ts'
import { advance, operation, phase, respond } from '../../src/phases/index.ts'
import { functionSink } from '../../src/sinks/function.ts'
import { graphileWorkerSink } from '../../src/sinks/graphile-worker.ts'
import { pgBossSink } from '../../src/sinks/pg-boss.ts'
import { postgresStore, type Row, type TransactionSource } from '../../src/stores/postgres/index.ts'
import type { KeptWay } from '../../src/testing/harness.ts'
import {
  createWorkers,
  type Sink,
  type StagedJob,
  type WorkerEvent,
} from '../../src/workers/index.ts'
import { describeTransactions } from '../conformance/describe.ts'
import { EFFECT } from '../conformance/pg-ways.ts'
import { harnessOf, poolOf } from '../conformance/postgres.harness.ts'
import { openProxy } from '../stores/postgres-proxy.ts'
import { temporaryDatabase } from '../support/postgres.ts'
import { describeHostile } from './hostile.ts'
import { answer, freshRequest, type MakeOrm, meeting, name, textOf, useWorld } from './orm.ts'

class Refused extends Error {}

/** The one value of the one row. */
async function only(answered: PromiseLike<readonly Row[]>): Promise<unknown> {
  return Object.values((await answered)[0] ?? {})[0]
}

/** Runs everything on one ORM. */
export function describeOrm<Tx>(title: string, make: MakeOrm<Tx>): void {
  describeTransactions(`PostgreSQL with transactions of ${title}`, () => makeHarness(make))
  describe(`transaction mode with ${title}`, () => {
    transactionMode(make)
  })
  describe(`phases with ${title}`, () => {
    phases(make)
  })
  describe(`queues in the database with ${title}`, () => {
    queues(make)
  })
  describeHostile(title, make)
}

/** Sinks of queues that live in the same database. */
function queues<Tx>(make: MakeOrm<Tx>): void {
  const world = useWorld(make)

  /** Stages two jobs, hands them over, and gives what the enqueuer said. */
  async function handOver(sink: Sink<Tx>): Promise<readonly unknown[]> {
    const { reprise } = world()
    const staged = await reprise.runInTransaction(freshRequest(), async ({ stage }) => {
      await stage('receipt', { to: 'ann', n: 1 })
      return answer(await stage('receipt', { to: 'bob?', n: 2 }))
    })
    expect(staged.outcome).toBe('executed')
    const said: unknown[] = []
    const onEvent = ({ error }: WorkerEvent) => void (error !== undefined && said.push(error))
    const workers = createWorkers(reprise, { sink, onEvent })
    expect([await workers.enqueuer?.runOnce(), said]).toEqual([2, []])
    return (await world().pool.query('select last_error from reprise.staged_jobs')).rows
  }

  it('hands jobs to pg-boss in the transaction that removes them', async () => {
    const { url, pool } = world()
    const boss = new PgBoss({ connectionString: url, supervise: false, schedule: false, max: 2 })
    boss.on('error', () => {})
    await boss.start()
    try {
      await boss.createQueue('receipt')
      expect(await handOver(pgBossSink(boss))).toEqual([])
      const { rows } = await pool.query(`select data from pgboss.job order by data ->> 'n'`)
      const sent = [
        { to: 'ann', n: 1 },
        { to: 'bob?', n: 2 },
      ]
      expect(rows.map(({ data }) => data)).toEqual(sent)

      // A job that pg-boss has is the same job.
      const [job] = (await pool.query('select id::text as id from pgboss.job')).rows
      await pool.query(
        `insert into reprise.staged_jobs (job_id, record_id, staged_at, name, args)
         values ($1::uuid, '', clock_timestamp(), 'receipt', '{}')`,
        [job.id],
      )
      const workers = createWorkers(world().reprise, { sink: pgBossSink(boss) })
      expect(await workers.enqueuer?.runOnce()).toBe(1)
    } finally {
      await boss.stop({ graceful: false, wait: true })
    }
  })

  it('hands jobs to graphile-worker in the transaction that removes them', async () => {
    const { pool } = world()
    const utils = await makeWorkerUtils({ pgPool: pool, logger: new Logger(() => () => {}) })
    await utils.migrate()
    await utils.release()
    expect(await handOver(graphileWorkerSink())).toEqual([])
    const { rows } = await pool.query(
      'select payload from graphile_worker._private_jobs order by id',
    )
    expect(rows.map(({ payload }) => payload)).toEqual([
      { to: 'ann', n: 1 },
      { to: 'bob?', n: 2 },
    ])
  })
}

async function makeHarness<Tx>(make: MakeOrm<Tx>) {
  const { url, drop } = await temporaryDatabase()
  const proxy = await openProxy(url)
  const [one, two] = [poolOf(proxy.url), poolOf(url)]
  const [orm, other] = [await make(proxy.url, one), await make(url, two)]
  const { query } = orm.transactions
  const { keep, nested } = orm
  return harnessOf<Tx>({
    store: postgresStore(one, { transactions: orm.transactions }),
    peer: postgresStore(two, { transactions: other.transactions }),
    ...{ schema: 'reprise', concurrentTransactions: true },
    execute: async (text, values = []) => (await one.query(text, [...values])).rows,
    executeIn: async (tx, text) => query(tx, text, []),
    delay: proxy.delay,
    keepWays: keep && (async (tx) => waysOf(await keep(tx, 'kept'))),
    leaveNested: nested && ((tx) => leave((work) => nested(tx, work), query)),
    async inOwnTransaction(work) {
      await orm.transactions.transaction(work, undefined)
    },
    async end() {
      await Promise.all([orm.end?.(), other.end?.(), one.end(), two.end()])
      await proxy.close()
      await drop()
    },
  })
}

/** The ways by which a handler may go on, as the contract takes them. */
function waysOf(kept: Readonly<Record<string, () => PromiseLike<unknown>>>): readonly KeptWay[] {
  return Object.entries(kept).map(([name, late]) => ({ name, addEffect: async () => late() }))
}

/** Opens a nested transaction, adds an effect in it, and never ends it. */
function leave<Tx>(
  nested: (work: (inner: Tx) => Promise<void>) => Promise<unknown>,
  query: TransactionSource<Tx>['query'],
): Promise<void> {
  return new Promise((resolve, reject) => {
    const ended = nested(async (inner) => {
      await query(inner, EFFECT, [])
      resolve()
      await new Promise(() => {})
    })
    ended.catch(reject)
  })
}

function transactionMode<Tx>(make: MakeOrm<Tx>): void {
  const world = useWorld(make)

  it('commits the row and the answer together', async () => {
    const { reprise, insert, names } = world()
    const request = freshRequest()
    const run = () =>
      reprise.runInTransaction(request, async ({ tx }) => {
        await insert(tx, 'one')
        expect(await names()).toEqual([])
        return answer('made')
      })

    expect((await run()).outcome).toBe('executed')
    const again = await run()
    expect([again.outcome, textOf(again)]).toEqual(['replayed', 'made'])
    expect(await names()).toEqual(['one'])
  })

  it('keeps neither when the handler throws, and gives what it threw', async () => {
    const { reprise, peer, insert, names } = world()
    const request = freshRequest()
    const run = reprise.runInTransaction(request, async ({ tx }) => {
      await insert(tx, 'one')
      throw new Refused()
    })

    await expect(run).rejects.toBeInstanceOf(Refused)
    expect(await names()).toEqual([])
    expect((await peer.run(request, async () => answer('peer'))).outcome).toBe('executed')
  })

  it('keeps neither when another run stored its answer first, and gives that one', async () => {
    const { reprise, peer, insert, names } = world()
    const request = freshRequest()
    let runs = 0
    const result = await reprise.runInTransaction(request, async ({ tx }) => {
      runs++
      await insert(tx, 'loser')
      await peer.run(request, async () => answer('winner'))
      return answer('loser')
    })

    expect([result.outcome, textOf(result), runs]).toEqual(['replayed', 'winner', 1])
    expect(await names()).toEqual([])
  })

  it('gives the error of a statement of the app, whatever its table is called', async () => {
    const { reprise, transactions } = world()
    let runs = 0
    const run = reprise.runInTransaction(freshRequest(), async ({ tx }) => {
      runs++
      await transactions.query(tx, 'insert into records values (1), (1)', [])
      return answer('made')
    })

    const thrown: unknown = await run.catch((error: unknown) => error)
    expect(isRepriseError(thrown)).toBe(false)
    expect(inspect(thrown, { depth: 10 })).toContain('records_pkey')
    expect(runs).toBe(1)
  })

  it.each(['skew', 'commit'])('runs again after a serialization failure (%s)', async (kind) => {
    const { reprise, events, insert, count, names } = world()
    const retriesBefore = events.filter((type) => type === 'transaction_retry').length
    const met = meeting(kind === 'skew' ? 2 : 1)
    const run = (row: string) =>
      reprise.runInTransaction(
        freshRequest(),
        async ({ tx }) => {
          const before = await count(tx)
          await met()
          await insert(tx, `${row} ${before}`)
          return answer(`${before}`)
        },
        { isolation: 'serializable' },
      )
    const rows = kind === 'skew' ? ['skew', 'skew'] : ['late']
    const results = await Promise.all(rows.map(run))

    expect(results.map(textOf).sort()).toEqual(kind === 'skew' ? ['0', '1'] : ['0'])
    expect(await names()).toEqual(kind === 'skew' ? ['skew 0', 'skew 1'] : ['late 0'])
    const retries = events.filter((type) => type === 'transaction_retry').length
    expect(retries).toBe(retriesBefore + 1)
  })

  it('keeps nothing of a transaction whose connection breaks', async () => {
    const { reprise, transactions, insert, names, pool } = world()
    const request = freshRequest()
    const run = reprise.runInTransaction(request, async ({ tx }) => {
      await insert(tx, 'before')
      const pid = await only(transactions.query(tx, 'select pg_backend_pid() as pid', []))
      await pool.query('select pg_terminate_backend($1, 5000)', [pid])
      // By the time of another round trip the news has come.
      await pool.query('select')
      await insert(tx, 'after')
      return answer('made')
    })

    await expect(run).rejects.toBeInstanceOf(Error)
    expect(await names()).toEqual([])
    const again = await reprise.runInTransaction(request, async () => answer('again'))
    expect(again.outcome).toBe('executed')
  })

  it('joins a transaction of the app, whose end is its own', async () => {
    const { reprise, transactions, insert, names } = world()
    const request = freshRequest()
    const join = (text: string, then: () => void) =>
      Promise.resolve(
        transactions.transaction(async (mine) => {
          await insert(mine, 'mine')
          const result = await reprise.runInTransaction(
            request,
            async ({ tx }) => {
              await insert(tx, 'joined')
              return answer(text)
            },
            { join: mine },
          )
          expect(result.outcome).toBe('executed')
          then()
        }, undefined),
      )

    const undone = join('undone', () => {
      throw new Refused()
    })
    await expect(undone).rejects.toBeInstanceOf(Refused)
    expect(await names()).toEqual([])

    await join('kept', () => {})
    expect(await names()).toEqual(['joined', 'mine'])
    const again = await reprise.runInTransaction(request, async () => answer('again'))
    expect(textOf(again)).toBe('kept')
  })

  it('undoes only its own part of a transaction that it joined', async () => {
    const { reprise, transactions, insert, names } = world()
    await transactions.transaction(async (mine) => {
      await insert(mine, 'mine')
      const run = reprise.runInTransaction(
        freshRequest(),
        async ({ tx }) => {
          await insert(tx, 'joined')
          throw new Refused()
        },
        { join: mine },
      )
      await expect(run).rejects.toBeInstanceOf(Refused)
    }, undefined)

    expect(await names()).toEqual(['mine'])
  })
}

function phases<Tx>(make: MakeOrm<Tx>): void {
  const world = useWorld(make)

  it('commits rows, recovery points, jobs and the answer', async () => {
    const { reprise, insert, names, pool } = world()
    const made = operation(
      `make ${randomUUID()}`,
      { reprise, input: name },
      {
        started: phase(async ({ tx, input }) => {
          await insert(tx, `${input} 1`)
          return advance('half', { row: input })
        }),
        half: phase(async ({ tx, stage }, { row }: { row: string }) => {
          await insert(tx, `${row} 2`)
          const id = await stage('receipt', { row }, { dedupeKey: row })
          return respond(201, id)
        }),
      },
    )
    const request = { caller: 'anna', key: randomUUID(), input: 'row' }

    const first = await made.run(request)
    expect(first.outcome).toBe('executed')
    expect(textOf(await made.run(request))).toBe(textOf(first))
    expect(await names()).toEqual(['row 1', 'row 2'])
    const { rows } = await pool.query('select job_id::text as id, args from reprise.staged_jobs')
    expect(rows).toEqual([{ id: textOf(first), args: '{"row":"row"}' }])

    const delivered: unknown[] = []
    const take = async (job: StagedJob, { tx }: { tx: Tx }) => {
      delivered.push(job)
      await insert(tx, 'delivered')
    }
    const sink = functionSink(take, { usesTx: true })
    const workers = createWorkers(reprise, { operations: [made], sink })
    await workers.runOnce()
    const args = { row: 'row' }
    const stagedAt = expect.toSatisfy(Number.isFinite)
    expect(delivered).toEqual([{ id: textOf(first), name: 'receipt', args, attempt: 1, stagedAt }])
    expect(await names()).toEqual(['delivered', 'row 1', 'row 2'])
  })

  it('keeps nothing of a phase that throws, and takes it up again', async () => {
    const { reprise, insert, names, pool } = world()
    let isBroken = true
    const made = operation(
      `make ${randomUUID()}`,
      { reprise, input: name },
      {
        started: phase(async ({ tx, input }) => {
          await insert(tx, `${input} 1`)
          return advance('half')
        }),
        half: phase(async ({ tx, input, stage }) => {
          await insert(tx, `${input} 2`)
          await stage('receipt', null)
          if (isBroken) throw new Refused()
          return respond(201, 'made')
        }),
      },
    )
    const request = { caller: 'anna', key: randomUUID(), input: 'row' }

    await expect(made.run(request)).rejects.toBeInstanceOf(Refused)
    expect(await names()).toEqual(['row 1'])
    expect((await pool.query('select from reprise.staged_jobs')).rowCount).toBe(0)

    isBroken = false
    const second = await made.run(request)
    expect([second.outcome, textOf(second)]).toEqual(['resumed', 'made'])
    expect(await names()).toEqual(['row 1', 'row 2'])
    await pool.query('truncate reprise.staged_jobs')
  })

  it.each<Isolation>(['serializable', 'read committed'])(
    'keeps nothing of a run that was overtaken, and gives the answer of the other (%s)',
    async (isolation) => {
      const { reprise, peer, insert, names, lapse } = world()
      const title = `make ${randomUUID()}`
      const request = { caller: 'anna', key: randomUUID(), input: 'row' }
      const winner = operation(
        title,
        { reprise: peer, input: name },
        {
          started: phase(async ({ tx }) => {
            await tx.query(`insert into effects (name) values ('winner')`)
            return respond(201, 'winner')
          }),
        },
      )
      let runs = 0
      const loser = operation(
        title,
        { reprise, input: name, isolation },
        {
          started: phase(async ({ tx, stage }) => {
            runs++
            await insert(tx, 'loser')
            await stage('receipt', null)
            await lapse()
            expect((await winner.run(request)).outcome).toBe('resumed')
            return respond(201, 'loser')
          }),
        },
      )

      const result = await loser.run(request)
      expect([result.outcome, textOf(result), runs]).toEqual(['replayed', 'winner', 1])
      expect(await names()).toEqual(['winner'])
    },
  )

  it.each(['skew', 'late'])(
    'runs a phase again after a serialization failure (%s)',
    async (kind) => {
      const { reprise, events, insert, count, names } = world()
      const retriesBefore = events.filter((type) => type === 'transaction_retry').length
      const met = meeting(kind === 'skew' ? 2 : 1)
      const made = operation(
        `make ${randomUUID()}`,
        { reprise, input: name },
        {
          started: phase(async ({ tx, input }) => {
            const before = await count(tx)
            await met()
            await insert(tx, `${input} ${before}`)
            return respond(201, `${before}`)
          }),
        },
      )
      const run = (input: string) => made.run({ caller: 'anna', key: randomUUID(), input })
      const results = await Promise.all((kind === 'skew' ? ['skew', 'skew'] : ['late']).map(run))

      expect(results.map(textOf).sort()).toEqual(kind === 'skew' ? ['0', '1'] : ['0'])
      expect(await names()).toEqual(kind === 'skew' ? ['skew 0', 'skew 1'] : ['late 0'])
      const retries = events.filter((type) => type === 'transaction_retry').length
      expect(retries).toBeGreaterThan(retriesBefore)
    },
  )
}
