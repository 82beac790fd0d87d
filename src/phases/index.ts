/**
 * Atomic phases with recovery points, foreign calls and staged jobs.
 *
 * @module
 */

export type { Stage, StageOptions } from '../engine/stage.ts'
export {
  type CallContext,
  type CallSpec,
  type Certainty,
  certaintyOf,
  didNotHappen,
  happened,
  type Reconciled,
  unknown,
  willNotHappen,
} from './foreign-call.ts'
export type { Checked, Graph } from './graph.ts'
export {
  type DeadLetters,
  type Decision,
  deadLetters,
  type GivenAnswer,
  type OpenedLetter,
} from './letters.ts'
export {
  foreignCall,
  type Node,
  type OperationContext,
  type PhaseContext,
  type PhaseOptions,
  phase,
} from './node.ts'
export {
  type Abandoned,
  type Operation,
  type OperationOptions,
  type OperationRequest,
  operation,
} from './operation.ts'
export type { Migrate, Moved, Stored } from './passage.ts'
export type { CompleterOptions } from './patience.ts'
export type { Issue, Schema, Validation } from './schema.ts'
export {
  type Advanced,
  advance,
  type Responded,
  type RespondOptions,
  type RetryLater,
  respond,
  retryLater,
  type Step,
} from './step.ts'
