/**
 * Structured log lines. They name records and callers by their digests and never hold a key, a body or
 * a secret; of what was thrown they tell the class and the code, because messages quote values.
 *
 * @module
 */

import { causeCodeOf } from '../core/causes.ts'
import { isRepriseError } from '../core/errors.ts'
import { checkFunctions, checkNames, type Names } from '../core/known-options.ts'
import type { EventType, RepriseEvent } from '../engine/events.ts'
import type { WorkerNote } from './tally.ts'

/** How loud a line is. */
export type LogLevel = 'debug' | 'info' | 'warn' | 'error'

/** What a line says besides its message. */
export type LogFields = Readonly<Record<string, string | number>>

/** A logger in the manner of pino: fields first, then the message. `console` is one. */
export type Logger = Readonly<Record<LogLevel, (fields: LogFields, message: string) => void>>

/** Settings of {@link logEvents}. */
export interface LogOptions {
  /**
   * The level of an event's line; `false` for none.
   *
   * @default `debug` for what went as it should, `info` for refusals, `warn` and `error` for trouble
   */
  readonly levels?: Readonly<Partial<Record<EventType | 'worker', LogLevel | false>>>
}

const LEVELS: Readonly<Record<EventType | 'worker', LogLevel>> = {
  ...{ executed: 'debug', replayed: 'debug', bypassed: 'debug', worker: 'debug' },
  ...{ resumed: 'info', in_progress: 'info', mismatch: 'info', rejected: 'info' },
  ...{ over_quota: 'warn' },
  ...{ postponed: 'info', recovering: 'info', transaction_retry: 'info' },
  ...{ unknown: 'warn', abandoned: 'warn', lease_lost: 'warn', store_error: 'warn' },
  ...{ failed: 'error', not_stored: 'error', dead_letter: 'error' },
}

const MESSAGES: Readonly<Record<EventType, string>> = {
  executed: 'ran, and the answer is stored',
  resumed: 'took up what an earlier run had left',
  replayed: 'gave the stored answer',
  in_progress: 'refused: an earlier request with the key is running',
  mismatch: 'refused: the key stands for another request',
  unknown: 'refused: nobody can say how an earlier run ended',
  over_quota: 'refused: the caller has brought as many fresh keys as its quota allows',
  postponed: 'stopped half way; it is taken up again',
  dead_letter: 'put before a person',
  failed: 'failed',
  rejected: 'refused before the store was asked',
  bypassed: 'ran unprotected',
  recovering: 'took over from a run whose outcome is unknown',
  abandoned: 'replaced an unfinished record past its retention',
  lease_lost: 'lost its lease while the handler ran',
  not_stored: 'answered, and the answer could not be stored',
  store_error: 'could not reach the store',
  transaction_retry: 'runs its transaction again',
}

/**
 * Listeners that write one line for each event.
 *
 * @example
 * ```ts
 * const log = logEvents(pino())
 * const reprise = createReprise({ store, onEvent: log.onEvent })
 * ```
 */
export function logEvents(
  logger: Logger,
  options: LogOptions = {},
): {
  readonly onEvent: (event: RepriseEvent) => void
  readonly onWorkerEvent: (note: WorkerNote) => void
} {
  checkFunctions(
    logger,
    ['debug', 'info', 'warn', 'error'],
    'logEvents() takes a logger, such as pino() or console',
  )
  checkNames('logEvents()', options, { levels: true } satisfies Names<LogOptions>)
  const { levels = {} } = options
  const levelOf = (type: EventType | 'worker') => levels[type] ?? LEVELS[type]
  return {
    onEvent(event) {
      const level = levelOf(event.type)
      if (level !== false) logger[level](fieldsOf(event), `idempotency: ${MESSAGES[event.type]}`)
    },
    onWorkerEvent(note) {
      const level = note.error === undefined ? levelOf('worker') : 'warn'
      const message = `idempotency: ${note.worker} ${note.error === undefined ? 'ran' : 'failed'}`
      if (level !== false && levels.worker !== false) logger[level](workerFields(note), message)
    },
  }
}

function fieldsOf(event: RepriseEvent): LogFields {
  const { type, id, operation, caller, point, code, elapsedMs, handlerMs, overheadMs } = event
  return present({
    ...{ event: type, operation, record: id, caller, point, code },
    ...{ elapsedMs, handlerMs, overheadMs, ...errorFields(event) },
  })
}

function workerFields(note: WorkerNote): LogFields {
  const { worker, done, buried, tookMs, record } = note
  return present({
    ...{ event: 'worker', worker, done, buried, tookMs },
    ...{ record: record?.id, operation: record?.operation, ending: record?.ending },
    ...errorFields(note),
  })
}

/** Codes are short words of drivers and of this package; anything else might be a quotation. */
const CODE = /^[A-Za-z0-9_-]{1,64}$/

function errorFields({ error }: { readonly error?: unknown }) {
  if (error === undefined) return {}
  if (!(error instanceof Error)) return { error: typeof error }
  const code = 'code' in error && typeof error.code === 'string' ? error.code : ''
  const name = error.constructor.name
  return {
    ...{ error: CODE.test(name) ? name : 'Error', errorCode: CODE.test(code) ? code : undefined },
    // Of what Reprise reports: the code of what lies beneath.
    causeCode: isRepriseError(error) ? causeCodeOf(error) : undefined,
  }
}

function present(values: Readonly<Record<string, string | number | null | undefined>>): LogFields {
  const fields: Record<string, string | number> = {}
  for (const [name, value] of Object.entries(values)) {
    if (value !== null && value !== undefined) fields[name] = value
  }
  return fields
}
