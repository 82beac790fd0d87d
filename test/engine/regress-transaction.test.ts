import { describe, expect, it } from 'vitest'
import { createTransactionWorld, type Rows } from './transaction-world.ts'
import { REQUEST, response, turn } from './world.ts'

const insert = async ({ tx }: { tx: Rows }) => {
  tx.push('row')
  return response()
}

describe('a commit that never answers', () => {
  it('does not leave the request without an answer', async () => {
    const world = createTransactionWorld({ storeTimeoutMs: 5000 })
    world.transactions.troubles.push('hangs')
    let end: unknown
    world.reprise.runInTransaction(REQUEST, insert).then(
      () => {
        end = 'answered'
      },
      (error: unknown) => {
        end = error
      },
    )
    await turn()

    for (let i = 0; i < 4; i++) await world.pass(5000)

    expect(end).toMatchObject({ code: 'idempotency-commit-unknown' })
    expect(world.clock.timerCount).toBe(0)
  })

  it('does not block the key in this process for ever', async () => {
    const world = createTransactionWorld({ storeTimeoutMs: 5000 })
    world.transactions.troubles.push('hangs')
    void world.reprise.runInTransaction(REQUEST, insert).catch(() => {})
    await turn()
    for (let i = 0; i < 20; i++) await world.pass(10_000)

    const retry = await world.reprise.runInTransaction(REQUEST, insert)

    expect(retry.outcome).toBe('executed')
  })
})

describe('a joined transaction', () => {
  it('is refused once the engine closes', async () => {
    const world = createTransactionWorld()
    await world.reprise.close()

    const run = world.reprise.runInTransaction(REQUEST, insert, { join: [] })

    await expect(run).rejects.toMatchObject({ code: 'idempotency-shutting-down' })
  })
})
