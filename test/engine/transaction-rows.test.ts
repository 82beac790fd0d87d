import { describe, expect, it } from 'vitest'
import { createTransactionWorld, type Rows } from './transaction-world.ts'
import { Effect, REQUEST, response, text, turn } from './world.ts'

const insert = async ({ tx }: { tx: Rows }) => {
  tx.push('row')
  return response(201, 'inserted')
}

describe('a run in a transaction', () => {
  it('commits rows and answer together, and replays', async () => {
    const { reprise, transactions } = createTransactionWorld({ replayCache: false })

    const first = await reprise.runInTransaction(REQUEST, insert)
    const second = await reprise.runInTransaction(REQUEST, insert)

    expect(first).toMatchObject({ outcome: 'executed', fate: 'stored' })
    expect(second).toMatchObject({ outcome: 'replayed', requestId: 'req_1' })
    expect(transactions.rows).toEqual(['row'])
    expect(transactions.open).toBe(0)
  })

  it('rolls back an answer that streams: it would be committed before its end', async () => {
    const { reprise, transactions } = createTransactionWorld()

    const streaming = reprise.runInTransaction(REQUEST, async ({ tx }) => {
      tx.push('row')
      return { ...response(200), bodyIsStream: true }
    })

    await expect(streaming).rejects.toThrow(/the answer streams/)
    expect(transactions.ends).toEqual(['rollback'])
    expect(transactions.rows).toEqual([])
  })

  it('obeys the handler over the policy', async () => {
    const { reprise, transactions } = createTransactionWorld()
    const freed = await reprise.runInTransaction(REQUEST, async (run) => {
      run.release()
      return response(201)
    })
    const kept = await reprise.runInTransaction(REQUEST, async (run) => {
      run.store()
      return response(500)
    })

    expect(freed).toMatchObject({ fate: 'forgotten', expiresInMs: null })
    expect(kept).toMatchObject({ fate: 'stored' })
    expect(transactions.ends).toEqual(['rollback', 'commit'])
  })

  it('is run again after a serialization failure, and only its last run counts', async () => {
    const { reprise, transactions, pass, events } = createTransactionWorld()
    transactions.troubles.push('retry', 'lost')
    const run = reprise.runInTransaction(REQUEST, insert)
    await turn()

    for (let i = 0; i < 3; i++) await pass(100)

    expect(await run).toMatchObject({ outcome: 'executed' })
    expect(transactions.rows).toEqual(['row'])
    expect(transactions.ends).toEqual(['rollback', 'rollback', 'commit'])
    expect(events.filter(({ type }) => type === 'transaction_retry')).toHaveLength(2)
  })

  it('leaves no transaction open when its last run was lost and nobody holds the key', async () => {
    const { reprise, transactions } = createTransactionWorld({ transactionAttemptsMax: 1 })
    transactions.troubles.push('lost')

    const run = reprise.runInTransaction(REQUEST, insert)

    await expect(run).rejects.toMatchObject({ code: 'idempotency-conflict' })
    expect(transactions.ends).toEqual(['rollback', 'rollback'])
    expect(transactions.open).toBe(0)
  })

  it('learns from the store whether a commit went through whose connection broke', async () => {
    const { reprise, transactions } = createTransactionWorld()
    transactions.troubles.push('disconnected after')

    const run = await reprise.runInTransaction(REQUEST, insert)

    expect(run).toMatchObject({ outcome: 'executed', fate: 'stored' })
    expect(transactions.rows).toEqual(['row'])
  })

  it('says that it can not tell when the store does not have the answer', async () => {
    const { reprise, transactions } = createTransactionWorld()
    transactions.troubles.push('disconnected')

    const run = reprise.runInTransaction(REQUEST, insert)

    await expect(run).rejects.toMatchObject({ code: 'idempotency-commit-unknown' })
    expect(await reprise.runInTransaction(REQUEST, insert)).toMatchObject({ outcome: 'executed' })
    expect(transactions.rows).toEqual(['row'])
  })

  it('does not take the answer of another run for its own', async () => {
    const { reprise, transactions, store } = createTransactionWorld()
    const other = createTransactionWorld({}, { store, transactions })
    transactions.onCommit = async () => {
      transactions.onCommit = async () => {}
      await other.reprise.runInTransaction(REQUEST, async () => response(201, 'of another run'))
    }
    transactions.troubles.push('disconnected')

    const run = reprise.runInTransaction(REQUEST, insert)

    await expect(run).rejects.toMatchObject({ code: 'idempotency-commit-unknown' })
    const retry = await reprise.runInTransaction(REQUEST, insert)
    expect(retry.outcome).toBe('replayed')
    if (retry.outcome === 'replayed') expect(text(retry.response)).toBe('of another run')
  })

  it('does not ask the store about a commit that was never sent', async () => {
    const { reprise, transactions } = createTransactionWorld()
    const error = new Error('connection reset')
    transactions.classify = () => 'disconnected'

    const run = reprise.runInTransaction(REQUEST, async () => Promise.reject(error))

    await expect(run).rejects.toBe(error)
  })

  it('is shared by duplicates that wait', async () => {
    const { reprise, transactions } = createTransactionWorld({ waitMs: 1000 })

    const runs = [REQUEST, REQUEST, REQUEST].map((copy) => reprise.runInTransaction(copy, insert))

    const outcomes = (await Promise.all(runs)).map(({ outcome }) => outcome)
    expect(outcomes).toEqual(['executed', 'replayed', 'replayed'])
    expect(transactions.rows).toEqual(['row'])
  })

  it.each([['refuse' as const], [async () => 'rerun' as const]])(
    'does not repeat what an earlier run may have done (%s)',
    async (afterCrash) => {
      const { reprise, transactions } = createTransactionWorld({ afterCrash })
      const failing = async () => Promise.reject(new Error('half way'))
      await expect(reprise.run(REQUEST, failing)).rejects.toThrow('half way')

      const run = await reprise.runInTransaction(REQUEST, insert)

      expect(run).toEqual({ outcome: 'unknown' })
      expect(transactions.rows).toEqual([])
    },
  )
})

describe('a run that joins a transaction', () => {
  it('does not give its answer to a duplicate: it may yet be rolled back', async () => {
    const { reprise } = createTransactionWorld({ waitMs: 1000 })
    const effect = new Effect()
    const first = reprise.runInTransaction(REQUEST, effect.handler, { join: [] })
    await turn()
    const second = reprise.runInTransaction(REQUEST, effect.quick, { join: [] })
    await turn()
    effect.end()

    expect((await first).outcome).toBe('executed')
    expect((await second).outcome).toBe('in_progress')
  })
})
