/**
 * Records in PostgreSQL. Every verb is one statement, and so one round trip.
 *
 * @module
 */

import type { Desk } from '../../engine/desk.ts'
import { type ReplayCaching, replayCaching } from '../../engine/replay-cache.ts'
import type {
  Advance,
  Claim,
  ClaimRequest,
  ClaimResult,
  Finish,
  ListedRecord,
  ListQuery,
  RecordPage,
  ReleaseMode,
  Store,
  StoreStats,
  Unwatch,
} from '../../engine/store.ts'
import type { Transactions } from '../../engine/transactions.ts'
import type { Work } from '../../engine/work.ts'
import { PostgresDesk } from './admin/desk.ts'
import type { Client, Rows, Value } from './client.ts'
import { attempt } from './faults.ts'
import { Grouping } from './groups/grouping.ts'
import {
  claimsValue,
  type Ending,
  endingsValue,
  isClaimGroupable,
  isEndingGroupable,
  toEnds,
  toGrants,
} from './groups/values.ts'
import { checkSchema, migrate } from './migrate.ts'
import { Notices } from './notices.ts'
import type { PostgresSettings } from './options.ts'
import { channelOf, type Queries, queries } from './queries.ts'
import { holder, pack, packAll, toClaimResult, toListedRecord, unpack } from './record.ts'
import { PostgresTransactions } from './transactions.ts'
import { workQueries } from './work/queries.ts'
import { PostgresWork } from './work/work.ts'

/** How many records a page of a filtered list looks at, so that one page stays quick. */
const SCANNED_MAX = 10_000

const UNFINISHED: ReadonlySet<string | undefined> = new Set(['running', 'suspended', 'unknown'])

const FIRST_PAGE: Uint8Array = new Uint8Array()

/** The store over any client library. */
export class PostgresStore<Tx> implements Store<Tx> {
  readonly name = 'postgres'
  readonly caching: ReplayCaching = replayCaching
  readonly transactions: Transactions<Tx>
  readonly work: Work<Tx>
  readonly desk: Desk
  readonly #driver: Client<unknown>
  readonly #settings: PostgresSettings
  readonly #queries: Queries
  readonly #notices: Notices
  readonly #claims: Grouping<ClaimRequest, ClaimResult>
  readonly #ends: Grouping<Ending, boolean>
  #ready: Promise<void> | undefined
  /** Up to where full batches were swept, in milliseconds; `null` once there was no more. */
  #sweptUntil: number | null = null

  /** @param driver - sends what is no part of the app's transactions */
  constructor(client: Client<Tx>, settings: PostgresSettings, driver: Client<unknown> = client) {
    const { schema, clock, listen } = settings
    this.#driver = driver
    this.#settings = settings
    this.#queries = queries(schema)
    this.#claims = new Grouping<ClaimRequest, ClaimResult>({
      ...{ clock, isGroupable: isClaimGroupable, one: (request) => this.#claim(request) },
      many: async (all) => toGrants(await this.#send('claimMany', [claimsValue(all)]), all),
    })
    this.#ends = new Grouping<Ending, boolean>({
      ...{ clock, isGroupable: isEndingGroupable, one: (ending) => this.#finish(ending) },
      many: async (all) => toEnds(await this.#send('finishMany', [endingsValue(all)])),
    })
    const { wait } = this.#queries
    this.#notices = new Notices({ client, channel: channelOf(schema), wait, clock, listen })
    const wake = (id: string) => this.#notices.wake(id)
    const parts = { client, schema, wake, notices: this.#notices }
    const work = workQueries(schema)
    this.work = new PostgresWork({ ...parts, queries: work })
    const { counts } = this.work
    this.desk = new PostgresDesk({
      ...{ client: driver, schema, work, counts, notices: this.#notices },
    })
    const statements = { ...this.#queries, stage: work.stage }
    this.transactions = new PostgresTransactions({ ...parts, queries: statements })
  }

  ready(): Promise<void> {
    const { schema, migrate: isMigrating } = this.#settings
    const prepare = isMigrating ? migrate : checkSchema
    this.#ready ??= prepare(this.#driver, schema).catch((error: unknown) => {
      this.#ready = undefined
      throw error
    })
    return this.#ready
  }

  claim(request: ClaimRequest): Promise<ClaimResult> {
    return this.#claims.ask(request)
  }

  async #claim(request: ClaimRequest): Promise<ClaimResult> {
    const { id, caller, operation, key, fingerprint, owner, origin, quota } = request
    const [row] = await this.#send('claim', [
      ...[pack(id), caller, operation, key, pack(fingerprint)],
      ...[packAll(request.fingerprintsAccepted), pack(owner), request.leaseMs],
      ...[request.retentionMs, request.recoveryPoint, request.takesUnknown, request.input],
      ...[origin.requestId, origin.ip, origin.userAgent],
      ...[quota?.keys ?? null, quota?.perMs ?? null, request.writesFirst === true],
    ])
    return toClaimResult(row, request)
  }

  async renew(claim: Claim, leaseMs: number): Promise<boolean> {
    const rows = await this.#send('renew', [...holder(claim), leaseMs])
    return rows.length === 1
  }

  async advance(claim: Claim, { recoveryPoint, state, leaseMs }: Advance): Promise<boolean> {
    const values = [...holder(claim), leaseMs, recoveryPoint, state]
    const rows = await this.#send('advance', values)
    return rows.length === 1
  }

  async finish(claim: Claim, finish: Finish): Promise<boolean> {
    return this.#waking(claim, await this.#ends.ask({ claim, finish }))
  }

  async #finish({ claim, finish: { response, resource, retentionMs } }: Ending): Promise<boolean> {
    const { status, sealed } = response
    const resourceColumns = [resource?.type ?? null, resource?.id ?? null]
    const values = [...holder(claim), status, sealed, ...resourceColumns, retentionMs]
    const [[isDone] = []] = await this.#send('finish', values)
    return isDone === true
  }

  async release(claim: Claim, mode: ReleaseMode): Promise<boolean> {
    const [[isDone] = []] = await this.#send('release', [...holder(claim), mode === 'forget'])
    return this.#waking(claim, isDone === true)
  }

  async find(id: string): Promise<ListedRecord | undefined> {
    const [row] = await this.#send('find', [pack(id)])
    return row && toListedRecord(row)
  }

  async list({ status, caller, operation, limit, after }: ListQuery): Promise<RecordPage> {
    const filters = [status ?? null, caller ?? null, operation ?? null]
    const isFiltered = filters.some((filter) => filter !== null)
    // One more than asked for tells whether there is a next page.
    const scanned = isFiltered ? Math.max(limit + 1, SCANNED_MAX) : limit + 1
    const rows = await this.#send(UNFINISHED.has(status) ? 'listUnfinished' : 'list', [
      ...[after === undefined ? FIRST_PAGE : pack(after), limit + 1, scanned],
      ...filters,
    ])
    return toPage(rows, limit)
  }

  async sweep(limit: number): Promise<number> {
    const from = this.#sweptUntil
    const swept = await this.#sweep(limit, from)
    if (swept === limit || from === null) return swept
    // What came to lie before that place, or was locked when it was passed.
    return swept + (await this.#sweep(limit - swept, null))
  }

  async stats(): Promise<StoreStats> {
    const [[running, suspended, unknown] = []] = await this.#send('stats', [])
    return { running: Number(running), suspended: Number(suspended), unknown: Number(unknown) }
  }

  watch(id: string, wake: () => void): Promise<Unwatch> {
    return this.#notices.watch(id, wake)
  }

  async close(): Promise<void> {
    this.#notices.close()
  }

  #waking({ id }: Claim, isDone: boolean): boolean {
    if (isDone) this.#notices.wake(id)
    return isDone
  }

  async #sweep(limit: number, from: number | null): Promise<number> {
    const [[count, until] = []] = await this.#send('sweep', [limit, from])
    const swept = Number(count)
    this.#sweptUntil = swept === limit ? Number(until) : null
    return swept
  }

  #send(verb: keyof Queries, values: readonly Value[]): Promise<Rows> {
    return attempt(verb, () => this.#driver.query({ statement: this.#queries[verb], values }))
  }
}

/** Rows are one record each, behind the last id that was looked at; an empty page has no record. */
function toPage(rows: Rows, limit: number): RecordPage {
  const scanned = rows[0]?.[0]
  const records = rows.map(([, ...row]) => row).filter(([id]) => id !== null)
  const page = records.slice(0, limit).map(toListedRecord)
  if (records.length > limit) return { records: page, next: page.at(-1)?.record.id ?? null }
  return { records: page, next: scanned instanceof Uint8Array ? unpack(scanned) : null }
}
