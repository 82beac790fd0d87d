import { describe, expect, it } from 'vitest'
import { createReprise, type Reprise } from '../../src/engine/reprise.ts'
import type { Finish, Refusal, Store } from '../../src/engine/store.ts'
import { transact } from '../../src/engine/transact.ts'
import type {
  OpenTransaction,
  TransactionFault,
  TransactionRequest,
} from '../../src/engine/transactions.ts'
import { memoryStore } from '../../src/stores/memory/store.ts'
import { FakeClock } from '../../src/testing/fake-clock.ts'
import { REQUEST, response, turn } from './world.ts'

interface Tx {
  readonly attempt: number
}

/** How a transaction of the script goes: refused, or ends with that fault, or commits. */
type Step = Refusal | TransactionFault | 'commit' | 'down' | 'hang'

/** A store whose transactions go by a script; what happened to them is written down. */
function scripted(steps: Step[]) {
  const log: string[] = []
  const clock = new FakeClock()
  const late: (() => void)[] = []
  const store: Store<Tx> = Object.assign(memoryStore({ clock }) as Store<Tx>, {
    transactions: {
      run: transact,
      async begin(_: TransactionRequest<Tx>): Promise<OpenTransaction<Tx> | Refusal> {
        const step = steps.shift() ?? 'commit'
        if (step === 'down') throw new Error('down')
        if (step === 'hang') await new Promise<void>((resolve) => late.push(resolve))
        if (typeof step === 'object') return step
        log.push('begin')
        return open(step, log)
      },
      classify: (error: unknown) =>
        error instanceof Error && 'fault' in error ? (error.fault as TransactionFault) : 'other',
    },
  })
  const events: string[] = []
  const reprise = createReprise({
    ...{ store, clock, onEvent: ({ type }) => void events.push(type) },
    random: { token: () => 'owner', bytes: (n) => new Uint8Array(n), fraction: () => 0 },
  })
  return { reprise, log, clock, events, late, store }
}

function open(step: Step, log: string[]): OpenTransaction<Tx> {
  return {
    ...{ outcome: 'execute', tx: { attempt: log.length } },
    async commit(_: Finish) {
      if (step === 'commit' || step === 'hang') return void log.push('commit')
      throw Object.assign(new Error(typeof step === 'string' ? step : step.outcome), {
        fault: step,
      })
    },
    close: () => {},
    rollback: async () => void log.push('rollback'),
    keepAlive: async () => void log.push('beat'),
  }
}

const handler = async () => response()

describe('a run in a transaction', () => {
  it('commits an answer that is to be stored, and rolls back one that is not', async () => {
    const { reprise, log } = scripted([])

    expect(await reprise.runInTransaction(REQUEST, handler)).toMatchObject({ fate: 'stored' })
    const other = { ...REQUEST, key: 'k2' }
    const failed = await reprise.runInTransaction(other, async () => response(500))

    expect(failed).toMatchObject({ outcome: 'executed', fate: 'forgotten' })
    expect(log).toEqual(['begin', 'commit', 'begin', 'rollback'])
  })

  it('is rolled back when the handler throws, and the error is the handler’s', async () => {
    const { reprise, log } = scripted([])
    const error = new Error('mine')

    const run = reprise.runInTransaction(REQUEST, async () => Promise.reject(error))

    await expect(run).rejects.toBe(error)
    expect(log).toEqual(['begin', 'rollback'])
  })

  it.each(['retry', 'lost'] as const)('is run again after the fault %s', async (fault) => {
    const { reprise, log, clock, events } = scripted([fault, 'commit'])
    let runs = 0
    const run = reprise.runInTransaction(REQUEST, async () => {
      runs++
      return response()
    })
    await turn()
    clock.advance(0)

    expect(await run).toMatchObject({ outcome: 'executed', fate: 'stored' })
    expect(runs).toBe(2)
    expect(log).toEqual(['begin', 'rollback', 'begin', 'commit'])
    expect(events).toContain('transaction_retry')
  })

  it('is given up after so many attempts, with the cause', async () => {
    const { reprise, clock } = scripted(Array<Step>(10).fill('retry'))
    const route = reprise.with({ transactionAttemptsMax: 3 })
    let runs = 0
    const run = expect(
      route.runInTransaction(REQUEST, async () => {
        runs++
        return response()
      }),
    ).rejects.toMatchObject({ code: 'idempotency-conflict', cause: { message: 'retry' } })
    for (let i = 0; i < 5; i++) {
      await turn()
      clock.advance(0)
    }

    await run
    expect(runs).toBe(3)
  })

  it('gives who lost its last attempt the answer of the winner', async () => {
    const { reprise } = scripted(['lost', { outcome: 'mismatch' }])
    const route = reprise.with({ transactionAttemptsMax: 1 })

    expect(await route.runInTransaction(REQUEST, handler)).toEqual({ outcome: 'mismatch' })
  })

  it('asks the client to ask again when the connection broke during the commit', async () => {
    const { reprise } = scripted(['disconnected'])

    const run = reprise.runInTransaction(REQUEST, handler)

    await expect(run).rejects.toMatchObject({ code: 'idempotency-commit-unknown', retryable: true })
  })

  it('leaves no transaction open that came after its time', async () => {
    const { reprise, log, clock, late } = scripted(['hang'])
    const run = expect(reprise.runInTransaction(REQUEST, handler)).rejects.toMatchObject({
      code: 'idempotency-store-unavailable',
    })
    await turn()
    clock.advance(5000)
    await run
    for (const resume of late) resume()
    await turn()

    expect(log).toEqual(['begin', 'rollback'])
  })

  it('tells the database that it is alive while the handler works', async () => {
    const { reprise, log, clock } = scripted([])
    let end = () => {}
    const run = reprise.runInTransaction(REQUEST, async () => {
      await new Promise<void>((resolve) => {
        end = resolve
      })
      return response()
    })
    await turn()
    clock.advance(25_000)
    end()
    await run

    expect(log).toEqual(['begin', 'beat', 'beat', 'commit'])
    expect(clock.timerCount).toBe(0)
  })
})

describe('a run in the transaction of the user', () => {
  const join = { attempt: 0 }

  it('is not shared or cached before the user has committed', async () => {
    const { reprise, log } = scripted([])

    await reprise.runInTransaction(REQUEST, handler, { join })
    await reprise.runInTransaction(REQUEST, handler, { join })

    expect(log).toEqual(['begin', 'commit', 'begin', 'commit'])
  })

  it('is told of like any other, once', async () => {
    const { reprise, events } = scripted(['commit', { outcome: 'mismatch' }, 'retry'])

    await reprise.runInTransaction(REQUEST, handler, { join })
    await reprise.runInTransaction(REQUEST, handler, { join })
    await reprise.runInTransaction(REQUEST, handler, { join }).catch(() => {})

    expect(events).toEqual(['executed', 'mismatch', 'failed'])
  })

  it('is never run again', async () => {
    const { reprise, log } = scripted(['retry'])

    const run = reprise.runInTransaction(REQUEST, handler, { join })

    await expect(run).rejects.toMatchObject({ code: 'idempotency-conflict' })
    expect(log).toEqual(['begin', 'rollback'])
  })

  it('fails once when the store is down, and leaves no rejection behind', async () => {
    const { reprise } = scripted(['down'])

    const run = reprise.runInTransaction(REQUEST, handler, { join })

    await expect(run).rejects.toMatchObject({ code: 'idempotency-store-unavailable' })
    await turn()
  })
})

describe('a store without transactions', () => {
  it('says so', async () => {
    const reprise = createReprise({ store: memoryStore() }) as unknown as Reprise<Tx>

    const run = reprise.runInTransaction(REQUEST, handler)

    expect(reprise.hasTransactions).toBe(false)
    await expect(run).rejects.toMatchObject({ code: 'reprise-transactions-unsupported' })
  })
})
