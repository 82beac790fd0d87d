/**
 * Whether the phases of an operation fit together, decided by the compiler: every point that is
 * advanced to exists and takes that state, every phase is reached from `started`, and none leads back
 * to itself.
 *
 * @module
 */

import type { Node } from './node.ts'
import type { Advanced, Step } from './step.ts'

/** The phases of an operation, by the recovery point that each starts from. */
export type Graph<Tx, Input> = {
  readonly started: Node<Tx, Input, undefined, Step>
} & Readonly<Record<string, Node<Tx, Input, never, Step>>>

type StateOf<Phase> =
  Phase extends Node<infer _Tx, infer _Input, infer State, infer _Result> ? State : never

type ResultOf<Phase> =
  Phase extends Node<infer _Tx, infer _Input, infer _State, infer Result> ? Result : never

/** The name, unless it is any name: then nothing is known of it yet. */
type Known<Name> = string extends Name ? never : Name

type PointOf<Result> = Result extends Advanced<infer Point, infer _State> ? Known<Point> : never

/** Where a phase can lead. */
type Next<Phase> = PointOf<ResultOf<Phase>>

/** What is wrong with one answer of a phase. */
type FaultOfResult<Phases, Result> =
  Result extends Advanced<infer Point, infer State>
    ? string extends Point
      ? never
      : Point extends keyof Phases
        ? Takes<Phases[Point], State> extends true
          ? never
          : `${Point} takes another state`
        : `there is no phase ${Point}`
    : never

/** A phase that does not look at its state takes any. */
type Takes<Phase, State> = [StateOf<Phase>] extends [never]
  ? true
  : [State] extends [StateOf<Phase>]
    ? true
    : false

/** Every point that can be reached from `From`, itself included. */
type Reached<Phases, From extends string, Seen extends string = never> = From extends Seen
  ? never
  : From | (From extends keyof Phases ? Reached<Phases, Next<Phases[From]>, Seen | From> : never)

type IsCyclic<Phases, Point extends keyof Phases> =
  Point extends Reached<Phases, Next<Phases[Point]>> ? true : false

/** What is wrong with one phase, in words; `never` when nothing is. */
type Fault<Phases, Point extends keyof Phases> = [
  FaultOfResult<Phases, ResultOf<Phases[Point]>>,
] extends [never]
  ? Point extends Reached<Phases, 'started'>
    ? IsCyclic<Phases, Point> extends true
      ? `${Point & string} leads back to itself`
      : never
    : `${Point & string} is never reached`
  : FaultOfResult<Phases, ResultOf<Phases[Point]>>

/** The phases, each with what is wrong with it, so that the compiler shows it in its place. */
export type Checked<Phases> = {
  readonly [Point in keyof Phases]: [Fault<Phases, Point>] extends [never]
    ? unknown
    : Fault<Phases, Point>
}
