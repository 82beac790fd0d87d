/**
 * The options of a run: what each means, its default, and which combinations make no sense. Resolved
 * and checked once, when they are given; a contradiction is refused then, with a sentence that says
 * what to change.
 *
 * @module
 */

import { OPTIONS_INVALID } from './error-table.ts'
import { RepriseError } from './errors.ts'
import { defaultPolicy, type ResponsePolicy } from './policy.ts'
import { QUOTA_KEYS_MAX, type Quota } from './quota.ts'
import type { CapturedResponse, HeaderPolicy } from './response.ts'

/** Encrypts what is stored: `aesGcm`, or one of your own, such as an HSM's. */
export interface Encryption {
  /**
   * Encrypts `content`; has to name its key in what it gives, so that keys can be rotated.
   *
   * @param bound - what the result is bound to: it must not open with anything else
   */
  encrypt(content: Uint8Array, bound: Uint8Array): Uint8Array
  /**
   * Opens what `encrypt` gave.
   *
   * @throws RepriseError `reprise-seal-broken`
   */
  decrypt(encrypted: Uint8Array, bound: Uint8Array): Uint8Array
}

/** What a `recover()` function is told about the request whose outcome is unknown. */
export interface RecoverContext {
  readonly caller: string
  readonly operation: string
  readonly key: string
  /** Aborted when the lease is lost. */
  readonly signal: AbortSignal
}

/**
 * Looks at the world and says what became of a run that stopped half way: the answer, if it took
 * effect; `'rerun'`, if it provably did not; `'refuse'`, if that can not be told.
 */
export type Recover = (context: RecoverContext) => Promise<CapturedResponse | 'rerun' | 'refuse'>

/** Settings of runs; see {@link resolveRunOptions} for the defaults in one place. */
export interface RunOptions {
  /**
   * How long a run keeps its key without a sign of life, in milliseconds. Renewed every quarter of
   * it while the handler runs; after a crash a retry is held off for this long.
   *
   * @default 30000
   */
  readonly leaseMs?: number
  /**
   * How long an answer is kept, in milliseconds; or a function of the caller that says it.
   *
   * @default 86400000 (24 hours)
   */
  readonly retentionMs?: number | ((caller: string) => number)
  /**
   * How many fresh keys a caller may bring in which time, over all processes and all routes that have
   * a quota; or a function of the caller that says it, `undefined` for none. What is over it is
   * refused with 429; replays and conflicts are free.
   *
   * @default none
   */
  readonly quota?: Quota | ((caller: string) => Quota | undefined)
  /**
   * What to do when an earlier run stopped and may have taken effect: `'refuse'` with a definite
   * error, `'rerun'` the handler, or ask a function.
   *
   * @default 'refuse'
   */
  readonly afterCrash?: 'refuse' | 'rerun' | Recover
  /**
   * Whether the handler calls `markEffect()` before its first effect. A run that stops before that
   * call is then known to have done nothing and is run again. Costs one store call per run.
   *
   * @default false
   */
  readonly marksEffect?: boolean
  /**
   * How long a duplicate waits for the running request to finish, in milliseconds; 0 answers "in
   * progress" at once.
   *
   * @default 0
   */
  readonly waitMs?: number
  /**
   * Which answers are stored.
   *
   * @default responsePolicies.default
   */
  readonly policy?: ResponsePolicy
  /**
   * Which headers are stored with an answer.
   *
   * @default all but those that belong to one message, connection or client
   */
  readonly headers?: HeaderPolicy
  /**
   * A response body of more bytes is not kept: its replay has status and headers and says so.
   *
   * @default 1048576 (1 MiB)
   */
  readonly bodyBytesMax?: number
  /**
   * Stored content from this many bytes on is compressed; `false` never.
   *
   * @default 1024
   */
  readonly compressBytesMin?: number | false
  /**
   * Encrypts stored answers: `aesGcm({ current, keys })`.
   *
   * @default none: stored in clear
   */
  readonly encryption?: Encryption
  /**
   * How long one call to the store may take, in milliseconds, before the store counts as down.
   *
   * @default 5000
   */
  readonly storeTimeoutMs?: number
  /**
   * How often a transaction is run before a serialization failure or deadlock is reported.
   *
   * @default 5
   */
  readonly transactionAttemptsMax?: number
}

/** Options with nothing left open. */
export interface ResolvedRunOptions {
  readonly leaseMs: number
  readonly retentionMs: (caller: string) => number
  /** Whether the retention is the same for every caller. */
  readonly retentionIsFixed: boolean
  /** The quota of a caller; `undefined` where none is set at all. */
  readonly quota: ((caller: string) => Quota | undefined) | undefined
  readonly afterCrash: 'refuse' | 'rerun' | Recover
  readonly marksEffect: boolean
  readonly waitMs: number
  readonly policy: ResponsePolicy
  readonly headers: HeaderPolicy
  readonly bodyBytesMax: number
  readonly compressBytesMin: number | false
  readonly encryption: Encryption | undefined
  readonly storeTimeoutMs: number
  readonly transactionAttemptsMax: number
}

const HOUR_MS = 3_600_000
/** Beyond this a duration is a mistake in units, and sums with it may leave the safe integers. */
const DURATION_MS_MAX = 10 * 366 * 24 * HOUR_MS
/** A lease must outlive its renewal, a round trip and a garbage collection. */
const LEASE_MS_MIN = 100

/**
 * Fills in the defaults and checks the result.
 *
 * @throws RepriseError `reprise-options-invalid`
 */
export function resolveRunOptions(options: RunOptions = {}): ResolvedRunOptions {
  const retention = options.retentionMs ?? 24 * HOUR_MS
  const leaseMs = duration('leaseMs', options.leaseMs ?? 30_000, LEASE_MS_MIN)
  const retentionMs = retentionOf(retention, leaseMs)
  const resolved: ResolvedRunOptions = {
    leaseMs,
    retentionMs,
    retentionIsFixed: typeof retention !== 'function',
    quota: quotaOf(options.quota, retentionMs),
    afterCrash: options.afterCrash ?? 'refuse',
    marksEffect: options.marksEffect ?? false,
    waitMs: duration('waitMs', options.waitMs ?? 0, 0),
    policy: options.policy ?? defaultPolicy,
    headers: options.headers ?? {},
    bodyBytesMax: whole('bodyBytesMax', options.bodyBytesMax ?? 1_048_576, 0),
    compressBytesMin: options.compressBytesMin ?? 1024,
    encryption: options.encryption,
    storeTimeoutMs: duration('storeTimeoutMs', options.storeTimeoutMs ?? 5000, 1),
    transactionAttemptsMax: whole('transactionAttemptsMax', options.transactionAttemptsMax ?? 5, 1),
  }
  checkAfterCrash(resolved)
  // What is the same for every caller is checked now, not at the first request.
  if (resolved.retentionIsFixed && typeof options.quota === 'object') resolved.quota?.('any')
  if (resolved.compressBytesMin !== false) whole('compressBytesMin', resolved.compressBytesMin, 0)
  if (typeof resolved.policy !== 'function') throw invalid('policy must be a function')
  if (resolved.encryption !== undefined && typeof resolved.encryption.encrypt !== 'function') {
    throw invalid('encryption has no encrypt(): give aesGcm({ current, keys })')
  }
  return resolved
}

/** Checks what a retention function says each time it is asked. */
function retentionOf(
  retention: number | ((caller: string) => number),
  leaseMs: number,
): (caller: string) => number {
  if (typeof retention === 'function') {
    return (caller) => checkedRetention(retention(caller), leaseMs)
  }
  const fixed = checkedRetention(retention, leaseMs)
  return () => fixed
}

function checkedRetention(retentionMs: number, leaseMs: number): number {
  duration('retentionMs', retentionMs, 1)
  if (retentionMs >= leaseMs) return retentionMs
  throw invalid(
    `retentionMs (${retentionMs}) is shorter than leaseMs (${leaseMs}): records would be forgotten while requests run. Raise retentionMs or lower leaseMs`,
  )
}

/** Checks what a function of the caller says each time it is asked. */
function quotaOf(
  quota: RunOptions['quota'],
  retentionMs: (caller: string) => number,
): ((caller: string) => Quota | undefined) | undefined {
  if (quota === undefined) return undefined
  if (typeof quota !== 'function' && (typeof quota !== 'object' || quota === null)) {
    throw invalid(`quota must be { keys, perMs } or a function of the caller, not ${String(quota)}`)
  }
  const ask = typeof quota === 'function' ? quota : () => quota
  return (caller) => {
    const asked = ask(caller)
    return asked && checkedQuota(asked, retentionMs(caller))
  }
}

function checkedQuota(quota: Quota, retentionMs: number): Quota {
  const { keys, perMs } = quota
  duration('quota.perMs', perMs, 1)
  if (whole('quota.keys', keys, 1) > QUOTA_KEYS_MAX) {
    throw invalid(`quota.keys must be at most ${QUOTA_KEYS_MAX}, not ${keys}`)
  }
  if (perMs <= retentionMs) return quota
  throw invalid(
    `quota.perMs (${perMs}) is longer than retentionMs (${retentionMs}), and records are what is counted. Lower quota.perMs or raise retentionMs`,
  )
}

function checkAfterCrash({ afterCrash }: ResolvedRunOptions): void {
  if (afterCrash === 'refuse' || afterCrash === 'rerun' || typeof afterCrash === 'function') return
  throw invalid(`afterCrash must be 'refuse', 'rerun' or a function`)
}

function duration(name: string, value: number, least: number): number {
  if (Number.isFinite(value) && value >= least && value <= DURATION_MS_MAX) return value
  throw invalid(`${name} must be milliseconds from ${least} to ${DURATION_MS_MAX}, not ${value}`)
}

/** Checks a whole number of things. */
export function whole(name: string, value: number, least: number): number {
  if (Number.isSafeInteger(value) && value >= least) return value
  throw invalid(`${name} must be a whole number of at least ${least}, not ${value}`)
}

/** The error for options that can not be used. */
export function invalid(detail: string): RepriseError {
  return new RepriseError(OPTIONS_INVALID, detail)
}
