/**
 * Operations: requests that call other systems, driven to completion whatever happens.
 *
 * @module
 */

import { type ReadBody, valueOfBody } from '../core/body-value.ts'
import { INPUT_INVALID, TRANSACTIONS_UNSUPPORTED } from '../core/error-table.ts'
import { RepriseError } from '../core/errors.ts'
import { digestValue, fingerprintRequest } from '../core/fingerprint.ts'
import type { CanonicalOptions } from '../core/json.ts'
import { isLater } from '../core/later.ts'
import { invalid, type RunOptions, whole } from '../core/options.ts'
import { NO_KEYS } from '../core/quota.ts'
import { type Origin, STARTED } from '../core/record.ts'
import { isGranted, takeClaim } from '../engine/claiming.ts'
import type { Context } from '../engine/context.ts'
import { BegunFlight, type Flight } from '../engine/flights.ts'
import { createJob, type Job, type RunRequest } from '../engine/job.ts'
import {
  type LeaseReprise,
  partsOf,
  type Reprise,
  type TransactionReprise,
} from '../engine/reprise.ts'
import type { RunResult } from '../engine/result.ts'
import type { Rejected, Servable } from '../engine/servable.ts'
import { settle } from '../engine/settle.ts'
import type { Granted } from '../engine/store.ts'
import type { Isolation } from '../engine/transactions.ts'
import type { Edition, TakenRecord, Work } from '../engine/work.ts'
import { Drive } from './drive.ts'
import { Envelope, graphOf } from './envelope.ts'
import { careOf } from './foreign-call.ts'
import type { Checked, Graph } from './graph.ts'
import { type Blueprint, type Migrate, Passage } from './passage.ts'
import { type CompleterOptions, type CompleterPatience, resolvePatience } from './patience.ts'
import { rejected, type Schema, thrown, type Verdict, validate } from './schema.ts'

/** What is known of a record that nobody finished within its retention. */
export interface Abandoned<Input> {
  readonly caller: string
  readonly key: string
  readonly point: string | null
  readonly input: Input
}

/** The settings of runs that an operation may have of its own. */
type OwnRunOption =
  | 'leaseMs'
  | 'retentionMs'
  | 'waitMs'
  | 'storeTimeoutMs'
  | 'quota'
  | 'headers'
  | 'bodyBytesMax'
  | 'compressBytesMin'
  | 'encryption'

const OWN_RUN_OPTIONS: Readonly<Record<OwnRunOption, true>> = {
  leaseMs: true,
  retentionMs: true,
  waitMs: true,
  storeTimeoutMs: true,
  quota: true,
  headers: true,
  bodyBytesMax: true,
  compressBytesMin: true,
  encryption: true,
}

/** Settings of {@link operation}; those of the engine hold where nothing is said. */
export interface OperationOptions<Tx, Input> extends Pick<RunOptions, OwnRunOption> {
  /** The engine, on a store that can commit the app's rows. */
  readonly reprise: LeaseReprise & TransactionReprise<Tx>
  /** Schema of the input (Standard Schema: zod, valibot, arktype …). Its output must be JSON. */
  readonly input: Schema<Input>
  /**
   * Raise it when what is stored between phases changes its meaning. Records of another version are
   * given to {@link migrate}.
   *
   * @default 1
   */
  readonly version?: number
  /**
   * Takes up what was stored by an older version of the operation, or when there were other phases.
   *
   * @default what is at a phase that is still there goes on, if the version is the same; the rest is
   * left to nodes of other versions
   */
  readonly migrate?: Migrate
  /**
   * How long a record that this version does not understand is left to nodes of other versions, in
   * milliseconds, by the database's clock, from when only versions that do not understand it have met
   * it. Until then requests get 503 with `Retry-After`; after that a person must look at it.
   *
   * @default 86400000 (a day)
   */
  readonly otherVersionMs?: number
  /**
   * Isolation of the phases' transactions.
   *
   * @default 'serializable'
   */
  readonly isolation?: Isolation
  /**
   * How often a transaction is run before a serialization failure or deadlock counts as a failure.
   *
   * @default 10
   */
  readonly transactionAttemptsMax?: number
  /**
   * When a client is told to come back after `retryLater()`, in milliseconds.
   *
   * @default 5000
   */
  readonly retryAfterMs?: number
  /**
   * Whether the answer is given once and its body is not kept, because it holds a secret. Whoever asks
   * again gets 409 `idempotency-result-gone`; so does a client whose request a worker finished.
   *
   * @default false
   */
  readonly sensitive?: boolean
  /** When the completer takes the work up, and when it gives up. */
  readonly completer?: CompleterOptions
  /**
   * Called when nobody finished a record within its retention, before it is put before a person; or
   * after that, when a request took its key before the reaper came. At least once, so it must be
   * safe to be called again.
   *
   * @default nobody is told
   */
  readonly onAbandon?: (abandoned: Abandoned<Input>) => void | Promise<void>
}

/** A request without HTTP. */
export interface OperationRequest {
  /** On whose behalf. */
  readonly caller: string
  /** The same whenever the same request is made again. */
  readonly key: string
  readonly input: unknown
  /** Where the request came from. */
  readonly origin?: Partial<Origin>
  /**
   * How long to wait for the same request while it runs elsewhere, in milliseconds.
   *
   * @default the option `waitMs`
   */
  readonly waitMs?: number
}

/** How long a record of another version is left to others unless told otherwise, in milliseconds. */
const OTHER_VERSION_MS = 86_400_000

/** How long records of phases are kept, in milliseconds: a Friday's bug can be mended on Monday. */
const RETENTION_MS = 259_200_000

/**
 * Defines an operation: phases by the recovery point that each starts from.
 *
 * A point that does not exist, a state of the wrong type, a phase that is never reached and a cycle
 * are compile errors.
 *
 * @param name - names the operation in the store: a deploy that renames it leaves its records behind
 * @throws RepriseError `reprise-options-invalid`; `reprise-transactions-unsupported` when the store
 * has no phases
 */
export function operation<Tx, Input, const Phases extends Graph<Tx, Input>>(
  name: string,
  options: OperationOptions<Tx, Input>,
  phases: Phases & Checked<Phases>,
): Operation<Tx, Input> {
  const graph: Graph<Tx, Input> = phases
  const nodes = Object.entries(graph).map(([point, { work }]) => [point, work] as const)
  return new Operation(name, options, new Map(nodes))
}

/** What a worker knows of a record that nobody finished within its retention. */
export type AbandonedRecord = Pick<TakenRecord, 'id' | 'caller' | 'key' | 'recoveryPoint' | 'input'>

/** An operation as workers see it, whatever its input and its transactions are. */
export interface Completable {
  readonly name: string
  readonly reprise: Reprise<unknown>
  /** What other nodes know this version by. */
  readonly edition: Edition
  /** When the completer takes the work up, and when it gives up. */
  readonly patience: CompleterPatience
  /**
   * Takes up what a worker has taken.
   *
   * @throws what a phase throws, after it was noted in the history
   */
  resume(taken: TakenRecord): Promise<RunResult>
  /** Tells the app of a record that nobody finished within its retention. */
  abandon(record: AbandonedRecord): Promise<void>
}

/** What {@link operation} makes. */
export class Operation<Tx, Input> implements Servable, Completable {
  readonly name: string
  readonly reprise: Reprise<unknown>
  readonly isSensitive: boolean
  readonly edition: Edition
  readonly patience: CompleterPatience
  readonly #options: OperationOptions<Tx, Input>
  readonly #blueprint: Blueprint
  readonly #context: Context<Tx>
  readonly #work: Work<Tx>

  constructor(name: string, options: OperationOptions<Tx, Input>, nodes: Blueprint['nodes']) {
    if (name === '') throw invalid('an operation needs a name')
    const { context } = partsOf(options.reprise)
    const own = Object.fromEntries(
      Object.entries(options).filter(([option, value]) => {
        return Object.hasOwn(OWN_RUN_OPTIONS, option) && value !== undefined
      }),
    )
    this.name = name
    this.isSensitive = options.sensitive === true
    this.#options = options
    this.#context = context
    this.#work = workOf(context)
    // Whatever its transactions are, adapters do not look at them.
    this.reprise = (options.reprise as Reprise<unknown>).with({
      retentionMs: RETENTION_MS,
      ...own,
      ...(this.isSensitive ? { bodyBytesMax: 0 } : {}),
    })
    this.patience = resolvePatience(options.completer)
    const version = whole('version', options.version ?? 1, 1)
    const graph = graphOf(nodes)
    const otherVersionMs = options.otherVersionMs ?? OTHER_VERSION_MS
    this.edition = {
      ...{ operation: name, version: `${version}-${graph}` },
      otherVersionMs: whole('otherVersionMs', otherVersionMs, 0),
    }
    this.#blueprint = {
      ...{ name, nodes, version, graph, edition: this.edition, migrate: options.migrate },
      isolation: options.isolation ?? 'serializable',
      attemptsMax: whole('transactionAttemptsMax', options.transactionAttemptsMax ?? 10, 1),
      retryAfterMs: whole('retryAfterMs', options.retryAfterMs ?? 5000, 0),
    }
  }

  /**
   * Runs the operation without HTTP.
   *
   * @throws RepriseError `idempotency-input-invalid`; what a phase throws
   */
  async run({ input, ...request }: OperationRequest): Promise<RunResult> {
    const body = input === undefined ? null : digestValue(input)
    const fingerprints = fingerprintRequest({ method: '', path: this.name, body })
    const result = await this.serve({ ...request, fingerprints }, () => input)
    if (result.outcome !== 'rejected') return result
    throw new RepriseError(INPUT_INVALID, result.occurrence.detail)
  }

  read(body: ReadBody, options: CanonicalOptions): unknown {
    return valueOfBody(body, options)
  }

  /**
   * The schema holds for fresh requests. A request that was taken before the schema was changed is
   * answered, or goes on with the input that was stored: a schema that refuses the input, throws or
   * takes long is asked only where no record stands for the request.
   */
  async serve(
    request: Omit<RunRequest, 'operation'>,
    read: () => unknown,
  ): Promise<RunResult | Rejected> {
    const { random, clock } = this.#context
    const named = { ...request, operation: this.name }
    const tokens = { owner: random.token(), startedAt: clock.now() }
    const job = createJob(named, this.reprise.options, tokens)
    let verdict = await this.#judge(read)
    if ('later' in verdict) {
      const known = await this.#takeUp(job)
      if (known !== undefined) return known
      verdict = await verdict.later
    }
    if ('value' in verdict) return this.#run(job, verdict.value)
    // Looked for after the verdict: whoever is refused is told so of a key that was free.
    const known = await this.#takeUp(job)
    if (known !== undefined) return known
    if ('thrown' in verdict) throw verdict.thrown
    return rejected(verdict)
  }

  async resume(taken: TakenRecord): Promise<RunResult> {
    const drive = this.#drive({ job: this.#jobOf(taken), claim: taken.claim, actor: 'completer' })
    const { recoveryPoint, state, input } = taken
    const start = { outcome: 'resume', recoveryPoint, state, input } as const
    // A version that does not understand the record does not judge how often it was tried either.
    if (taken.tries > this.patience.triesMax && (await drive.understands(start))) {
      return drive.bury('attempts_exhausted', await this.#lastError(taken.id))
    }
    return drive.run(start)
  }

  async abandon({ id, caller, key, recoveryPoint, input }: AbandonedRecord): Promise<void> {
    const { onAbandon } = this.#options
    if (onAbandon === undefined || input === null) return
    const stored = await new Envelope(this.reprise.options, id).openInput(input)
    // It was stored as the schema made it.
    await onAbandon({ caller, key, point: recoveryPoint, input: stored.input as Input })
  }

  /** Reads and validates the input; what comes later is not waited for. */
  async #judge(
    read: () => unknown,
  ): Promise<Verdict<Input> | { readonly later: Promise<Verdict<Input>> }> {
    try {
      const verdict = validate(this.#options.input, await read())
      return isLater(verdict) ? { later: verdict } : verdict
    } catch (error) {
      return thrown(error)
    }
  }

  /** Runs a request whose input is valid, or takes up what stands for it. */
  #run(job: Job, input: Input): Promise<RunResult> {
    const { random } = this.#context
    const { version, graph, nodes } = this.#blueprint
    const first = nodes.get(STARTED)
    const care = first === undefined ? null : careOf(first)
    const envelope = new Envelope(job.options, job.identity.id)
    const sealed = () => envelope.sealInput({ token: random.token(), version, graph, care, input })
    // A call that leaves no notes comes before any commit.
    const own = { input: sealed, writesFirst: care !== 'unnoted' }
    return settle(this.#context, job, () => this.#start({ ...job, ...own }))
  }

  /**
   * Takes up what stands for a request whose input is not known to be valid. Its claim makes no
   * record, so there is never one that a worker would drive on with that input. `undefined` when
   * nothing stands for it.
   */
  async #takeUp(job: Job): Promise<RunResult | undefined> {
    const context = this.#context
    const { store } = context
    const found = await context.call(job, () => {
      return context.whenReady(() => store.find(job.identity.id))
    })
    if (found === undefined || found.status === 'expired') return undefined
    // A flight of its own: requests whose input is valid must not be refused with it.
    const request = `${job.request} unchecked`
    const own = { ...job, request, quota: NO_KEYS, input: noInput }
    const result = await settle(context, own, () => this.#start(own))
    return result.outcome === 'over_quota' ? undefined : result
  }

  /** Begins a flight: claims, and runs the phases if the claim is granted. */
  #start(job: Job): Flight {
    const context = this.#context
    const claiming = takeClaim(context, job)
    const ended = claiming.then((result) => {
      if (!isGranted(result)) return context.refused(job, result)
      if (result.abandoned) context.emit('abandoned', job)
      return this.#drive({ job, claim: result.claim, actor: 'request', granted: result }).run(
        result,
      )
    })
    const startedAt = context.clock.now()
    return new BegunFlight({ job, begun: claiming, isGranted, ended, startedAt })
  }

  #drive({ job, claim, actor, granted }: Driving): Drive<Tx> {
    const outcome = granted?.outcome === 'execute' ? 'executed' : 'resumed'
    return new Drive(
      new Passage({
        ...{ context: this.#context, work: this.#work, blueprint: this.#blueprint },
        ...{ job, claim, actor, outcome },
      }),
    )
  }

  #jobOf({ id, caller, key, fingerprint, origin, claim }: TakenRecord): Job {
    const options = this.reprise.options
    return {
      identity: { id, caller, operation: this.name, key },
      request: `${id} ${fingerprint}`,
      ...{ fingerprint, fingerprints: [fingerprint], owner: claim.owner, origin, waitMs: 0 },
      isServed: false,
      // The record is there: no quota is asked about it.
      ...{ retentionMs: options.retentionMs(caller), quota: undefined, options },
      ...{ startedAt: this.#context.clock.now(), trace: {} },
    }
  }

  async #lastError(id: string): Promise<string | null> {
    const history = await this.#work.history(id)
    return history.findLast(({ error }) => error !== null)?.error ?? null
  }
}

/** What a claim brings that makes no record: nobody reads it, and no input would open. */
async function noInput(): Promise<Uint8Array> {
  return new Uint8Array()
}

interface Driving {
  readonly job: Job
  readonly claim: Granted['claim']
  readonly actor: 'request' | 'completer'
  readonly granted?: Granted
}

function workOf<Tx>({ store }: Context<Tx>): Work<Tx> {
  if (store.work !== undefined) return store.work
  throw new RepriseError(
    TRANSACTIONS_UNSUPPORTED,
    `Phases need a store that keeps them with the app's own rows, which ${store.name} does not; use PostgreSQL`,
  )
}
