/**
 * The specification that the IETF draft asks every resource to publish (section 2.5.2), made from
 * the very options that the route runs with, so that it can not say anything else.
 *
 * @module
 */

import { type ClientErrorCode, ERRORS } from '../core/error-table.ts'
import { problemTypeOf } from '../core/errors.ts'
import { FORM_FIELD } from '../core/form-field.ts'
import type { KeyFormat } from '../core/key.ts'
import { type ResolvedRunOptions, type RunOptions, resolveRunOptions } from '../core/options.ts'
import { type Effect, judge, type Verdict } from '../core/policy.ts'
import { type HttpOptions, type RouteRules, resolveRules } from './options.ts'

/** A place where the key may be; the name is `null` where the server's own code finds it. */
export interface KeyPlace {
  readonly in: 'header' | 'form' | 'body' | 'query' | 'request'
  readonly name: string | null
}

/** What a key has to be like. */
export interface PublishedKey {
  /** The first place that holds one counts. */
  readonly places: readonly KeyPlace[]
  readonly required: boolean
  /** In characters, without quotes and escapes. */
  readonly lengthMin: number
  readonly lengthMax: number
  /** Whether a header has to hold it in double quotes, as the draft asks, or may hold it bare. */
  readonly quoted: boolean
  /** `own` is a rule that only the server can state; `null` takes any key. */
  readonly format: 'uuid' | 'uuidv7' | 'own' | { readonly pattern: string } | null
  /** Time-based keys that are older are refused; `null` takes them at any age. */
  readonly ageSecondsMax: number | null
}

/**
 * What becomes of answers, by status. A status that is named counts before its class, as in `4xx`.
 * Stored ones are given again; forgotten ones free the key; after suspended ones the next request is
 * treated as after a crash.
 */
export interface PublishedFates {
  /** What is known of the effect when the answer is given. */
  readonly effect: Effect
  readonly stored: readonly string[]
  readonly forgotten: readonly string[]
  readonly suspended: readonly string[]
}

/** One way in which a request is refused. */
export interface PublishedError {
  readonly code: ClientErrorCode
  /** In the dialect of the route. */
  readonly status: number
  readonly title: string
  /** Whether to send the same request with the same key again. */
  readonly retryable: boolean
  /** The `type` that the problem has. */
  readonly type: string
  /** Address of the code's page; `null` where the app publishes none. */
  readonly docs: string | null
}

/** The specification of one route, or of all that share its options. Made of JSON values alone. */
export interface PublishedPolicy {
  readonly dialect: string
  readonly methods: readonly string[]
  readonly key: PublishedKey
  /** What a key has to be unique within: the same key under another one of these is another key. */
  readonly scope: readonly string[]
  /** What has to be the same for a request to count as a repetition; the key itself never counts. */
  readonly fingerprint: {
    readonly parts: readonly string[]
    /** Members of the body that do not count. */
    readonly exclude: readonly string[]
    /** Fields of the query that do not count. */
    readonly excludeQuery: readonly string[]
  }
  /** For how long answers are kept. */
  readonly retentionSeconds: number | 'by caller'
  /** One entry for each thing that can be known of the effect. */
  readonly answers: readonly PublishedFates[]
  /** What is done when an earlier run stopped and may have taken effect. */
  readonly afterCrash: 'refuse' | 'rerun' | 'recover'
  readonly replay: {
    /** Status of a replayed 201; all others are as they were first. */
    readonly created: 201 | 200
    /** Header that says `true` on a replay, and those that say more; `null` for what is not sent. */
    readonly markedBy: string | null
    readonly originalRequest: string | null
    readonly expires: string | null
    readonly cookies: boolean
    /** Whether answers hold secrets that are shown once: a repetition gets an error instead. */
    readonly sensitive: boolean
    /** Longer bodies are left out, and a header says so. */
    readonly bodyBytesMax: number
  }
  /** How long a repetition waits for the first request, and at most with `Prefer: wait`. */
  readonly waitSeconds: number
  readonly preferWaitSecondsMax: number
  readonly errors: readonly PublishedError[]
}

/**
 * The specification of a route.
 *
 * @param options - the options that the route is protected with
 * @param engine - the options that the engine was made with
 * @throws RepriseError `reprise-options-invalid`
 *
 * @example
 * ```ts
 * app.get('/idempotency', (req, res) => res.json(publishedPolicy(options, engineOptions)))
 * ```
 */
export function publishedPolicy<Req>(
  options: HttpOptions<Req>,
  engine: RunOptions = {},
): PublishedPolicy {
  const rules = resolveRules(options)
  const run = resolveRunOptions({ ...engine, ...options })
  const retention = options.retentionMs ?? engine.retentionMs
  const { dialect } = rules
  const { exclude = [], excludeQuery = [] } = options.fingerprint ?? {}
  const parts = ['method', 'path', 'query', 'media type', 'body']
  return {
    dialect: dialect.name,
    methods: [...rules.methods],
    key: keyOf(options, rules),
    scope: dialect.identity.filter((part) => part !== 'key'),
    fingerprint: {
      parts: options.version === undefined ? parts : [...parts, 'API version'],
      ...{ exclude, excludeQuery },
    },
    retentionSeconds:
      typeof retention === 'function' ? 'by caller' : Math.floor(run.retentionMs('any') / 1000),
    answers: answersOf(options, run),
    afterCrash: typeof run.afterCrash === 'function' ? 'recover' : run.afterCrash,
    replay: {
      created: dialect.replayStatus === 'first' ? 201 : dialect.replayStatus,
      markedBy: dialect.marks.replayed,
      originalRequest: dialect.marks.originalRequest,
      expires: dialect.marks.expires,
      cookies: run.headers.cookies ?? false,
      sensitive: options.serve?.isSensitive ?? options.sensitive ?? false,
      bodyBytesMax: run.bodyBytesMax,
    },
    waitSeconds: run.waitMs / 1000,
    preferWaitSecondsMax: rules.preferWaitMsMax / 1000,
    errors: errorsOf(options, rules, run),
  }
}

function keyOf<Req>(options: HttpOptions<Req>, { dialect, required }: RouteRules): PublishedKey {
  const { lengthMin = 1, lengthMax = 255, mode, format } = dialect.key
  const { keyAge } = options
  return {
    places: placesOf(options, dialect.header),
    ...{ required, lengthMin, lengthMax, quoted: mode === 'strict', format: formatOf(format) },
    ageSecondsMax: keyAge === undefined ? null : keyAge.ageMsMax / 1000,
  }
}

function placesOf<Req>({ key }: HttpOptions<Req>, header: string): readonly KeyPlace[] {
  if (key === undefined) {
    return [
      { in: 'header', name: header },
      { in: 'form', name: FORM_FIELD },
    ]
  }
  if (typeof key === 'function') return [{ in: 'request', name: null }]
  if ('field' in key) return [{ in: 'body', name: key.field }]
  if ('query' in key) return [{ in: 'query', name: key.query }]
  return [{ in: 'header', name: key.header }]
}

function formatOf(format: KeyFormat | undefined): PublishedKey['format'] {
  if (format === undefined || typeof format === 'string') return format ?? null
  return typeof format === 'function' ? 'own' : { pattern: format.source }
}

function answersOf<Req>(
  { transaction = false }: HttpOptions<Req>,
  { policy, marksEffect }: ResolvedRunOptions,
): readonly PublishedFates[] {
  const verdictOn = (effect: Effect) => (status: number) =>
    judge(policy, { status, headers: [], body: new Uint8Array() }, effect)
  if (transaction === false) {
    const effects: readonly Effect[] = [marksEffect ? 'none' : 'unknown', 'begun']
    return effects.map((effect) => fatesOf(effect, verdictOn(effect)))
  }
  // What is not stored is rolled back, whatever the policy calls it.
  const verdict = verdictOn('none')
  return [fatesOf('none', (status) => (verdict(status) === 'store' ? 'store' : 'forget'))]
}

const VERDICTS: readonly [Verdict, ...Verdict[]] = ['store', 'forget', 'suspend']

/** Sorts every status; the most frequent verdict of a class speaks for the class. */
function fatesOf(effect: Effect, verdictOn: (status: number) => Verdict): PublishedFates {
  const lists: Record<Verdict, string[]> = { store: [], forget: [], suspend: [] }
  for (const hundreds of [200, 300, 400, 500]) {
    const verdicts = Array.from({ length: 100 }, (_, rest) => verdictOn(hundreds + rest))
    const count = (verdict: Verdict) => verdicts.filter((other) => other === verdict).length
    const usual = VERDICTS.reduce((best, next) => (count(next) > count(best) ? next : best))
    lists[usual].push(`${hundreds / 100}xx`)
    for (const [rest, verdict] of verdicts.entries()) {
      if (verdict !== usual) lists[verdict].push(String(hundreds + rest))
    }
  }
  return { effect, stored: lists.store, forgotten: lists.forget, suspended: lists.suspend }
}

/** The refusals that the route can give. */
function errorsOf<Req>(
  options: HttpOptions<Req>,
  { dialect, required, fingerprint }: RouteRules,
  { afterCrash, quota }: ResolvedRunOptions,
): readonly PublishedError[] {
  const { transaction = false, keyAge, authorizeReplay, sensitive, serve, docsUrl } = options
  const isServed = serve !== undefined
  const possible: readonly (readonly [code: ClientErrorCode, isPossible: boolean])[] = [
    ['idempotency-key-missing', required],
    ['idempotency-key-invalid', true],
    ['idempotency-key-expired', keyAge !== undefined],
    ['idempotency-key-reused', true],
    ['idempotency-in-progress', true],
    ['idempotency-outcome-unknown', afterCrash !== 'rerun'],
    ['idempotency-result-gone', sensitive === true],
    ['idempotency-body-invalid', true],
    ['idempotency-body-too-large', Number.isFinite(fingerprint.bodyBytesMax)],
    ['idempotency-replay-forbidden', authorizeReplay !== undefined],
    ['idempotency-too-early', !required],
    ['idempotency-store-unavailable', true],
    ['idempotency-shutting-down', true],
    ['idempotency-conflict', transaction !== false],
    ['idempotency-commit-unknown', transaction !== false],
    ['idempotency-retry-later', isServed],
    ['idempotency-quota-exceeded', quota !== undefined],
    ['idempotency-input-invalid', isServed],
    ['idempotency-identity-invalid', true],
  ]
  return possible.flatMap(([code, isPossible]) => {
    if (!isPossible) return []
    const { title, retryable, ...entry } = ERRORS[code]
    const status = dialect.errors.statuses[code] ?? entry.status
    const type = problemTypeOf(code, docsUrl)
    return [{ code, status, title, retryable, type, docs: docsUrl === undefined ? null : type }]
  })
}
