/**
 * Records in Redis, one server or a cluster: each verb is one Lua script on one record.
 *
 * Redis is not where the app's own rows are, so there are no transactions. What Redis forgets, this
 * store forgets; `ready` looks at the settings that decide about that.
 *
 * @module
 */

import type { Quota } from '../../core/quota.ts'
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
import { checkSafety } from './check.ts'
import { CLAIM, CLAIM_IN_QUOTA, COUNT } from './claim-queries.ts'
import {
  type Argument,
  type Connection,
  evaluate,
  type Reply,
  run,
  type Script,
  type ScriptCommand,
  unexpected,
} from './client.ts'
import { compact } from './compact.ts'
import { connectionOf, type RedisClient } from './connect.ts'
import { type RedisStoreOptions, resolveOptions } from './options.ts'
import { ADVANCE, FIND, FINISH, RELEASE, RENEW, SWEEP } from './queries.ts'
import {
  claimFields,
  duration,
  fields,
  KeyNames,
  packClaim,
  packFinish,
  parseClaim,
  parseRecord,
  quotaArguments,
} from './record.ts'
import { decodePosition, encodePosition, type Position, SLICE_KEYS, walk } from './scan.ts'
import { Signals } from './signals.ts'

/** How many pages one sweep looks at; the next sweep goes on from there. */
const SWEEP_PAGES_MAX = 10

/**
 * A store in Redis 6.2 or later, or in Valkey. The client stays the user's own: it is handed in
 * connected, and closed by whoever made it. The first `watch` opens one further connection.
 */
export function redisStore(client: RedisClient, options: RedisStoreOptions = {}): Store {
  return new RedisStore(connectionOf(client), resolveOptions(options))
}

class RedisStore implements Store {
  readonly name = 'redis'
  readonly caching: ReplayCaching = replayCaching
  readonly #connection: Connection
  readonly #options: Required<RedisStoreOptions>
  readonly #names: KeyNames
  readonly #signals: Signals
  #ready: Promise<void> | undefined
  #sweepFrom: Position | undefined

  constructor(connection: Connection, options: Required<RedisStoreOptions>) {
    this.#connection = connection
    this.#options = options
    this.#names = new KeyNames(options.prefix)
    this.#signals = new Signals(connection, this.#names)
  }

  ready(): Promise<void> {
    this.#ready ??= this.#check().catch((error: unknown) => {
      this.#ready = undefined
      throw error
    })
    return this.#ready
  }

  claim(request: ClaimRequest): Promise<ClaimResult> {
    return request.quota === undefined
      ? this.#claim(request, null)
      : this.#claimInQuota(request, request.quota)
  }

  #claim(request: ClaimRequest, quotaSet: string | null): Promise<ClaimResult> {
    const record = this.#names.record(request.id)
    const packed = packClaim(request)
    const more = claimFields(request, quotaSet)
    const command: ScriptCommand =
      more.length === 0
        ? ['evalsha', CLAIM.sha, '1', record, packed]
        : ['evalsha', CLAIM.sha, '1', record, packed, ...more]
    const parse = (reply: Reply) => parseClaim(reply, request)
    return evaluate(this.#connection, { script: CLAIM, command, parse })
  }

  async #claimInQuota(request: ClaimRequest, quota: Quota): Promise<ClaimResult> {
    const record = this.#names.record(request.id)
    const set = this.#names.quota(request.caller)
    const counting = quotaArguments(quota, request.id)
    const reply = await run(this.#connection, CLAIM_IN_QUOTA, {
      keys: this.#connection.isCluster ? [record] : [record, set],
      args: [packClaim(request), ...claimFields(request, set), ...counting],
    })
    if (!isFresh(reply)) return parseClaim(reply, request)

    // The set is on another server. A key that is counted and then not made no longer counts in time.
    const roomInMs = Number(await run(this.#connection, COUNT, { keys: [set], args: counting }))
    if (Number.isNaN(roomInMs)) throw unexpected('a number')
    if (roomInMs > 0) return { outcome: 'over_quota', roomInMs }
    return this.#claim(request, set)
  }

  renew(claim: Claim, leaseMs: number): Promise<boolean> {
    return this.#write(RENEW, claim, [duration(leaseMs)])
  }

  advance(claim: Claim, { recoveryPoint, state, leaseMs }: Advance): Promise<boolean> {
    return this.#write(ADVANCE, claim, [duration(leaseMs), ...fields({ recoveryPoint, state })])
  }

  finish(claim: Claim, finish: Finish): Promise<boolean> {
    const { id } = claim
    const [packed, sealed] = packFinish(claim, finish)
    const record = this.#names.record(id)
    const mark = this.#names.mark(id)
    const command: ScriptCommand =
      sealed === undefined
        ? ['evalsha', FINISH.sha, '2', record, mark, packed]
        : ['evalsha', FINISH.sha, '2', record, mark, packed, sealed]
    return evaluate(this.#connection, { script: FINISH, command, parse: isOne })
  }

  async release(claim: Claim, mode: ReleaseMode): Promise<boolean> {
    const reply = await this.#send(RELEASE, claim, [mode])
    if (!Buffer.isBuffer(reply) || isQueued(reply)) return isOne(reply)
    // What was forgotten no longer counts. If this fails, it does so for as long as the quota says.
    const command = ['zrem', reply, compact(claim.id)]
    await this.#connection.send(String(reply), command).catch(() => {})
    return true
  }

  async find(id: string): Promise<ListedRecord | undefined> {
    return parseRecord(id, await run(this.#connection, FIND, { keys: [this.#names.record(id)] }))
  }

  /** Costs a walk over the keys of the database and one read for each record on the page. */
  async list({ status, caller, operation, limit, after }: ListQuery): Promise<RecordPage> {
    const { pattern } = this.#names
    const from = after === undefined ? undefined : decodePosition(after)
    const query = { pattern, limit, type: typeOf(status) }
    const { keys, next } = await walk(this.#connection, query, from)
    const records = (await this.#read(keys))
      .filter((listed) => status === undefined || listed.status === status)
      .filter(({ record }) => caller === undefined || record.caller === caller)
      .filter(({ record }) => operation === undefined || record.operation === operation)
    return { records, next: next && encodePosition(next) }
  }

  /**
   * Redis drops finished records at their expiry by itself. What is left for this are records that
   * lost their time to live; one call looks at a bounded number of records, in turn.
   */
  async sweep(limit: number): Promise<number> {
    const query = { pattern: this.#names.pattern, limit: SLICE_KEYS, type: 'string' } as const
    let swept = 0
    for (let page = 0; page < SWEEP_PAGES_MAX; page++) {
      const { keys, next } = await walk(this.#connection, query, this.#sweepFrom)
      swept += await this.#sweepKeys(keys, limit - swept)
      // There may be more on this page.
      if (swept >= limit) break
      this.#sweepFrom = next ?? undefined
      if (next === null) break
    }
    return swept
  }

  /** Costs a walk over the keys of the database and one read for each unfinished record. */
  async stats(): Promise<StoreStats> {
    const stats = { running: 0, suspended: 0, unknown: 0 }
    const query = { pattern: this.#names.pattern, limit: SLICE_KEYS, type: 'hash' } as const
    const seen = new Set<string>()
    let from: Position | undefined
    do {
      const { keys, next } = await walk(this.#connection, query, from)
      const unseen = keys.filter((key) => !seen.has(key))
      for (const key of unseen) seen.add(key)
      for (const { status } of await this.#read(unseen)) {
        if (status === 'running' || status === 'suspended' || status === 'unknown') stats[status]++
      }
      from = next ?? undefined
    } while (from !== undefined)
    return stats
  }

  watch(id: string, wake: () => void): Promise<Unwatch> {
    return this.#signals.watch(id, wake)
  }

  close(): Promise<void> {
    return this.#signals.close()
  }

  /** The first command also waits until a cluster client knows its servers. */
  async #check(): Promise<void> {
    await run(this.#connection, FIND, { keys: [this.#names.record('ready')] })
    await checkSafety(this.#connection, this.#options.onUnsafe)
  }

  async #write(script: Script, claim: Claim, args: readonly Argument[]): Promise<boolean> {
    return isOne(await this.#send(script, claim, args))
  }

  #send(script: Script, claim: Claim, args: readonly Argument[]): Promise<Reply> {
    return run(this.#connection, script, {
      keys: [this.#names.record(claim.id), this.#names.mark(claim.id)],
      args: [compact(claim.owner), String(claim.fence), ...args],
    })
  }

  async #read(keys: readonly string[]): Promise<readonly ListedRecord[]> {
    const found = await Promise.all(keys.map((key) => this.find(this.#names.idOf(key))))
    return found.filter((listed) => listed !== undefined)
  }

  /** Never more at once than may still be deleted. */
  async #sweepKeys(keys: readonly string[], limit: number): Promise<number> {
    let swept = 0
    for (let at = 0; at < keys.length && swept < limit; ) {
      const batch = keys.slice(at, at + limit - swept)
      at += batch.length
      const replies = await Promise.all(
        batch.map((key) => run(this.#connection, SWEEP, { keys: [key] })),
      )
      swept += replies.filter((reply) => Number(reply) === 1).length
    }
    return swept
  }
}

/** Whether a write was carried out. */
function isOne(reply: Reply): boolean {
  const done = Number(reply)
  if (done !== 0 && done !== 1) throw unexpected('0 or 1')
  return done === 1
}

/** Whether Redis has put the command into a transaction of the app's. */
function isQueued(reply: Buffer): boolean {
  return String(reply) === 'QUEUED'
}

/** Whether a record would be made, and the key is to be counted before. */
function isFresh(reply: Reply): boolean {
  return Array.isArray(reply) && String(reply[0]) === 'fresh'
}

/** What Redis type a record of that standing has; an expired one may have either. */
function typeOf(status: ListQuery['status']): 'hash' | 'string' | undefined {
  if (status === undefined || status === 'expired') return undefined
  return status === 'finished' ? 'string' : 'hash'
}
