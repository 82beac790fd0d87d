/**
 * The memory store with every part replaceable, so that one part at a time can be broken.
 *
 * @module
 */

import { type Claimant, type Decision, decide, isFresh } from '../../src/core/decide.ts'
import { type Quota, roomInMs } from '../../src/core/quota.ts'
import { isExpired, isFinished, type KeyRecord, statusOf } from '../../src/core/record.ts'
import * as transition from '../../src/core/transition.ts'
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
} from '../../src/engine/store.ts'
import { granted, refused } from '../../src/stores/answer.ts'
import { Watchers } from '../../src/stores/watchers.ts'
import type { FakeClock } from '../../src/testing/fake-clock.ts'

/** What a quota goes by. */
type QuotaRequest = Pick<ClaimRequest, 'id' | 'caller' | 'quota'>

/** What can be broken. */
export interface Parts {
  readonly decide: typeof decide
  readonly granted: typeof granted
  readonly refused: typeof refused
  readonly statusOf: typeof statusOf
  readonly claimed: typeof transition.claimed
  readonly renewed: typeof transition.renewed
  readonly advanced: typeof transition.advanced
  readonly finished: typeof transition.finished
  readonly suspended: typeof transition.suspended
  readonly finishedBy: typeof transition.finishedBy
  readonly holds: (record: KeyRecord, claim: Claim, now: number) => boolean
  /** Whether a verb reads and writes in one go. */
  readonly atomic: boolean
  /** Under what a record is kept. */
  readonly slot: (id: string) => string
  /** The claimant as the decision sees it. */
  readonly claimant: (request: ClaimRequest) => Claimant
  /** What a refused claim leaves. */
  readonly afterRefusal: (record: KeyRecord, request: ClaimRequest, outcome: string) => KeyRecord
  /** What is written, given what the model would write. */
  readonly written: (record: KeyRecord) => KeyRecord
  readonly sweepable: (record: KeyRecord, now: number) => boolean
  /** Whether a forgotten record is removed. */
  readonly forgets: boolean
  readonly wakes: (change: 'finish' | ReleaseMode) => boolean
  /** Whether a granted claim is held to its quota and counted. */
  readonly isCounted: (decision: Decision) => boolean
  /** Whether a record that was counted counts for the caller. */
  readonly counts: (record: KeyRecord | undefined, caller: string) => boolean
  /** The quota as the claim is held to it. */
  readonly quota: (request: QuotaRequest) => Quota | undefined
  readonly roomInMs: typeof roomInMs
  /** Whether what is refused for its quota leaves a record. */
  readonly keepsRefused: boolean
}

const WHOLE: Parts = {
  ...{ ...transition, decide, granted, refused, statusOf },
  atomic: true,
  slot: (id) => id,
  claimant: (request) => ({ ...request, fingerprints: request.fingerprintsAccepted }),
  afterRefusal: (record) => record,
  written: (record) => record,
  sweepable: (record, now) => isFinished(record) && isExpired(record, now),
  forgets: true,
  wakes: () => true,
  isCounted: isFresh,
  counts: (record, caller) => record?.caller === caller,
  quota: ({ quota }) => quota,
  roomInMs,
  keepsRefused: false,
}

/** A store that is as broken as its parts. */
export class PliableStore implements Store {
  readonly name = 'pliable'
  readonly records: Map<string, KeyRecord> = new Map()
  readonly watchers: Watchers = new Watchers()
  /** Who was counted, and until when. */
  readonly counted: { readonly id: string; readonly until: number }[] = []
  readonly clock: FakeClock
  readonly parts: Parts

  constructor(clock: FakeClock, parts: Partial<Parts> = {}) {
    this.clock = clock
    this.parts = { ...WHOLE, ...parts }
  }

  async ready(): Promise<void> {}

  async claim(request: ClaimRequest): Promise<ClaimResult> {
    const { parts } = this
    const now = this.clock.now()
    const record = this.#get(request.id)
    const decision = parts.decide(record, parts.claimant(request), now)
    if (!parts.atomic) await Promise.resolve()
    if (!('fence' in decision)) {
      if (record !== undefined) this.#set(parts.afterRefusal(record, request, decision.kind))
      return parts.refused(decision.kind, record, now)
    }
    const next = parts.claimed(record, { fresh: request, grant: decision, now })
    const over = parts.isCounted(decision) ? this.count(request) : undefined
    if (over === undefined || parts.keepsRefused) this.#set(next)
    if (over !== undefined) return over
    return parts.granted(decision, parts.written(next))
  }

  /** Counts a key, unless it is one too many. */
  count(request: QuotaRequest): OverQuota | undefined {
    const over = this.overQuota(request)
    const quota = this.parts.quota(request)
    if (over === undefined && quota !== undefined) {
      this.counted.push({ id: request.id, until: this.clock.now() + quota.perMs })
    }
    return over
  }

  /** Whether a fresh key would be one too many. */
  overQuota({ caller, ...request }: QuotaRequest): OverQuota | undefined {
    const { parts } = this
    const quota = parts.quota({ ...request, caller })
    if (quota === undefined) return undefined
    const now = this.clock.now()
    const counted = this.counted.filter(({ id }) => parts.counts(this.#get(id), caller))
    const ms = parts.roomInMs(
      counted.map(({ until }) => until),
      quota,
      now,
    )
    return ms > 0 ? { outcome: 'over_quota', roomInMs: ms } : undefined
  }

  async renew(claim: Claim, leaseMs: number): Promise<boolean> {
    return this.#write(claim, (record, now) => this.parts.renewed(record, leaseMs, now))
  }

  async advance(claim: Claim, step: Advance): Promise<boolean> {
    return this.#write(claim, (record, now) => this.parts.advanced(record, step, now))
  }

  async finish(claim: Claim, finish: Finish): Promise<boolean> {
    const record = this.#get(claim.id)
    if (this.parts.finishedBy(record, claim)) return true
    if (!this.parts.atomic) await Promise.resolve()
    const written = this.#write(claim, (found, now) => this.parts.finished(found, finish, now))
    if (written && this.parts.wakes('finish')) this.watchers.wake(claim.id)
    return written
  }

  async release(claim: Claim, mode: ReleaseMode): Promise<boolean> {
    if (!this.#write(claim, this.parts.suspended)) return false
    if (mode === 'forget' && this.parts.forgets) this.records.delete(this.parts.slot(claim.id))
    if (this.parts.wakes(mode)) this.watchers.wake(claim.id)
    return true
  }

  async find(id: string): Promise<ListedRecord | undefined> {
    const record = this.#get(id)
    return record && this.listed(record)
  }

  async list(query: ListQuery): Promise<RecordPage> {
    const { after, limit } = query
    const ids = [...this.records.keys()].sort().filter((id) => after === undefined || id > after)
    const page = ids.slice(0, limit)
    const records = page.flatMap((id) => this.records.get(id) ?? []).map((one) => this.listed(one))
    const next = ids.length > limit ? (page.at(-1) ?? null) : null
    return { records: records.filter((listed) => matches(listed, query)), next }
  }

  async sweep(limit: number): Promise<number> {
    const swept = [...this.records.values()]
      .filter((record) => this.parts.sweepable(record, this.clock.now()))
      .slice(0, limit)
    if (!this.parts.atomic) await Promise.resolve()
    for (const { id } of swept) this.records.delete(this.parts.slot(id))
    return swept.length
  }

  async stats(): Promise<StoreStats> {
    const all = [...this.records.values()].map((record) => this.listed(record).status)
    const count = (wanted: string) => all.filter((status) => status === wanted).length
    return { running: count('running'), suspended: count('suspended'), unknown: count('unknown') }
  }

  async watch(id: string, wake: () => void): Promise<Unwatch> {
    return this.watchers.add(id, wake)
  }

  async close(): Promise<void> {}

  /** The record with its standing. */
  listed(record: KeyRecord): ListedRecord {
    return { record, status: this.parts.statusOf(record, this.clock.now()) }
  }

  #get(id: string): KeyRecord | undefined {
    return this.records.get(this.parts.slot(id))
  }

  #set(record: KeyRecord): void {
    this.records.set(this.parts.slot(record.id), this.parts.written(record))
  }

  #write(claim: Claim, move: (record: KeyRecord, now: number) => KeyRecord): boolean {
    const record = this.#get(claim.id)
    const now = this.clock.now()
    if (record === undefined || !this.parts.holds(record, claim, now)) return false
    this.#set(move(record, now))
    return true
  }
}

function matches({ record, status }: ListedRecord, query: ListQuery): boolean {
  return (
    (query.status === undefined || query.status === status) &&
    (query.caller === undefined || query.caller === record.caller) &&
    (query.operation === undefined || query.operation === record.operation)
  )
}
