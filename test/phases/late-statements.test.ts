/** Phases that go on after their end, and phases whose statements hang. */

import type pg from 'pg'
import { afterEach, describe, expect, it } from 'vitest'
import { isRepriseError } from '../../src/index.ts'
import {
  advance,
  foreignCall,
  operation,
  type PhaseContext,
  phase,
  respond,
} from '../../src/phases/index.ts'
import { functionSink } from '../../src/sinks/function.ts'
import { createWorkers } from '../../src/workers/index.ts'
import { anything, deed, request, seen, usePhases } from './phases-world.ts'

function isOver(error: unknown): boolean {
  return isRepriseError(error) && error.code === 'reprise-transaction-over'
}

class Refused extends Error {}

const HANGS = 'select pg_sleep(600)'

describe('a phase that goes on after its end', () => {
  const world = usePhases()
  const late: Promise<unknown>[] = []

  /** Uses its transaction again and again, from the moment the phase is about to end. */
  function goOn({ tx, stage }: Pick<PhaseContext<pg.PoolClient, unknown>, 'tx' | 'stage'>): void {
    const go = async () => {
      // By then the phase has ended, and its transaction is about to.
      await new Promise(setImmediate)
      for (let count = 0; count < 20; count++) {
        await expect(deed(tx, 'late')).rejects.toSatisfy(isOver)
        await expect(stage('late', {})).rejects.toSatisfy(isOver)
        await world.pool.query('select')
      }
    }
    late.push(go())
  }

  const ends = { answers: () => respond(201), throws: () => Promise.reject(new Refused()) }

  it.each(['answers', 'throws'] as const)('and %s adds nothing', async (end) => {
    const op = operation(
      `late ${end}`,
      { reprise: world.other(), input: anything },
      {
        started: phase(async (context) => {
          await deed(context.tx, 'one')
          goOn(context)
          return ends[end]()
        }),
      },
    )
    await op.run(request('k')).catch((error: unknown) => expect(error).toBeInstanceOf(Refused))
    await Promise.all(late.splice(0))
    expect(await world.deeds()).toEqual(end === 'answers' ? ['one'] : [])
    expect((await world.pool.query('select from reprise.staged_jobs')).rowCount).toBe(0)
  })

  it.each(['done', 'failed'] as const)('adds nothing in %s', async (where) => {
    const op = operation(
      `late in ${where}`,
      { reprise: world.other(), input: anything },
      {
        started: phase(async () => advance('call')),
        call: foreignCall({
          call: async () => {
            if (where === 'failed') throw new Refused()
            return 1
          },
          classify: () => 'did_not_happen',
          done: async (context) => {
            await deed(context.tx, 'done')
            goOn(context)
            return respond(201)
          },
          failed: async (_error, _state, context) => {
            await deed(context.tx, 'failed')
            goOn(context)
            return respond(402)
          },
        }),
      },
    )
    const [outcome] = seen(await op.run(request('k')))
    await Promise.all(late.splice(0))
    expect([outcome, await world.deeds()]).toEqual(['executed', [where]])
  })

  it('commits nothing when a statement that nobody awaits fails', async () => {
    let isBroken = true
    const op = operation(
      'unawaited',
      { reprise: world.other(), input: anything },
      {
        started: phase(async ({ tx }) => {
          await deed(tx, 'one')
          if (isBroken) void tx.query('select 1 / 0').catch(() => {})
          return respond(201)
        }),
      },
    )
    await expect(op.run(request('k'))).rejects.toThrow('current transaction is aborted')
    expect(await world.deeds()).toEqual([])
    isBroken = false
    expect(seen(await op.run(request('k')))).toEqual(['resumed', 201, ''])
    expect(await world.deeds()).toEqual(['one'])
  })

  it('a sink that goes on after its delivery adds nothing', async () => {
    const reprise = world.other()
    const op = operation(
      'sink',
      { reprise, input: anything },
      {
        started: phase(async ({ stage }) => {
          await stage('mail', {})
          return respond(201)
        }),
      },
    )
    await op.run(request('k'))
    const refusals: unknown[] = []
    const sink = functionSink<pg.PoolClient>(
      async (_job, { tx, within }) => {
        await deed(tx, 'delivered')
        const go = async () => {
          for (let count = 0; count < 10; count++) {
            await world.pool.query('select')
            refusals.push(await deed(tx, 'late').catch((error: unknown) => error))
            refusals.push(
              await within((part) => deed(part, 'late')).catch((error: unknown) => error),
            )
          }
        }
        late.push(go())
      },
      { usesTx: true },
    )
    const workers = createWorkers(reprise, { operations: [op], sink })
    await workers.runOnce()
    await Promise.all(late.splice(0))
    expect(refusals.slice(-4).every(isOver)).toBe(true)
    const taken = refusals.filter((refusal) => refusal === undefined).length
    expect(await world.deeds()).toHaveLength(1 + taken)
    expect((await world.pool.query('select from reprise.staged_jobs')).rowCount).toBe(0)
  })
})

describe('phases whose statements hang', () => {
  const world = usePhases(3)

  // The server goes on with a statement whose connection is gone, and keeps its locks.
  afterEach(() =>
    world.pool.query(
      `select pg_terminate_backend(pid, 5000) from pg_stat_activity
        where datname = current_database() and query = '${HANGS}'`,
    ),
  )

  it('keep no connection of the pool', async () => {
    const op = operation(
      'hang',
      { reprise: world.other({ storeTimeoutMs: 300 }), input: anything },
      {
        started: phase(
          async ({ tx, input }) => {
            await deed(tx, 'one')
            if (input === 'hangs') await tx.query(HANGS)
            return respond(201)
          },
          { timeoutMs: 100 },
        ),
      },
    )
    const stuck = ['a', 'b', 'c'].map((key) => op.run({ ...request(key), input: 'hangs' }))
    for (const run of await Promise.allSettled(stuck)) {
      expect(run).toMatchObject({ reason: { message: 'The phase started took more than 100 ms.' } })
    }
    expect(seen(await op.run({ ...request('d'), input: 'works' }))).toEqual(['executed', 201, ''])
    expect(await world.deeds()).toEqual(['one'])
  })

  it('and handlers that answer beside one do not either', async () => {
    const reprise = world.other({ storeTimeoutMs: 300 })
    const created = { status: 201, headers: [], body: new Uint8Array() }
    const run = (key: string, hangs: boolean) =>
      reprise.runInTransaction(
        { caller: 'anna', operation: 'hang', key, fingerprints: ['f'] },
        async ({ tx }) => {
          if (hangs) void tx.query(HANGS).catch(() => {})
          return created
        },
      )
    const stuck = ['a', 'b', 'c'].map((key) => run(key, true))
    for (const one of await Promise.allSettled(stuck)) {
      expect(one).toMatchObject({ reason: { code: 'idempotency-commit-unknown' } })
    }
    expect((await run('d', false)).outcome).toBe('executed')
  })
})
