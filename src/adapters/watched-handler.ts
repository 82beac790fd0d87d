/**
 * The framework's handler, as the protocol runs it.
 *
 * @module
 */

import type { CapturedResponse, Header } from '../core/response.ts'
import { started } from '../engine/bounded.ts'
import type { Run } from '../engine/run.ts'
import type { TransactionRun } from '../engine/transaction-handler.ts'
import type { Exchange } from './exchange.ts'
import type { LookedAt } from './run-request.ts'

/** What the handler of a protected request can say and ask; `tx` in transaction mode only. */
export type HttpRun<Tx> = Run | TransactionRun<Tx>

/**
 * Has the framework's handler run and captures its answer.
 *
 * @param marks - gives the headers for an answer that somebody else sends while the handler runs
 */
export type Execute<Tx> = (run: HttpRun<Tx>, marks: EarlyMarks) => Promise<CapturedResponse>

/** The headers that say of an answer with this status that it is not kept. */
export type EarlyMarks = (status: number) => readonly Header[]

/** A request on its way, and its handler: tells what that did from what the engine did. */
export class Asking<Req, Tx> {
  readonly request: Req
  readonly exchange: Exchange
  /** There once it was read. */
  key: string | undefined
  /** There once it is known what is asked for. */
  run: LookedAt | undefined
  /** What the handler threw: its own affair, also if it is an error of ours. */
  thrown: unknown
  readonly #execute: Execute<Tx>
  #handling: HttpRun<Tx> | undefined

  constructor(request: Req, exchange: Exchange, execute: Execute<Tx>) {
    this.request = request
    this.exchange = exchange
    this.#execute = execute
  }

  /** Whether there was a run that counts: one that was refused with its first statement does not. */
  get hasBegun(): boolean {
    const run = this.#handling
    return run !== undefined && !('isRefused' in run && run.isRefused)
  }

  /** Has the handler run. */
  execute(run: HttpRun<Tx>, marks: EarlyMarks): Promise<CapturedResponse> {
    this.#handling = run
    const answer = started(() => this.#execute(run, marks))
    // First in line, so that it is known to whoever is told of the failure.
    answer.catch((error: unknown) => {
      this.thrown = error
    })
    return answer
  }
}
