/**
 * The two kinds of phase: work on the database, and a call to another system.
 *
 * @module
 */

import { whole } from '../core/options.ts'
import type { Stage } from '../engine/stage.ts'
import type { Isolation } from '../engine/transactions.ts'
import type { CallSpec, CallWork } from './foreign-call.ts'
import type { Step } from './step.ts'

/** What every phase is told. */
export interface OperationContext<Input> {
  /** What the request asks for, as the schema made it; the same however often it is resumed. */
  readonly input: Input
  readonly caller: string
  /** Address of the client that sent the first request. */
  readonly ip: string | null
  /** Grows with each run for the same record. */
  readonly fence: number
}

/** What work on the database is given. */
export interface PhaseContext<Tx, Input> extends OperationContext<Input> {
  /** The transaction: commits together with the recovery point, or not at all. */
  readonly tx: Tx
  /** What the client sent as its key. */
  readonly key: string
  /** Stages a job in the transaction. */
  readonly stage: Stage
}

/** How a phase is run. */
export interface PhaseOptions {
  /**
   * Isolation of its transaction.
   *
   * @default the operation's
   */
  readonly isolation?: Isolation
  /**
   * How long it may take, in milliseconds. After that nobody waits for it any more, and it commits
   * nothing.
   *
   * @default 600000 (10 minutes)
   */
  readonly timeoutMs?: number
}

/** Work on the database, as it is run. */
export interface PhaseWork extends PhaseOptions {
  readonly kind: 'phase'
  readonly run: (context: PhaseContext<unknown, unknown>, state: unknown) => Promise<Step>
}

declare const TYPES: unique symbol

/**
 * One phase of an operation. Its types say on what it works, which state it takes and where it can
 * lead; `operation()` checks that they fit together.
 */
export interface Node<Tx, Input, State, Result> {
  /** Never there: it carries the types. */
  readonly [TYPES]?: (context: PhaseContext<Tx, Input>, state: State) => Result
  readonly work: PhaseWork | CallWork
}

/**
 * A phase on the database: one transaction. It may be run more than once, and one run commits; what
 * it does outside `tx` is not undone and belongs in {@link foreignCall}.
 *
 * @param run - is given the state that the phase before it handed on
 */
export function phase<Tx, Input, State = undefined, Result extends Step = Step>(
  run: (context: PhaseContext<Tx, Input>, state: State) => Result | Promise<Result>,
  options: PhaseOptions = {},
): Node<Tx, Input, State, Result> {
  checkTimeout(options)
  return {
    work: {
      ...{ kind: 'phase', ...options },
      // The types of context and state are checked where the phases are put together.
      run: async (context, state) => run(context as PhaseContext<Tx, Input>, state as State),
    },
  }
}

/**
 * A call that changes something outside the database. No transaction and no connection is held
 * meanwhile; its key is the same on every attempt and stands for this call of this record alone.
 */
export function foreignCall<
  Tx,
  Input,
  State,
  Answer,
  Done extends Step,
  Failed extends Step = never,
>(spec: CallSpec<Tx, Input, State, Answer, Done, Failed>): Node<Tx, Input, State, Done | Failed> {
  checkTimeout(spec)
  // The types of context, state and answer are checked where the phases are put together.
  const erased = spec as unknown as Omit<CallWork, 'kind'>
  return { work: { kind: 'call', ...erased } }
}

function checkTimeout({ timeoutMs }: { readonly timeoutMs?: number }): void {
  if (timeoutMs !== undefined) whole('timeoutMs', timeoutMs, 1)
}
