/**
 * What must hold at every step, whatever happens:
 *
 * - at most one effect per key and retention, also of zombies;
 * - every answer given for a record is the same answer, and it is stored, with its effect, before it
 *   is given;
 * - the fence grows, recovery points go forward, what is finished stays as it is;
 * - nothing is lost: no unfinished record goes without a letter, no staged job without a delivery.
 *
 * @module
 */

import { isRepriseError } from '../../src/core/errors.ts'
import { digestValue, fingerprintRequest } from '../../src/core/fingerprint.ts'
import type { OverQuotaResult, RunResult } from '../../src/engine/result.ts'
import { OTHER_VERSION_MS } from './app.ts'
import type { AppRow, Change, JobRow, LetterRow } from './database/tables.ts'
import type { Deed, Ledger } from './ledger.ts'
import { areApart, type Making, type MakingOptions, Makings, type Wording } from './makings.ts'
import type { Mode } from './options.ts'
import type { Charge, Effect } from './provider.ts'

/** A request that was sent. */
export interface Sent {
  readonly id: string
  readonly mode: Mode
  readonly key: string
  readonly body: string
  readonly sentAt: number
  /** When, by a clock that nobody sets. */
  readonly sentAfter?: number
}

/** What the checks look at. */
export interface CheckOptions extends MakingOptions {
  /** Versions of the app that are running. */
  readonly running?: () => readonly number[]
  /** Of the provider that a planned operation calls. */
  readonly ledger?: () => Ledger | undefined
}

/** Something that must not be. */
export class Violation extends Error {}

/** The checks of one world. */
export class Checks {
  readonly #options: CheckOptions
  readonly #makings: Makings
  readonly #staged = new Map<string, JobRow>()
  readonly #delivered = new Map<string, string>()
  readonly #settled = new Set<string>()
  /** What happened how often: a run in which nothing went wrong proves nothing. */
  readonly seen = new Map<string, number>()
  #violation: Violation | undefined
  #effects = 0
  #charges = 0
  #deeds = 0

  constructor(options: CheckOptions) {
    this.#options = options
    this.#makings = new Makings(options, (message) => this.#violate(message))
  }

  /** Throws when something was violated. To be called after each step. */
  hold(): void {
    const { outside, tables } = this.#options
    for (; this.#effects < outside.effects.length; this.#effects++) {
      const effect = outside.effects[this.#effects]
      if (effect !== undefined) this.#effect(effect)
    }
    for (; this.#charges < outside.charges.length; this.#charges++) {
      const charge = outside.charges[this.#charges]
      if (charge !== undefined) this.#charge(charge)
    }
    const deeds = this.#options.ledger?.()?.deeds ?? []
    for (; this.#deeds < deeds.length; this.#deeds++) this.#deed(deeds)
    for (const letter of tables.letters) this.#letter(letter)
    if (this.#violation !== undefined) throw this.#violation
  }

  /** The database has changed. */
  changed(change: Change): void {
    switch (change.kind) {
      case 'record':
        return this.#makings.changed(change)
      case 'rows':
        return this.#rows(change.rows)
      case 'job staged':
        return void this.#staged.set(change.job.id, change.job)
      case 'job removed':
        return this.#demand(this.#delivered.has(change.job.id), `${change.job.id} is lost`)
      case 'job set aside':
        return this.#count('job set aside')
      case 'settled': {
        const { letter, settlement } = change.letter
        this.#demand(!this.#settled.has(letter), `letter ${letter} is settled twice`)
        this.#settled.add(letter)
        this.#count(`settled ${settlement?.way}`)
        return undefined
      }
      case 'buried':
        this.#buried(change.letter)
        return this.#count(`buried ${change.letter.cause}`)
      case 'withdrawn':
        return undefined
    }
  }

  /** A job reached its queue. */
  delivered(id: string, args: unknown): void {
    const text = JSON.stringify(args)
    const staged = this.#staged.get(id)
    this.#demand(staged !== undefined, `${id} is delivered, and its transaction did not commit`)
    this.#demand(staged === undefined || staged.args === text, `${id} has other arguments`)
    const isBacked = this.#options.tables.rows.some(({ by }) => text.includes(`"${by}"`))
    this.#demand(isBacked, `${id} is delivered, and its rows did not commit`)
    this.#delivered.set(id, text)
  }

  /** A statement was taken that a handler sent after its end. */
  tookLate(by: string): void {
    this.#violate(`${by} sent a statement after its end, and it was taken`)
  }

  /** Jobs that were staged and never delivered nor set aside. */
  undelivered(): readonly string[] {
    const aside = new Set(
      this.#options.tables.jobs.flatMap((job) => (job.setAsideAt ? job.id : [])),
    )
    return [...this.#staged.keys()].filter((id) => !this.#delivered.has(id) && !aside.has(id))
  }

  /** Of which making of the record a run with this token is. */
  makingOf(owner: string): number | undefined {
    return this.#makings.ofOwner(owner)?.made
  }

  /** Whether a record of the identity was made after this one. */
  isReplaced(id: string, made: number): boolean {
    return this.#makings.of(id).some((making) => making.made > made)
  }

  /** All that is held against what comes, in words. */
  inWords(wording: Wording): string {
    const staged = [...this.#staged].map(([id, { args }]) => [args, this.#delivered.has(id)])
    return this.#makings.inWords(wording) + JSON.stringify(staged)
  }

  /** A client is told how its request ended. */
  told(sent: Sent, result: RunResult, lagMs: number): void {
    const fate = 'fate' in result && result.fate !== 'stored' ? ` ${result.fate}` : ''
    this.#count(`${sent.mode} ${result.outcome}${fate}`)
    if (!('response' in result)) return
    const text = new TextDecoder().decode(result.response.body)
    if (result.outcome !== 'replayed' && result.fate !== 'stored') {
      if (result.fate === 'forgotten') this.#demand(!this.#tookEffect(text), `${text} is forgotten`)
      return
    }
    const answers = this.#makings.of(sent.id).filter(({ answer }) => answer === text)
    const stored = answers.at(-1)
    if (stored === undefined) return this.#violate(`${text} is told as stored, and is not`)
    const setMs = this.#options.clockSetMs?.() ?? 0
    const isKept = stored.expiresAt + Math.max(0, lagMs) + setMs > sent.sentAt
    this.#demand(isKept, `${text} is told past its retention`)
    const isOwn = stored.settledBy !== undefined || text.includes(`"${sent.key} ${sent.body}"`)
    this.#demand(isOwn, `${text} is told to another request`)
    this.#demand(this.#isDurable(sent, stored, text), `${text} is told, and nothing was done`)
  }

  /** A client is told that its key is one too many: only where it has no record. */
  overQuota(sent: Sent, { retryAfterMs }: OverQuotaResult, flightMs: number): void {
    const { tables, quota } = this.#options
    const record = tables.records.get(sent.id)
    const making = this.#makings.get(record?.made ?? 0)
    // Before its row is there, a transaction has the key for other transactions alone.
    const isStanding =
      making !== undefined &&
      Math.max(making.since, making.madeAt) < sent.sentAt - flightMs &&
      making.expiresAt > tables.now()
    this.#demand(!isStanding, `${sent.key} has a record and is refused for the quota`)
    const isTrue = retryAfterMs > 0 && retryAfterMs <= (quota?.perMs ?? 0)
    this.#demand(isTrue, `${sent.key} is to wait for ${retryAfterMs} ms until there is room`)
  }

  /** A client is told that its input is not accepted: only where its request has no record. */
  rejected({ id, key, body, sentAfter = 0 }: Sent): void {
    const { tables } = this.#options
    const record = tables.records.get(id)
    const making = this.#makings.get(record?.made ?? 0)
    if (record === undefined || making === undefined || making.madeAfter >= sentAfter) return
    const digest = digestValue({ key, body })
    const prints = fingerprintRequest({ method: '', path: 'phases', body: digest })
    const isSame = prints.includes(record.fingerprint) && making.expiresAt > tables.now()
    const state = record.response === null ? 'has a record' : 'is finished'
    this.#demand(!isSame, `${key} ${body} ${state} and is refused for its input`)
  }

  /** A client is told that its request failed. */
  failed(sent: Sent, error: unknown): void {
    const code = isRepriseError(error) ? error.code : 'thrown'
    this.#count(`${sent.mode} ${code}`)
    const isBug = error instanceof TypeError || error instanceof RangeError
    const isPrivate = code === 'reprise-duplicate-request'
    this.#demand(!isBug && !isPrivate, `${sent.key} failed with ${String(error)}`)
  }

  /** Something is not as it must be. */
  violate(message: string): void {
    this.#violate(message)
  }

  /** Says that something happened. */
  note(what: string): void {
    this.#count(what)
  }

  /** Rows of the app were committed. */
  #rows(rows: readonly AppRow[]): void {
    const { tables } = this.#options
    for (const row of rows) {
      const record = tables.records.get(row.id)
      const isBacked = record !== undefined && row.made !== null && row.id === rows[0]?.id
      this.#demand(isBacked, `${row.what} of ${row.by} is committed alone`)
      const isStaged = [...this.#staged.values()].some(({ args }) => args.includes(`"${row.by}"`))
      this.#demand(row.what !== 'receipt' || isStaged, `the job of ${row.by} is not staged`)
      for (const other of tables.rows) {
        const isSame = other !== row && other.id === row.id && other.what === row.what
        if (isSame) this.#apart(row, other)
      }
      this.#mixed(row)
    }
  }

  /** Two commits of the same work: the record of the first must have been past its retention. */
  #apart(row: AppRow, other: AppRow): void {
    const [one, two] = [this.#makings.get(other.made ?? 0), this.#makings.get(row.made ?? 0)]
    this.#demand(areApart(one, two), `${row.what} is done by ${other.by} and by ${row.by}`)
  }

  /** A row and an effect outside, where an app runs one route in two modes. */
  #mixed({ id, made, by, what }: AppRow): void {
    const making = this.#makings.get(made ?? 0)
    if (what !== 'effect' || !this.#options.isAtMostOnce) return
    for (const effect of this.#options.outside.effects) {
      const other = this.#makings.ofOwner(effect.owner)
      if (effect.id !== id) continue
      this.#demand(areApart(other, making), `${effect.by} and ${by} both took effect`)
    }
  }

  /** A plain handler took effect. */
  #effect(effect: Effect): void {
    const { outside, isAtMostOnce } = this.#options
    const making = this.#makings.ofOwner(effect.owner)
    if (making === undefined) return this.#violate(`${effect.by} took effect without a claim`)
    if (!isAtMostOnce) return
    for (const other of outside.effects.slice(0, this.#effects)) {
      const before = this.#makings.ofOwner(other.owner)
      if (before === undefined || before.id !== making.id) continue
      this.#demand(areApart(before, making), `${other.by} and ${effect.by} both took effect`)
    }
    for (const row of this.#options.tables.rows) if (row.id === making.id) this.#mixed(row)
  }

  /** A process put a record before a person: not where another one could take it up. */
  #buried({ cause, key, made }: LetterRow): void {
    const { versionOf, running, tables, plan } = this.#options
    if (cause !== 'graph_changed' || plan === undefined) return
    const { writer = 1, writtenAfter = 0 } = this.#makings.get(made) ?? {}
    const isOlder = (versionOf?.(tables.asker) ?? 1) < writer
    const isKnown = running?.().some((version) => version >= writer) === true
    const isEarly = tables.elapsed() - writtenAfter < OTHER_VERSION_MS
    const isSet = (this.#options.clockSetMs?.() ?? 0) > 0
    const isHealthy = isOlder && isKnown && isEarly && !isSet
    this.#demand(!isHealthy, `${key} is of a newer version and is buried by an older one`)
    if (isOlder) this.#count('buried after a rollback')
  }

  /** The provider of a planned operation has acted: once for a key, from each site. */
  #deed(deeds: readonly Deed[]): void {
    const deed = deeds[this.#deeds]
    const own = this.#makings.ofToken(deed?.token ?? '')
    this.#demand(own.length > 0, `${deed?.key} is of no record`)
    for (const other of deeds.slice(0, this.#deeds)) {
      if (other.site !== deed?.site || other.token === deed.token) continue
      const others = this.#makings.ofToken(other.token)
      const isOther = others[0]?.id !== own[0]?.id
      const isApart = others.some((one) => own.some((two) => areApart(one, two)))
      this.#demand(isOther || isApart, `${other.key} and ${deed.key} are of one request`)
    }
  }

  /** The provider was paid. */
  #charge(charge: Charge): void {
    const same = this.#options.outside.charges
      .slice(0, this.#charges)
      .filter(({ ride, point }) => ride === charge.ride && point === charge.point)
    if (same.length > 0) this.#violate(`${charge.ride} is charged twice at ${charge.point}`)
    const isReal = this.#options.tables.rows.some(
      ({ what, by }) => what === 'ride' && by === charge.ride,
    )
    this.#demand(isReal, `${charge.ride} is charged, and there is no such ride`)
  }

  /** What lies before a person is not worked on. */
  #letter({ made, id, settledAt, key }: LetterRow): void {
    const record = this.#options.tables.records.get(id)
    if (settledAt !== null || record?.made !== made || record.response !== null) return
    this.#demand(
      record.owner === null || record.recoveryPoint === null,
      `${key} lies before a person and is worked on`,
    )
  }

  #isDurable({ id }: Sent, { settledBy }: Making, text: string): boolean {
    if (settledBy !== undefined || !text.includes('"done"')) return true
    const rows = this.#options.tables.rows.filter((row) => row.id === id)
    const words = text.split(' ')
    return rows.some(({ by }) => words.includes(by)) || this.#tookEffect(text)
  }

  #tookEffect(text: string): boolean {
    return this.#options.outside.effects.some(({ by }) => text.split(' ').includes(by))
  }

  #demand(holds: boolean, message: string): void {
    if (!holds) this.#violate(message)
  }

  #violate(message: string): void {
    this.#violation ??= new Violation(message)
  }

  #count(what: string): void {
    this.seen.set(what, (this.seen.get(what) ?? 0) + 1)
  }
}
