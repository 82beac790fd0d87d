/**
 * Records in an SQLite file, for one node.
 *
 * SQLite runs in this process and its calls do not yield, so every verb is `core/decide.ts` or
 * `core/transition.ts` applied to a row inside a write transaction, with the database's time.
 *
 * @module
 */

import { type Decision, decide, isFresh } from '../../core/decide.ts'
import { type KeyRecord, type RecordStatus, statusOf } from '../../core/record.ts'
import {
  advanced,
  claimed,
  finished,
  finishedBy,
  holds,
  renewed,
  suspended,
} from '../../core/transition.ts'
import { pause } from '../../engine/bounded.ts'
import { type ReplayCaching, replayCaching } from '../../engine/replay-cache.ts'
import type {
  Advance,
  Claim,
  ClaimRequest,
  ClaimResult,
  Finish,
  ListedRecord,
  ListQuery,
  OverQuota,
  RecordPage,
  ReleaseMode,
  Store,
  StoreStats,
  Unwatch,
} from '../../engine/store.ts'
import type { Transactions } from '../../engine/transactions.ts'
import { granted, refused } from '../answer.ts'
import { secure } from './check.ts'
import type { SqliteDatabase } from './client.ts'
import { Connection } from './connection.ts'
import { migrate, migrations } from './migrate.ts'
import type { SqliteSettings } from './options.ts'
import { Patience } from './patience.ts'
import { type Queries, queries } from './queries.ts'
import type { Candidate, Sight, Table } from './table.ts'
import { SqliteTransactions } from './transactions.ts'

/** Rows that one page of a listing looks through at least: about a millisecond. */
const SCAN_MIN = 1000
/** Rows that one transaction of a sweep deletes at most, so that it holds nobody up for long. */
const SWEEP_BATCH_MAX = 500

const WARNING = { type: 'RepriseWarning', code: 'REPRISE_SCHEMA_NEWER' }

/** A store in an SQLite database. */
export interface SqliteStore<Tx extends SqliteDatabase> extends Store<Tx> {
  readonly transactions: Transactions<Tx>
  /** Brings the schema up to date, whatever the option `migrate` says. */
  migrate(): Promise<void>
}

/** See {@link SqliteStore}. */
export class SqliteRecords<Tx extends SqliteDatabase> implements SqliteStore<Tx> {
  readonly name = 'sqlite'
  readonly caching: ReplayCaching = replayCaching
  readonly transactions: Transactions<Tx>
  readonly #connection: Connection
  readonly #settings: SqliteSettings
  readonly #queries: Queries
  readonly #table: Table
  #ready: Promise<void> | undefined

  constructor(database: Tx, settings: SqliteSettings) {
    this.#connection = Connection.of(database)
    this.#settings = settings
    this.#queries = queries(settings.prefix)
    this.#table = this.#connection.table(this.#queries)
    this.transactions = new SqliteTransactions(database, { settings, queries: this.#queries })
  }

  ready(): Promise<void> {
    this.#ready ??= this.#prepare(this.#settings.migrate ? 'apply' : 'demand').catch((error) => {
      this.#ready = undefined
      throw error
    })
    return this.#ready
  }

  migrate(): Promise<void> {
    return this.#prepare('apply')
  }

  async claim(request: ClaimRequest): Promise<ClaimResult> {
    const claimant = { ...request, fingerprints: request.fingerprintsAccepted }
    const judge = ({ record, now }: Sight) => decide(record, claimant, now)

    // Most claims that are refused are replays: they need no write lock.
    const seen = this.#connection.peek(() => this.#table.look(request.id))
    const first = seen && judge(seen)
    if (first && !('fence' in first)) return refused(first.kind, seen.record, seen.now)
    const full = first && this.#connection.peek(() => this.#overQuota(request, first))
    if (full) return full

    return this.#write(() => {
      const sight = this.#table.look(request.id)
      const { record, now } = sight
      const decision = judge(sight)
      if (!('fence' in decision)) return refused(decision.kind, record, now)
      const over = this.#overQuota(request, decision)
      if (over) return over
      const next = claimed(record, { fresh: request, grant: decision, now })
      this.#table.put(next)
      if (isFresh(decision)) this.#table.count(next.id, request.quota)
      return granted(decision, next)
    })
  }

  async renew(claim: Claim, leaseMs: number): Promise<boolean> {
    return this.#move(claim, (record, now) => renewed(record, leaseMs, now))
  }

  async advance(claim: Claim, step: Advance): Promise<boolean> {
    return this.#move(claim, (record, now) => advanced(record, step, now))
  }

  async finish(claim: Claim, finish: Finish): Promise<boolean> {
    const written = await this.#move(claim, (record, now) => finished(record, finish, now))
    if (written) this.#connection.watchers.wake(claim.id)
    return written || finishedBy((await this.#read(() => this.#table.look(claim.id))).record, claim)
  }

  async release(claim: Claim, mode: ReleaseMode): Promise<boolean> {
    const move = mode === 'forget' ? () => undefined : suspended
    const written = await this.#move(claim, move)
    if (written) this.#connection.watchers.wake(claim.id)
    return written
  }

  async find(id: string): Promise<ListedRecord | undefined> {
    const [listed] = await this.#read(() => this.#listed(id))
    return listed
  }

  async list(query: ListQuery): Promise<RecordPage> {
    const { status, limit, after = '' } = query
    const window = Math.max(limit, SCAN_MIN)
    const scope = isUnfinished(status) ? 'unfinished' : 'all'
    return this.#read(() => {
      const scanned = this.#table.scan(scope, after, window)
      const matching = scanned.filter((candidate) => matches(candidate, query))
      const page = matching.slice(0, limit)
      const last = matching.length > limit ? page.at(-1) : scanned.at(-1)
      const isEnd = matching.length <= limit && scanned.length < window
      return {
        records: page.flatMap(({ id }) => this.#listed(id)),
        next: isEnd ? null : (last?.id ?? null),
      }
    })
  }

  async sweep(limit: number): Promise<number> {
    let swept = 0
    while (swept < limit) {
      const batch = Math.min(limit - swept, SWEEP_BATCH_MAX)
      const deleted = await this.#write(() => this.#table.sweep(batch))
      swept += deleted
      if (deleted < batch) break
      await pause(this.#settings.clock, 0)
    }
    return swept
  }

  async stats(): Promise<StoreStats> {
    return this.#read(() => this.#table.stats())
  }

  async watch(id: string, wake: () => void): Promise<Unwatch> {
    return this.#connection.watchers.add(id, wake)
  }

  async close(): Promise<void> {}

  async #prepare(mode: 'apply' | 'demand'): Promise<void> {
    const settings = this.#settings
    await secure(this.#connection, settings, new Patience(settings))
    const request = { queries: this.#queries, known: migrations(settings.prefix), mode }
    const warning = await migrate(this.#connection, request, new Patience(settings))
    if (warning !== null) process.emitWarning(warning, WARNING)
  }

  /** Writes what `move` makes of the record, or deletes it for `undefined`, if the claim holds. */
  #move(
    claim: Claim,
    move: (record: KeyRecord, now: number) => KeyRecord | undefined,
  ): Promise<boolean> {
    return this.#write(() => {
      const { record, now } = this.#table.look(claim.id)
      if (!holds(record, claim)) return false
      const next = move(record, now)
      if (next === undefined) this.#table.remove(claim.id)
      else this.#table.put(next)
      return true
    })
  }

  #overQuota({ caller, quota }: ClaimRequest, decision: Decision): OverQuota | undefined {
    return quota && isFresh(decision) ? this.#table.overQuota(caller, quota) : undefined
  }

  #listed(id: string): ListedRecord[] {
    const { record, now } = this.#table.look(id)
    return record === undefined ? [] : [{ record, status: statusOf(record, now) }]
  }

  #read<T>(work: () => T): Promise<T> {
    return this.#connection.read(new Patience(this.#settings), work)
  }

  #write<T>(work: () => T): Promise<T> {
    return this.#connection.write(new Patience(this.#settings), work)
  }
}

/** Whether only unfinished records can have the status; expired ones can be of either kind. */
function isUnfinished(status: RecordStatus | undefined): boolean {
  return status === 'running' || status === 'suspended' || status === 'unknown'
}

function matches(candidate: Candidate, { status, caller, operation }: ListQuery): boolean {
  return (
    (status === undefined || candidate.status === status) &&
    (caller === undefined || candidate.caller === caller) &&
    (operation === undefined || candidate.operation === operation)
  )
}
