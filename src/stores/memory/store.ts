/**
 * Records in the memory of one process: for tests, and as the model that other stores equal.
 *
 * It forgets everything when the process ends, so it protects against nothing but duplicates in
 * flight. Every verb is `core/decide.ts` or `core/transition.ts` applied to a map.
 *
 * @module
 */

import { decide, isFresh } from '../../core/decide.ts'
import { checkNames, type Names } from '../../core/known-options.ts'
import type { Quota } from '../../core/quota.ts'
import { isExpired, isFinished, type KeyRecord, statusOf } from '../../core/record.ts'
import {
  advanced,
  claimed,
  finished,
  finishedBy,
  holds,
  renewed,
  suspended,
} from '../../core/transition.ts'
import { type Clock, systemClock } from '../../engine/clock.ts'
import type { Desk } from '../../engine/desk.ts'
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
import { granted, overQuota, refused } from '../answer.ts'
import { Watchers } from '../watchers.ts'

/** Settings of {@link memoryStore}. */
export interface MemoryStoreOptions {
  /**
   * The clock that leases and retention go by.
   *
   * @default the process's monotonic clock
   */
  readonly clock?: StoreClock
  /**
   * The operator's view, for `createAdmin`: `memoryDesk` of `reprise/memory`.
   *
   * @default none
   */
  readonly desk?: (parts: MemoryDeskParts) => Desk
}

/** What the operator's view of a memory store is made from. */
export interface MemoryDeskParts {
  readonly records: Map<string, KeyRecord>
  readonly watchers: Watchers
  /** The clock that leases and retention go by. */
  readonly clock: Pick<Clock, 'now'>
  /** Milliseconds since 1970, less what that clock says. */
  readonly sinceMs: number
}

/** What a store needs of a clock: the time that it goes by and, for operators, the time of day. */
type StoreClock = Pick<Clock, 'now'> & Partial<Pick<Clock, 'unix'>>

const OPTIONS: Names<MemoryStoreOptions> = { clock: true, desk: true }

/** A store in this process's memory. */
export function memoryStore(options: MemoryStoreOptions = {}): Store {
  checkNames('memoryStore()', options, OPTIONS)
  return new MemoryStore(options.clock ?? systemClock, options.desk)
}

class MemoryStore implements Store {
  readonly name = 'memory'
  readonly desk?: Desk
  readonly #clock: Pick<Clock, 'now'>
  readonly #records = new Map<string, KeyRecord>()
  readonly #watchers = new Watchers()
  /** Until when each record counts that was made under a quota. */
  readonly #counted = new Map<string, number>()

  constructor(clock: StoreClock, desk: MemoryStoreOptions['desk']) {
    this.#clock = clock
    if (desk === undefined) return
    const sinceMs = (clock.unix?.() ?? systemClock.unix()) - clock.now()
    const [records, watchers] = [this.#records, this.#watchers]
    this.desk = desk({ clock, sinceMs, records, watchers })
  }

  async ready(): Promise<void> {}

  async claim(request: ClaimRequest): Promise<ClaimResult> {
    const now = this.#clock.now()
    const record = this.#records.get(request.id)
    const { owner, takesUnknown, fingerprintsAccepted: fingerprints } = request
    const decision = decide(record, { owner, takesUnknown, fingerprints }, now)
    if (!('fence' in decision)) return refused(decision.kind, record, now)
    if (request.quota && isFresh(decision)) {
      const over = this.#overQuota(request.caller, request.quota, now)
      if (over) return over
      this.#counted.set(request.id, now + request.quota.perMs)
    }

    const next = claimed(record, { fresh: request, grant: decision, now })
    this.#records.set(next.id, next)
    return granted(decision, next)
  }

  async renew(claim: Claim, leaseMs: number): Promise<boolean> {
    return this.#write(claim, (record, now) => renewed(record, leaseMs, now))
  }

  async advance(claim: Claim, step: Advance): Promise<boolean> {
    return this.#write(claim, (record, now) => advanced(record, step, now))
  }

  async finish(claim: Claim, finish: Finish): Promise<boolean> {
    if (finishedBy(this.#records.get(claim.id), claim)) return true
    const written = this.#write(claim, (record, now) => finished(record, finish, now))
    if (written) this.#watchers.wake(claim.id)
    return written
  }

  async release(claim: Claim, mode: ReleaseMode): Promise<boolean> {
    if (!holds(this.#records.get(claim.id), claim)) return false
    if (mode === 'forget') this.#records.delete(claim.id)
    else this.#write(claim, suspended)
    this.#watchers.wake(claim.id)
    return true
  }

  async find(id: string): Promise<ListedRecord | undefined> {
    const record = this.#records.get(id)
    return record && { record, status: statusOf(record, this.#clock.now()) }
  }

  async list({ status, caller, operation, limit, after }: ListQuery): Promise<RecordPage> {
    const ids = [...this.#records.keys()].sort().filter((id) => after === undefined || id > after)
    const page = ids.slice(0, limit)
    const records = page
      .flatMap((id) => this.#listed(id))
      .filter(
        (listed) =>
          (status ?? listed.status) === listed.status &&
          (caller ?? listed.record.caller) === listed.record.caller &&
          (operation ?? listed.record.operation) === listed.record.operation,
      )
    return { records, next: ids.length > limit ? (page.at(-1) ?? null) : null }
  }

  async sweep(limit: number): Promise<number> {
    const now = this.#clock.now()
    let swept = 0
    for (const [id, record] of this.#records) {
      if (swept === limit) break
      if (!isFinished(record) || !isExpired(record, now)) continue
      this.#records.delete(id)
      swept++
    }
    return swept
  }

  async stats(): Promise<StoreStats> {
    const stats = { running: 0, suspended: 0, unknown: 0 }
    const now = this.#clock.now()
    for (const record of this.#records.values()) {
      const status = statusOf(record, now)
      if (status === 'running' || status === 'suspended' || status === 'unknown') stats[status]++
    }
    return stats
  }

  async watch(id: string, wake: () => void): Promise<Unwatch> {
    return this.#watchers.add(id, wake)
  }

  async close(): Promise<void> {
    this.#records.clear()
  }

  /** Looks through all that count, which is fine for a store of one process. */
  #overQuota(caller: string, quota: Quota, now: number): OverQuota | undefined {
    const untils: number[] = []
    for (const [id, until] of this.#counted) {
      const record = this.#records.get(id)
      if (record === undefined || until <= now) this.#counted.delete(id)
      else if (record.caller === caller) untils.push(until)
    }
    return overQuota(untils, quota, now)
  }

  #write(claim: Claim, move: (record: KeyRecord, now: number) => KeyRecord): boolean {
    const record = this.#records.get(claim.id)
    if (!holds(record, claim)) return false
    this.#records.set(claim.id, move(record, this.#clock.now()))
    return true
  }

  #listed(id: string): ListedRecord[] {
    const record = this.#records.get(id)
    return record === undefined ? [] : [{ record, status: statusOf(record, this.#clock.now()) }]
  }
}
