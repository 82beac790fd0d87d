/**
 * Every default of the admin API, in one place.
 *
 * @module
 */

import { checkNames, type Names } from '../core/known-options.ts'
import { whole } from '../core/options.ts'
import type { Clock } from '../engine/clock.ts'
import type { DeskView } from '../engine/desk.ts'
import { type CompleterPatience, GRACE_MS, resolvePatience } from '../phases/patience.ts'
import { type Redact, type RedactOptions, redactor } from './redact.ts'

/** An operation, as far as an operator is told of it; those of `operation()` are. */
export interface KnownOperation {
  readonly name: string
  readonly patience: CompleterPatience
}

/** Settings of `createAdmin`. */
export interface AdminOptions {
  /**
   * The operations that the completer drives on, for their grace periods and tries.
   *
   * @default none: the defaults of operations hold for all
   */
  readonly operations?: readonly KnownOperation[]
  /**
   * From this age on, in milliseconds, a request that nobody works on is stuck, where its operation
   * is not among {@link operations}.
   *
   * @default 300000 (5 minutes)
   */
  readonly graceMs?: number
  /**
   * How long the completer leaves a request whose outcome is unknown to the clients, in milliseconds:
   * what `createWorkers` was given as `completer.unknownGraceMs`.
   *
   * @default 300000 (5 minutes)
   */
  readonly unknownGraceMs?: number
  /** What is masked in bodies and headers, beside what is masked anyway. */
  readonly redact?: RedactOptions
  /**
   * The callers that may be seen. Requests of all others are as if they did not exist.
   *
   * @default all
   */
  readonly scopes?: readonly string[]
  /**
   * How many requests a batch has at most.
   *
   * @default 10000
   */
  readonly batchMax?: number
  /**
   * How many requests of a batch are acted on in a second.
   *
   * @default 50
   */
  readonly batchPerSecond?: number
  /**
   * How long one overview is shown to everybody, in milliseconds.
   *
   * @default 2000
   */
  readonly freshMs?: number
  /**
   * The process's clock, for tests.
   *
   * @default that of the engine
   */
  readonly clock?: Clock
}

/** The same with nothing left open. */
export interface AdminSettings {
  readonly view: DeskView
  readonly unknownGraceMs: number
  readonly redact: Redact
  readonly patienceOf: (operation: string) => CompleterPatience
  readonly batchMax: number
  readonly batchPerSecond: number
  readonly freshMs: number
}

const OPTIONS: Names<AdminOptions> = {
  operations: true,
  graceMs: true,
  unknownGraceMs: true,
  redact: true,
  scopes: true,
  batchMax: true,
  batchPerSecond: true,
  freshMs: true,
  clock: true,
}

/**
 * Fills in the defaults.
 *
 * @throws RepriseError `reprise-options-invalid`
 */
export function resolveAdmin(options: AdminOptions): AdminSettings {
  checkNames('createAdmin()', options, OPTIONS)
  const { operations = [], scopes } = options
  const patience = resolvePatience({ graceMs: options.graceMs ?? GRACE_MS })
  const patiences = new Map(operations.map((one) => [one.name, one.patience]))
  const graces = operations.map(({ name, patience: { graceMs } }) => [name, graceMs])
  return {
    view: {
      ...{ graceMs: patience.graceMs, gracesMs: Object.fromEntries(graces) },
      callers: scopes ?? null,
    },
    unknownGraceMs: whole('unknownGraceMs', options.unknownGraceMs ?? GRACE_MS, 0),
    redact: redactor(options.redact),
    patienceOf: (operation) => patiences.get(operation) ?? patience,
    batchMax: whole('batchMax', options.batchMax ?? 10_000, 1),
    batchPerSecond: whole('batchPerSecond', options.batchPerSecond ?? 50, 1),
    freshMs: whole('freshMs', options.freshMs ?? 2000, 0),
  }
}
