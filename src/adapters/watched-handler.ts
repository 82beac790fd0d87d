/**
 * The framework's handler, as the protocol runs it.
 *
 * @module
 */

import type { CapturedResponse } from '../core/response.ts'
import { started } from '../engine/bounded.ts'
import type { Run } from '../engine/run.ts'
import type { TransactionRun } from '../engine/transaction-handler.ts'

/** What the handler of a protected request can say and ask; `tx` in transaction mode only. */
export type HttpRun<Tx> = Run | TransactionRun<Tx>

/** Has the framework's handler run and captures its answer. */
export type Execute<Tx> = (run: HttpRun<Tx>) => Promise<CapturedResponse>

/** Tells what the handler did from what the engine did. */
export class WatchedHandler<Tx> {
  #run: HttpRun<Tx> | undefined
  /** What the handler threw: its own affair, also if it is an error of ours. */
  thrown: unknown
  readonly execute: Execute<Tx>

  /** Whether there was a run that counts: one that was refused with its first statement does not. */
  get hasBegun(): boolean {
    const run = this.#run
    return run !== undefined && !('isRefused' in run && run.isRefused)
  }

  constructor(execute: Execute<Tx>) {
    this.execute = (run) => {
      this.#run = run
      return started(() => execute(run)).catch((error: unknown) => {
        this.thrown = error
        throw error
      })
    }
  }
}
