/**
 * A request on its way through the engine.
 *
 * @module
 */

import { IDENTITY_INVALID } from '../core/error-table.ts'
import { RepriseError } from '../core/errors.ts'
import { recordId } from '../core/identity.ts'
import { keptText } from '../core/kept-text.ts'
import { invalid, type ResolvedRunOptions } from '../core/options.ts'
import type { Quota } from '../core/quota.ts'
import type { Origin, RecordIdentity } from '../core/record.ts'
import type { RecallRequest } from './replay-cache.ts'

/** What the engine needs to know about a request. */
export interface RunRequest {
  /**
   * On whose behalf: account, user, organisation. Never empty: keys of different callers must not
   * meet. Never a raw secret: hash an API key with `hashSecret`.
   */
  readonly caller: string
  /** What is asked: method and route template, or a name. */
  readonly operation: string
  /** The key as `parseKey` gave it. */
  readonly key: string
  /** Every fingerprint of the request as `fingerprintRequest` gave them, the current one first. */
  readonly fingerprints: readonly string[]
  /**
   * The parts that select the record.
   *
   * @default caller, operation and key
   */
  readonly identity?: readonly string[]
  /** Where the request came from. */
  readonly origin?: Partial<Origin>
  /**
   * How long to wait for a running duplicate, in milliseconds, instead of what the options say.
   *
   * @default the option `waitMs`
   */
  readonly waitMs?: number | undefined
  /**
   * The request as it was before it was digested: once its answer was asked for again, it is found by
   * that alone; see `recall`.
   *
   * @default none
   */
  readonly recalled?: RecallRequest | undefined
}

/** What is noted of a request on its way, for who watches. */
export interface Trace {
  /** Milliseconds in the app's own handler or phases. */
  handlerMs?: number
  /** Milliseconds spent waiting for the run of another request. */
  waitedMs?: number
  /** The recovery point that the run has got to. */
  point?: string | null
  /** Whether it was the first to run, and how it ended is its own doing, no earlier request's. */
  isFirst?: boolean
}

/** A request with everything about it settled. */
export interface Job {
  readonly identity: RecordIdentity
  /** Same identity and same fingerprint: what duplicates share within the process. */
  readonly request: string
  /** As in a request. */
  readonly recalled?: RecallRequest | undefined
  readonly fingerprint: string
  readonly fingerprints: readonly string[]
  readonly owner: string
  readonly origin: Origin
  readonly waitMs: number
  readonly retentionMs: number
  readonly quota: Quota | undefined
  readonly options: ResolvedRunOptions
  /** When the request came, by the process's clock. */
  readonly startedAt: number
  /**
   * The input, sealed, where the work is done in phases: whoever resumes it needs it. Called for each
   * claim that is sent, because each may make a record of its own: a process can sleep for longer
   * than the record of its last claim was kept.
   */
  readonly input?: () => Promise<Uint8Array>
  /**
   * Whether a request waits for the answer; only these are answered from the replay cache.
   *
   * @default true
   */
  readonly isServed?: boolean
  /** As in a claim. */
  readonly writesFirst?: boolean
  readonly trace: Trace
}

/** Makes a job. */
export function createJob(
  request: RunRequest,
  options: ResolvedRunOptions,
  { owner, startedAt }: { owner: string; startedAt: number },
): Job {
  const { caller, operation, key, fingerprints, origin = {} } = request
  const [fingerprint] = fingerprints
  if (caller === '') throw invalid('caller is empty: say on whose behalf each request comes')
  if (operation === '' || key === '') throw invalid('operation and key must not be empty')
  refuseNul('caller', caller)
  refuseNul('operation', operation)
  refuseNul('key', key)
  if (fingerprint === undefined) throw invalid('fingerprints must name at least one')

  const id = recordId(request.identity ?? [caller, operation, key], key)
  const { requestId = null, ip = null, userAgent = null } = origin
  return {
    identity: { id, caller, operation, key },
    request: `${id} ${fingerprint}`,
    recalled: request.recalled,
    fingerprint,
    fingerprints,
    owner,
    origin: { requestId: keptText(requestId), ip: keptText(ip), userAgent: keptText(userAgent) },
    waitMs: request.waitMs ?? options.waitMs,
    retentionMs: options.retentionMs(caller),
    quota: options.quota?.(caller),
    options,
    startedAt,
    trace: {},
  }
}

/**
 * Refuses what PostgreSQL cannot hold in any encoding, whatever the store is: an app that moves to
 * another store must not find requests refused that were answered before.
 *
 * @throws RepriseError `idempotency-identity-invalid`
 */
function refuseNul(name: string, value: string): void {
  if (value.includes('\0')) {
    throw new RepriseError(IDENTITY_INVALID, `The ${name} has a NUL character`)
  }
}
