/**
 * What an operator sees. Reading never changes anything.
 *
 * @module
 */

import { createHash } from 'node:crypto'
import { callerDigest } from '../core/identity.ts'
import type { DeskJob, DeskPage, DeskRow } from '../engine/desk.ts'
import type { DeadLetter, HistoryEntry } from '../engine/letters.ts'
import {
  type Admin,
  COUNT_MAX,
  type JobSummary,
  type Overview,
  type PageQuery,
  type Recorded,
  type RequestDetail,
  type RequestFilter,
  type RequestSummary,
  type StateCounts,
  type WorkerSummary,
} from './admin.ts'
import { Cached } from './cached.ts'
import { checkFilter, checkPage, checkText, queryInvalid } from './check.ts'
import { explain, personAtOf } from './explain.ts'
import { overviewOf, recordedIn } from './overview.ts'
import type { AdminParts } from './parts.ts'
import { possibilitiesOf, versionOf } from './rules.ts'
import { storyOf } from './story.ts'
import { isSilent, workersOf } from './workers.ts'

/** The longest window of an overview, in milliseconds: 31 days. */
const WINDOW_MS_MAX = 31 * 86_400_000

/** How many requests with the same key are shown. */
const SAME_KEY_MAX = 200

/** The reading half of the admin API. */
export class Look {
  readonly #parts: AdminParts
  readonly #overviews: Cached<number, Overview>
  readonly #states: Cached<'all', StateCounts>

  constructor(parts: AdminParts) {
    this.#parts = parts
    const { desk, clock, settings } = parts
    const { view, freshMs } = settings
    const count = () => desk.count(view, {}, COUNT_MAX)
    this.#states = new Cached(clock, freshMs, count)
    const overview = {
      ...{ desk, view, clock, states: () => this.#states.get('all') },
      unknownGraceMs: settings.unknownGraceMs,
    }
    this.#overviews = new Cached(clock, freshMs, (windowMs) => overviewOf(overview, windowMs))
  }

  async overview({ windowMs }: { readonly windowMs: number }): Promise<Overview> {
    if (!(windowMs >= 1 && windowMs <= WINDOW_MS_MAX)) {
      throw queryInvalid(`windowMs is from 1 to ${WINDOW_MS_MAX}, not ${windowMs}`)
    }
    await this.#ready()
    return this.#overviews.get(windowMs)
  }

  async counts(filter: RequestFilter = {}): Promise<StateCounts> {
    const checked = checkFilter(filter)
    const { desk, view } = await this.#ready()
    const { states: _, ...others } = filter
    const isAll = Object.values(others).every((value) => value === undefined)
    return isAll ? this.#states.get('all') : desk.count(view, checked, COUNT_MAX)
  }

  /** Requests as the store has them. */
  async rows(filter: RequestFilter, page: PageQuery): Promise<DeskPage<DeskRow>> {
    const [checked, query] = [checkFilter(filter), checkPage(page)]
    const { desk, view } = await this.#ready()
    return desk.list(view, checked, query)
  }

  async list(filter: RequestFilter, page: PageQuery): ReturnType<Admin['list']> {
    const { items, next } = await this.rows(filter, page)
    return { items: items.map((row) => this.#summary(row)), next }
  }

  async findByKey(key: string): Promise<readonly RequestSummary[]> {
    checkText('key', key)
    const { desk, view } = await this.#ready()
    const { items } = await desk.list(view, { key }, { limit: SAME_KEY_MAX, after: null })
    return items.map((row) => this.#summary(row))
  }

  async find(id: string): Promise<RequestDetail | undefined> {
    const { desk, view } = await this.#ready()
    const found = await desk.find(view, id)
    if (found === undefined) return undefined
    const { row, notes } = found
    const history = this.#history(found.history)
    const jobs = found.jobs.map((job) => this.#job(job))
    const letter = row.letter === null ? undefined : await this.letter(row.letter)
    const patience = this.#parts.settings.patienceOf(row.operation)
    const { hasCompleter } = desk
    const summary = this.#summary(row)
    const { personAt } = summary
    const isCompleterSilent = personAt !== null && (await this.#isCompleterSilent())
    const known = {
      ...{ row, history, notes, jobs, letter, patience, hasCompleter, personAt },
      isCompleterSilent,
    }
    return {
      ...{
        ...summary,
        callerDigest: callerDigest(row.caller),
        fingerprint: row.fingerprint,
        ...row.origin,
      },
      ...{ resource: row.resource, leaseUntil: row.leaseUntil, history, jobs },
      leaseOwner: row.leaseUntil !== null && row.leaseUntil > row.now ? ownerOf(row) : null,
      ...{ duplicateNotes: notes, letter: row.letter, now: row.now },
      ...{ explanation: explain(known), story: storyOf(known) },
      possibilities: possibilitiesOf({ row, history }, hasCompleter),
    }
  }

  async duplicates(query: Parameters<Admin['duplicates']>[0]): ReturnType<Admin['duplicates']> {
    const page = checkPage(query)
    const { desk, view } = await this.#ready()
    return desk.notes(view, { ...page, results: query.results ?? null })
  }

  async letters(query: Parameters<Admin['letters']>[0]): ReturnType<Admin['letters']> {
    const page = checkPage(query)
    const { desk, view } = await this.#ready()
    const isSettled = query.isSettled ?? null
    const { items, next } = await desk.letters(view, { ...page, isSettled })
    return { items: items.map((letter) => this.#opaque(letter)), next }
  }

  async letter(letter: string): Promise<DeadLetter | undefined> {
    const { desk, view } = await this.#ready()
    const found = await desk.letter(view, letter)
    return found && this.#opaque(found)
  }

  async jobs(query: Parameters<Admin['jobs']>[0]): ReturnType<Admin['jobs']> {
    const page = checkPage(query)
    const { desk, view } = await this.#ready()
    const { items, next } = await desk.jobs(view, { ...page, state: query.state ?? null })
    return { items: items.map((job) => this.#job(job)), next }
  }

  async workers(): Promise<readonly WorkerSummary[]> {
    return workersOf((await this.#ready()).desk)
  }

  async audit(query: PageQuery): ReturnType<Admin['audit']> {
    const page = checkPage(query)
    const { desk, view } = await this.#ready()
    return desk.audit(view, page)
  }

  async recorded(): Promise<Recorded> {
    const { desk, view } = await this.#ready()
    return recordedIn(desk, view)
  }

  async #isCompleterSilent(): Promise<boolean> {
    const running = await this.#parts.desk.workers()
    const own = running.filter(({ worker }) => worker === 'completer')
    return own.every((node) => isSilent('completer', node))
  }

  #summary(row: DeskRow): RequestSummary {
    const { desk, settings } = this.#parts
    return summaryOf(row, desk.hasCompleter ? personAtOf(row, settings.unknownGraceMs) : null)
  }

  async #ready() {
    const { context, desk, settings } = this.#parts
    await context.store.ready()
    return { desk, view: settings.view }
  }

  /** Sealed parts are shown by `reveal` alone. */
  #opaque(letter: DeadLetter): DeadLetter {
    const history = this.#history(letter.history)
    return { ...letter, error: this.#error(letter.error), history, input: null, state: null }
  }

  #job(job: DeskJob): JobSummary {
    return { ...job, lastError: this.#error(job.lastError) }
  }

  #history(history: readonly HistoryEntry[]): readonly HistoryEntry[] {
    return history.map((entry) => ({ ...entry, error: this.#error(entry.error) }))
  }

  /** An error may quote what it failed at. */
  #error(error: string | null): string | null {
    return error === null ? null : String(this.#parts.settings.redact(error))
  }
}

/** Who holds the lease, without the token that it is held by. */
function ownerOf({ owner }: DeskRow): string | null {
  return owner && createHash('sha256').update(owner).digest('hex').slice(0, 12)
}

/** A request in a list. */
function summaryOf(row: DeskRow, personAt: number | null): RequestSummary {
  const { id, key, operation, caller, state, recoveryPoint, duplicates, status } = row
  const { createdAt, finishedAt, expiresAt, triedAt, resumeAt } = row
  return {
    ...{ id, key, operation, caller, state, recoveryPoint, duplicates, status },
    ...{ attempts: row.fence, createdAt, finishedAt, expiresAt, personAt },
    activeAt: Math.max(createdAt, finishedAt ?? 0, triedAt ?? 0, resumeAt ?? 0),
    version: versionOf(row),
  }
}
