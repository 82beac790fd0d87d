/**
 * Settings of a client.
 *
 * @module
 */

import { type Clock, type Random, systemClock, systemRandom } from './clock.ts'
import { type Connectivity, systemConnectivity } from './connectivity.ts'
import type { ClientEventListener } from './events.ts'
import type { JournalLimits, JournalStore } from './journal.ts'
import type { ClientDialect } from './rules.ts'

/** Settings of a client. */
export interface ClientOptions {
  /**
   * What relative addresses are resolved against, as a link on that page would be.
   *
   * @default the page, in a browser
   */
  readonly baseUrl?: string
  /**
   * What sends a request.
   *
   * @default the global fetch
   */
  readonly fetch?: typeof fetch
  /**
   * Headers of every attempt. A function is asked before each one, with its number, so that a token
   * can be renewed between attempts. They are not written to the journal.
   *
   * @default none
   */
  readonly headers?: HeadersInit | ((attempt: number) => HeadersInit | Promise<HeadersInit>)
  /**
   * Header and marks of the server; every dialect of `reprise/dialects` fits.
   *
   * @default `Idempotency-Key`, and the marks of all servers that are known
   */
  readonly dialect?: ClientDialect
  /**
   * How the key is written: bare, as deployed servers expect it, or as the quoted string of the draft.
   *
   * @default 'quoted' with a strict dialect, else 'bare'
   */
  readonly keyFormat?: 'bare' | 'quoted'
  /**
   * Makes a key, such as `uuidV4`.
   *
   * @default uuidV7
   */
  readonly newKey?: () => string
  /**
   * Methods that get a key.
   *
   * @default ['POST', 'PUT', 'PATCH', 'DELETE']
   */
  readonly methods?: readonly string[]
  /**
   * On whose behalf, such as the id of the user who is logged in. What was left in the journal by
   * another is not resumed. A function is asked for each operation.
   *
   * @default '', nobody in particular
   */
  readonly caller?: string | (() => string)
  /**
   * Where operations are written down before they are sent.
   *
   * @default memoryJournal()
   */
  readonly journal?: JournalStore
  /** How much the journal holds. */
  readonly journalLimits?: JournalLimits
  /**
   * Names of further headers that are not written to the journal, in small letters. Those that hold
   * authorization, cookie, token, secret, api key or password in their name never are.
   *
   * @default none
   */
  readonly secretHeaders?: RegExp
  /**
   * How many attempts may fail. Waiting for a request that is in progress is no failure.
   *
   * @default 5
   */
  readonly attemptsMax?: number
  /**
   * How long one attempt may take, its answer included, in milliseconds.
   *
   * @default 30_000
   */
  readonly attemptTimeoutMs?: number
  /**
   * How long all attempts together may take, in milliseconds.
   *
   * @default 120_000
   */
  readonly deadlineMs?: number
  /**
   * How long the server keeps keys, in milliseconds. No attempt is made with an older one: the server
   * might have forgotten it, and the operation would take effect a second time.
   *
   * @default 86_400_000
   */
  readonly retentionMs?: number
  /**
   * Longest wait before the first retry, in milliseconds; it doubles with each one.
   *
   * @default 200
   */
  readonly backoffMs?: number
  /**
   * Longest wait before any retry, in milliseconds.
   *
   * @default 10_000
   */
  readonly backoffMsMax?: number
  /**
   * How much an origin in trouble may be asked again: tokens that it begins with, and has at most. A
   * retry costs 5, after a time-out 10; an answer gives back what its last retry took, or 1.
   *
   * @default 500
   */
  readonly retryBudget?: number
  /**
   * What to do when an attempt gets no answer from an origin that has not yet shown that it honours
   * keys: trust that it does, or make no further attempt.
   *
   * @default 'retry'
   */
  readonly unprotected?: 'retry' | 'refuse'
  /**
   * Where a redirect may take a request with its key, its headers and its body: to the same host and
   * port (also from http to https), or anywhere. A redirect elsewhere is then the answer. In browsers
   * the browser follows, whatever is set here.
   *
   * @default 'same-host'
   */
  readonly redirects?: 'same-host' | 'any'
  /**
   * Receives events, for logs and metrics.
   *
   * @default nobody
   */
  readonly onEvent?: ClientEventListener
  /**
   * Tells whether there is a network.
   *
   * @default what the browser knows
   */
  readonly connectivity?: Connectivity
  /**
   * Time, for tests.
   *
   * @default the real time
   */
  readonly clock?: Clock
  /**
   * Chance, for tests.
   *
   * @default real chance
   */
  readonly random?: Random
}

/** Settings that a client has always. */
export type Defaulted =
  | 'fetch'
  | 'headers'
  | 'dialect'
  | 'methods'
  | 'caller'
  | 'attemptsMax'
  | 'attemptTimeoutMs'
  | 'deadlineMs'
  | 'retentionMs'
  | 'backoffMs'
  | 'backoffMsMax'
  | 'retryBudget'
  | 'unprotected'
  | 'redirects'
  | 'onEvent'
  | 'connectivity'
  | 'clock'
  | 'random'

/** What holds where nothing else is said. */
export const DEFAULTS: Required<Pick<ClientOptions, Defaulted>> = {
  // Looked up with each call, so that whatever replaces the global one later is used.
  fetch: (input, init) => fetch(input, init),
  headers: {},
  dialect: { header: 'Idempotency-Key' },
  methods: ['POST', 'PUT', 'PATCH', 'DELETE'],
  caller: '',
  attemptsMax: 5,
  attemptTimeoutMs: 30_000,
  deadlineMs: 120_000,
  retentionMs: 86_400_000,
  backoffMs: 200,
  backoffMsMax: 10_000,
  retryBudget: 500,
  unprotected: 'retry',
  redirects: 'same-host',
  onEvent: () => {},
  connectivity: systemConnectivity,
  clock: systemClock,
  random: systemRandom,
}
