/**
 * What is known of every making of a record, and what must hold as it changes: the fence grows,
 * recovery points go forward, what is finished stays as it is until its time is over, and nothing
 * unfinished goes in silence.
 *
 * @module
 */

import type { Quota } from '../../src/core/quota.ts'
import type { Change, RecordRow, Tables } from './database/tables.ts'
import { tokenOf } from './ledger.ts'
import type { Plan } from './plan.ts'
import type { Outside } from './provider.ts'

/** What is known of one making of a record. */
export interface Making {
  readonly id: string
  readonly made: number
  readonly createdAt: number
  /** When its row was there. */
  readonly madeAt: number
  /** Since when it has stood without a moment in which it counted as absent. */
  since: number
  /** Until when it stands, as far as it is known. */
  expiresAt: number
  fence: number
  point: number
  /** When its retention was over, where a worker has taken it to bury it. */
  abandonedAt: number | undefined
  answer: string | undefined
  /** By whom: only then a person said what is not so. */
  settledBy: string | undefined
  /** Of the record, where it has one: the keys of its calls derive from it. */
  readonly token: string
  /** When it was made, by a clock that nobody sets. */
  readonly madeAfter: number
  /** Which version of the operation has written its state. */
  writer: number
  /** When, by a clock that nobody sets. */
  writtenAfter: number
  /** Whether it was past its retention when it went: the clock may be set back after that. */
  isPast: boolean
}

/** How what is known is put in words. */
export interface Wording {
  /** How long an instant is off. */
  readonly ago: (instant: number) => number
  /** Whether a token is of a run that may not be over. */
  readonly isLive: (owner: string) => boolean
}

/** The order of recovery points, of all versions of the operation. */
const POINTS: readonly (string | null)[] = ['started', 'ride_made', 'charged', 'noticed']

/** What ends a run, so that it has to have counted. */
const COUNTED_ENDS: ReadonlySet<string> = new Set(['finish', 'finish phase', 'commit'])

/** What makings are held against. */
export interface MakingOptions {
  readonly tables: Tables
  readonly outside: Outside
  readonly quota?: Quota | undefined
  /** Whether plain handlers run at most once. */
  readonly isAtMostOnce: boolean
  /** The shape of the operation in phases, where it is not the usual one. */
  readonly plan?: Plan | undefined
  /** By how much the clock of the database was set so far, in milliseconds. */
  readonly clockSetMs?: () => number
  /** Which version of the app the process with this name runs. */
  readonly versionOf?: (name: string) => number
}

/** All makings of all records of one world. */
export class Makings {
  readonly #options: MakingOptions
  readonly #violate: (message: string) => void
  readonly #makings = new Map<number, Making>()
  readonly #owners = new Map<string, Making>()
  /** Those whose count was looked at. */
  readonly #counted = new Set<number>()

  constructor(options: MakingOptions, violate: (message: string) => void) {
    this.#options = options
    this.#violate = violate
  }

  /** One of them, by its number. */
  get(made: number): Making | undefined {
    return this.#makings.get(made)
  }

  /** The one that a run with this token was granted. */
  ofOwner(owner: string): Making | undefined {
    return this.#owners.get(owner)
  }

  /** Those of the record with this token, the oldest first. */
  ofToken(token: string): readonly Making[] {
    return [...this.#makings.values()].filter((making) => making.token === token)
  }

  /** Those of one record, the oldest first. */
  of(id: string): readonly Making[] {
    return [...this.#makings.values()].filter((making) => making.id === id)
  }

  /** All that is held against what comes, in words; of the tokens, those that may still be used. */
  inWords({ ago, isLive }: Wording): string {
    const makings = [...this.#makings.values()]
    const known = makings.map(({ id, createdAt, expiresAt, abandonedAt, ...all }) => {
      const { made: _made, madeAfter: _madeAfter, token: _token, ...most } = all
      const { writtenAfter: _writtenAfter, ...rest } = most
      const abandoned = abandonedAt === undefined ? '' : ago(abandonedAt)
      return [id.slice(0, 4), ago(createdAt), ago(expiresAt), abandoned, rest]
    })
    const done = new Set(this.#options.outside.effects.map(({ owner }) => owner))
    const owners = [...this.#owners].filter(([owner]) => done.has(owner) || isLive(owner))
    const whose = owners.map(([owner, making]) => [owner, makings.indexOf(making)])
    return JSON.stringify([known, whose])
  }

  /** A record has changed. */
  changed({ verb, before, after }: Extract<Change, { kind: 'record' }>): void {
    const now = this.#options.tables.now()
    if (before !== undefined && before.made !== after?.made) this.#gone(verb, before, now)
    if (after === undefined) return
    const making = this.#making(after, now)
    const name = `the record of ${after.key}`
    this.#demand(after.fence >= making.fence, `${verb}: the fence of ${name} goes back`)
    if (before?.made === after.made) {
      const isExtended = (after.leaseUntil ?? 0) >= (before.leaseUntil ?? 0)
      const isSet = (this.#options.clockSetMs?.() ?? 0) > 0
      this.#demand(
        verb !== 'renew' || isExtended || isSet,
        `renew: the lease of ${name} is shortened`,
      )
      const isTaken = after.owner !== null && after.owner !== before.owner
      const isNewer = after.fence > before.fence
      this.#demand(!isTaken || isNewer, `${verb}: ${name} is taken under an old fence`)
      const isLive = before.leaseUntil !== null && before.leaseUntil > now
      const isTakenOver = isTaken && before.owner !== null && isLive
      this.#demand(!isTakenOver, `${verb}: ${name} is taken while its lease is live`)
    }
    making.fence = Math.max(making.fence, after.fence)
    const isPast = before !== undefined && before.expiresAt <= now
    if (isPast && before.made === after.made) making.since = now
    // Until its commit a transaction has the key by its locks.
    if (verb === 'commit') making.since = after.createdAt
    this.#counts(verb, making, after)
    if (after.state !== before?.state) {
      making.writer = this.#options.versionOf?.(this.#options.tables.asker) ?? making.writer
      making.writtenAfter = this.#options.tables.elapsed()
    }
    if (verb === 'take') making.abandonedAt = isPast ? before.expiresAt : undefined
    this.#moves(making, after, verb)
    if (after.owner !== null && verb === 'claim') this.#owners.set(after.owner, making)
  }

  /** Under a quota every key counts that runs, and was let in when there was room. */
  #counts(verb: string, making: Making, after: RecordRow): void {
    const { quota, tables } = this.#options
    if (quota === undefined) return
    const name = `the record of ${after.key}`
    const isFirstRun = after.fence === 1 && COUNTED_ENDS.has(verb)
    this.#demand(!isFirstRun || after.countsUntil !== null, `${verb}: ${name} does not count`)
    if (after.countsUntil === null || this.#counted.has(making.made)) return
    this.#counted.add(making.made)
    // A transaction that takes a key up makes its record anew, and is not asked for room.
    if (this.of(making.id).some((other) => other !== making && !areApart(other, making))) return
    // Those that came while it was on its way it could not see.
    const others = [...tables.records.values()].filter(({ made, countsUntil }) => {
      const madeAt = this.#makings.get(made)?.madeAt ?? 0
      return made !== making.made && (countsUntil ?? 0) > making.madeAt && madeAt < making.createdAt
    })
    this.#demand(others.length < quota.keys, `${verb}: ${name} is one more than the quota allows`)
  }

  /** Recovery points go forward, and what is finished stays. */
  #moves(making: Making, after: RecordRow, verb: string): void {
    const name = `the record of ${after.key}`
    const point = this.#progressOf(after)
    if (after.recoveryPoint !== null && after.response === null) {
      this.#demand(point >= making.point, `${verb}: ${name} goes back to ${after.recoveryPoint}`)
      making.point = Math.max(making.point, point)
      const isEmpty = point > 0 && after.state === null
      this.#demand(!isEmpty, `${verb}: ${name} is at ${after.recoveryPoint} without a state`)
    }
    const answer = after.response === null ? undefined : bodyOf(after.response.sealed)
    const isSame = making.answer === undefined || making.answer === answer
    this.#demand(isSame, `${verb}: ${name} had the answer ${making.answer} and has ${answer}`)
    if (answer !== undefined && making.answer === undefined) {
      making.answer = answer
      this.#kept(after, verb)
      if (verb === 'settle') making.settledBy = 'operator'
    }
    making.expiresAt = after.expiresAt
  }

  /** How far a record has come. */
  #progressOf({ recoveryPoint, state, operation }: RecordRow): number {
    if (this.#options.plan === undefined || operation !== 'phases') {
      return POINTS.indexOf(recoveryPoint === 'closed' ? 'noticed' : recoveryPoint)
    }
    if (state === null) return recoveryPoint === 'started' ? 0 : 1
    const text = Buffer.from(state).toString('latin1')
    // A planned operation keeps what is done in its state, as a list of names.
    const [, done = ''] = /"done":\[([^\]]*)\]/.exec(text) ?? []
    return done.split(',').length
  }

  /** An answer is kept for as long as the operation says. */
  #kept({ expiresAt, key, operation }: RecordRow, verb: string): void {
    const { plan, tables } = this.#options
    if (plan === undefined || operation !== 'phases') return
    const isKept = expiresAt >= tables.now() + plan.retentionMs - 1
    this.#demand(isKept, `${verb}: the answer of ${key} is kept for less than its retention`)
  }

  /** A record goes: nothing that is still promised, and nothing unfinished in silence. */
  #gone(verb: string, before: RecordRow, now: number): void {
    const name = `the record of ${before.key}`
    const making = this.#making(before, now)
    making.isPast ||= before.expiresAt <= now
    if (before.response !== null) {
      return this.#demand(
        before.expiresAt <= now + (this.#options.clockSetMs?.() ?? 0),
        `${verb}: the answer of ${before.key} is removed`,
      )
    }
    if (verb === 'forget' || verb === 'crash') {
      const { outside } = this.#options
      const isDone = outside.effects.some(({ owner }) => this.ofOwner(owner)?.made === before.made)
      if (this.#options.isAtMostOnce) this.#demand(!isDone, `${name} took effect and is gone`)
      making.expiresAt = Number.POSITIVE_INFINITY
      return undefined
    }
    if (verb === 'abandon') {
      this.#demand(making.abandonedAt !== undefined, `${name} is abandoned before its time`)
      making.expiresAt = making.abandonedAt ?? making.expiresAt
      making.isPast ||= making.abandonedAt !== undefined
    }
    const isAnswered = verb === 'settle' || verb === 'make way'
    const isBuried = this.#options.tables.letters.some(({ made }) => made === before.made)
    this.#demand(isAnswered || isBuried, `${verb}: ${name} is unfinished and removed in silence`)
  }

  #making({ id, made, createdAt, expiresAt, fence, input }: RecordRow, now: number): Making {
    const known = this.#makings.get(made)
    if (known !== undefined) return known
    const making: Making = {
      ...{ id, made, createdAt, madeAt: now, since: now, expiresAt, fence, point: 0 },
      ...{ abandonedAt: undefined, answer: undefined, settledBy: undefined, isPast: false },
      ...{ token: tokenOf(input), madeAfter: this.#options.tables.elapsed() },
      writer: this.#options.versionOf?.(this.#options.tables.asker) ?? 1,
      writtenAfter: this.#options.tables.elapsed(),
    }
    this.#makings.set(made, making)
    return making
  }

  #demand(holds: boolean, message: string): void {
    if (!holds) this.#violate(message)
  }
}

/** Whether the record of one was past its retention when the other was made. */
export function areApart(one: Making | undefined, other: Making | undefined): boolean {
  if (one === undefined || other === undefined) return true
  const [first, second] = one.made <= other.made ? [one, other] : [other, one]
  const isPast = first.isPast || first.expiresAt <= second.createdAt
  return first.made !== second.made && isPast
}

/** The body in a sealed response that is neither compressed nor encrypted. */
function bodyOf(sealed: Uint8Array): string {
  const content = Buffer.from(sealed.buffer, sealed.byteOffset, sealed.byteLength).subarray(2)
  // Usual heads are one byte; others are JSON, up to a newline.
  return content.toString('utf8', content[0] === 91 ? content.indexOf(10) + 1 : 1)
}
