/**
 * What the compiler says about the public API. The assertions hold at compile time (`npm run types`);
 * running the file only proves that it is one that the runner finds.
 */

import { describe, expectTypeOf, it } from 'vitest'
import {
  type CapturedResponse,
  createReprise,
  type ErrorCode,
  type Handler,
  memoryStore,
  type Reprise,
  type RepriseError,
  type ResponsePolicy,
  type RunRequest,
  type RunResult,
  type Store,
} from '../../src/index.ts'

declare const request: RunRequest
declare const answer: CapturedResponse
declare const handler: Handler
declare const result: RunResult

interface Tx {
  query(sql: string): Promise<void>
}
type Transactional = Reprise<Tx>

/** Compiled, never called. */
const compiled = (): void => {
  const reprise = createReprise({ store: memoryStore() })

  // @ts-expect-error the memory store has no transactions, so there is no such mode
  void reprise.runInTransaction(request, async () => answer)
  // @ts-expect-error nor on a route of it
  void reprise.with({ waitMs: 10 }).runInTransaction(request, async () => answer)
  // @ts-expect-error a store is needed
  createReprise({})
  // @ts-expect-error the caller is required: there is no silent global scope
  void reprise.run({ operation: 'POST /', key: 'k', fingerprints: ['f'] }, handler)
  // @ts-expect-error a handler answers with a response
  void reprise.run(request, async () => 'ok')
  // @ts-expect-error no such policy after a crash
  createReprise({ store: memoryStore(), afterCrash: 'ignore' })
  // @ts-expect-error what is set for the engine is not set for a route
  reprise.with({ store: memoryStore() })
  // @ts-expect-error results are read, not written
  result.outcome = 'executed'
}

describe('the public types', () => {
  it('compile as they are meant to', () => {
    expectTypeOf(compiled).toBeFunction()
  })

  it('give the handler of a transaction the handle of its store', () => {
    type Run = Parameters<Parameters<Transactional['runInTransaction']>[1]>[0]

    expectTypeOf<Run['tx']>().toEqualTypeOf<Tx>()
    expectTypeOf<ReturnType<Transactional['with']>>().toEqualTypeOf<Transactional>()
  })

  it('tell the outcomes apart', () => {
    expectTypeOf<RunResult['outcome']>().toEqualTypeOf<
      | 'executed'
      | 'resumed'
      | 'replayed'
      | 'in_progress'
      | 'postponed'
      | 'mismatch'
      | 'unknown'
      | 'over_quota'
    >()
    type Running = Extract<RunResult, { outcome: 'in_progress' }>
    expectTypeOf<keyof Running>().toEqualTypeOf<'outcome' | 'retryAfterMs'>()
  })

  it('have no any', () => {
    expectTypeOf<RepriseError['code']>().toEqualTypeOf<ErrorCode>()
    expectTypeOf<Store['transactions']>().not.toBeAny()
    expectTypeOf<ReturnType<ResponsePolicy>>().toEqualTypeOf<'store' | 'forget' | 'suspend'>()
  })
})
