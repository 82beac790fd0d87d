/**
 * Plays a history on a store and writes down every answer, without what two stores may differ in:
 * instants, numbers and random ids.
 *
 * @module
 */

import { createHash } from 'node:crypto'
import { recordId } from '../../../src/core/identity.ts'
import type { Claim, ClaimRequest, Finish, Store } from '../../../src/engine/store.ts'
import type { Work } from '../../../src/engine/work.ts'
import type { Command } from './history.ts'

const HOUR_MS = 3_600_000
const IDENTITIES = 3
const LEASE_MS = 2 * HOUR_MS
const RETENTION_MS = 10 * HOUR_MS
const ORIGIN = { requestId: 'req', ip: null, userAgent: null }
const ATTEMPT = { actor: 'request', tookMs: 0 } as const

/** A store, and how its time goes on. */
export interface Played<Tx> {
  readonly store: Store<Tx>
  readonly advance: (ms: number) => Promise<void>
}

/** One history on one store. */
export class Play<Tx> {
  readonly #store: Store<Tx>
  readonly #work: Work<Tx>
  readonly #transactions: NonNullable<Store<Tx>['transactions']>
  readonly #advance: (ms: number) => Promise<void>
  readonly #seed: number
  readonly #claims: Claim[] = []
  readonly #jobIds: string[] = []
  #numbers = 0

  constructor({ store, advance }: Played<Tx>, seed: number) {
    const { work, transactions } = store
    if (work === undefined || transactions === undefined) throw new Error('The store has no work.')
    this.#store = store
    this.#work = work
    this.#transactions = transactions
    this.#advance = advance
    this.#seed = seed
  }

  /** Carries a command out and says what came of it. */
  async answer(command: Command): Promise<unknown> {
    try {
      const answer = await this.#do(command)
      const text = JSON.stringify([answer], (name, value: unknown) => this.#plain(name, value))
      return JSON.parse(text)
    } catch (error) {
      return `threw ${this.#work.phases.classify(error)}`
    }
  }

  #do(command: Command): Promise<unknown> {
    const { kind, at, choice } = command
    const { phases, letters, jobs } = this.#work
    const claim = this.#claim(at)
    const attempt = { ...ATTEMPT, point: 'started', callKey: choice < 0.5 ? 'call' : null }
    switch (kind) {
      case 'claim':
        return this.#claimed(this.#request(at, choice, 'a'))
      case 'claim other':
        return this.#claimed(this.#request(at, choice, 'b'))
      case 'pass':
        return this.#advance(choice < 0.5 ? HOUR_MS : 3 * HOUR_MS)
      case 'expire':
        return this.#advance(choice < 0.5 ? 12 * HOUR_MS : 800 * HOUR_MS)
      case 'renew':
        return this.#store.renew(claim, LEASE_MS)
      case 'release':
        return this.#store.release(claim, choice < 0.3 ? 'forget' : 'suspend')
      case 'advance phase':
      case 'finish phase':
      case 'undo phase':
        return this.#phase(command)
      case 'begin call':
        return phases.beginCall(
          claim,
          { ...attempt, callKey: 'call' },
          { deniesEarlier: choice < 0.3 },
        )
      case 'open call':
        return phases.begunCall(claim.id, 'call')
      case 'stop':
        return phases.stop(claim, attempt, {
          ending: choice < 0.25 ? 'denied' : 'threw',
          error: 'no',
        })
      case 'leave':
        return phases.leave(claim, attempt, {
          ...{ operation: 'pay', version: choice < 0.7 ? '1' : '2', error: 'no' },
          otherVersionMs: 4 * HOUR_MS,
        })
      case 'bury':
        return letters.bury(claim, {
          cause: 'outcome_unknown',
          error: 'no',
          retentionMs: RETENTION_MS,
        })
      case 'letters':
        return letters.list({ limit: 100, ...(choice < 0.5 ? { settled: choice < 0.25 } : {}) })
      case 'settle':
        return this.#settle(command)
      case 'jobs':
        return this.#jobs(choice)
      case 'next due':
        return jobs.nextDueMs().then((ms) => (ms === undefined ? 'none' : ms > 0 ? 'later' : 'now'))
      case 'history':
        return this.#work.history(claim.id)
      case 'transaction':
        return this.#transaction(command)
      default:
        return this.#more(command)
    }
  }

  #more({ kind, at, choice }: Command): Promise<unknown> {
    const { phases, letters } = this.#work
    const request = { owner: this.#token(), leaseMs: LEASE_MS, retentionMs: RETENTION_MS }
    switch (kind) {
      case 'take': {
        const patience = {
          graceMs: choice < 0.5 ? 0 : HOUR_MS,
          retryMs: HOUR_MS,
          retryMsMax: 3 * HOUR_MS,
        }
        const edition = {
          operation: 'pay',
          version: choice < 0.7 ? '1' : '2',
          otherVersionMs: 4 * HOUR_MS,
        }
        return phases.takeUnfinished(edition, request, patience).then((taken) => this.#note(taken))
      }
      case 'take abandoned':
        return letters.takeAbandoned(request).then((taken) => this.#note(taken))
      case 'bury unknown':
        return letters.buryUnknown({ limit: 100, graceMs: HOUR_MS, retentionMs: RETENTION_MS })
      case 'sweep':
        return this.#store.sweep(100)
      case 'sweep history':
        return this.#work.sweepHistory(100)
      case 'sweep letters':
        return letters.sweep(100)
      default:
        return this.#store.find(this.#id(at))
    }
  }

  async #claimed(request: ClaimRequest): Promise<unknown> {
    return this.#note(await this.#store.claim(request))
  }

  #note<T>(answer: T): T {
    if (typeof answer === 'object' && answer !== null && 'claim' in answer) {
      // Whatever has a claim was granted one.
      this.#claims.push(answer.claim as Claim)
    }
    return answer
  }

  /** A phase, with something happening to the record while its transaction is open. */
  async #phase({ kind, at, choice, between }: Command): Promise<unknown> {
    const claim = this.#claim(at)
    const isolation = choice < 0.5 ? 'serializable' : 'read committed'
    const open = await this.#work.phases.begin(claim, {
      ...{ isolation, leaseMs: LEASE_MS, statementMs: HOUR_MS },
    })
    if (open === undefined) return 'not begun'
    try {
      if (choice < 0.7) {
        const dedupeKey = choice < 0.2 ? 'same' : null
        const job = { name: 'mail', args: '{"a":1}', runAt: null, dedupeKey }
        this.#job(await open.stage(job))
      }
      if (between < 0.2) await this.#store.renew(claim, LEASE_MS)
      if (between > 0.9) await this.#store.release(claim, 'suspend')
      const attempt = { ...ATTEMPT, point: 'started', callKey: between < 0.5 ? 'call' : null }
      if (kind === 'undo phase') return 'undone'
      const state = new Uint8Array([1])
      const step = { recoveryPoint: choice < 0.5 ? 'started' : 'second', state, leaseMs: LEASE_MS }
      await (kind === 'advance phase'
        ? open.advance(step, attempt)
        : open.finish(this.#finish(201), attempt))
      return 'committed'
    } finally {
      await open.rollback()
    }
  }

  /** A transaction, with two others knocking while it is open. */
  async #transaction({ at, choice, between }: Command): Promise<unknown> {
    const asked = (body: string) => ({
      ...this.#request(at, choice, body),
      takesUnknown: choice < 0.2,
      leaseMs: 100 * HOUR_MS,
    })
    const open = await this.#transactions.begin(asked('a'))
    if (!('commit' in open)) return open
    try {
      const knocks = [asked('a'), asked('b')].map((request) => this.#transactions.begin(request))
      const refused = await Promise.all(knocks)
      if (open.stage !== undefined && between < 0.5) {
        const job = { name: 'bill', args: '[]', runAt: null, dedupeKey: null }
        this.#job(await open.stage(job))
      }
      if (between < 0.7) await open.commit(this.#finish(200))
      return [open.outcome, ...refused.map(({ outcome }) => outcome)]
    } finally {
      await open.rollback()
    }
  }

  async #settle({ at, choice }: Command): Promise<unknown> {
    const open = await this.#work.letters.list({ limit: 100 })
    const letter = open[Math.floor(at * open.length)]
    if (letter === undefined) return 'none'
    const way = (['happened', 'resume', 'give_up'] as const)[Math.floor(choice * 3)] ?? 'resume'
    const finish = way === 'resume' ? null : this.#finish(410)
    const who = { author: 'ada', note: 'Looked.', retentionMs: RETENTION_MS }
    return this.#work.letters.resolve(letter.letter, { way, finish, ...who })
  }

  async #jobs(choice: number): Promise<unknown> {
    const patience = { retryMs: HOUR_MS, retryMsMax: 4 * HOUR_MS, attemptsMax: 3 }
    const request = { limit: choice < 0.5 ? 1 : 10, silentMsMax: HOUR_MS }
    const batch = await this.#work.jobs.take(request, patience)
    if (batch === undefined) return 'none'
    const jobs = batch.jobs.map(({ id, name, attempt }) => [this.#job(id), name, attempt])
    if (choice > 0.8) await batch.rollback()
    else {
      const failed = choice < 0.4 ? batch.jobs : []
      await batch.settle(failed.map(({ id }) => ({ id, error: 'no', isSinkDown: choice < 0.1 })))
    }
    return jobs
  }

  #request(at: number, choice: number, body: string): ClaimRequest {
    const key = String(Math.floor(at * IDENTITIES))
    const fingerprint = createHash('sha256').update(body).digest('base64url')
    return {
      ...{ id: this.#id(at), caller: 'acct', operation: 'pay', key, owner: this.#token() },
      ...{ fingerprint, fingerprintsAccepted: [fingerprint], leaseMs: LEASE_MS },
      ...{ retentionMs: RETENTION_MS, takesUnknown: choice < 0.3, origin: ORIGIN },
      recoveryPoint: choice < 0.7 ? 'started' : null,
      input: choice < 0.6 ? new Uint8Array([7]) : null,
    }
  }

  #id(at: number): string {
    return recordId([String(this.#seed), String(Math.floor(at * IDENTITIES))], '')
  }

  /** One of the last claims; one that nobody was granted where there is none. */
  #claim(at: number): Claim {
    const recent = this.#claims.slice(-3)
    const none = { id: this.#id(at), owner: 'AAAAAAAAAAAAAAAAAAAAAA', fence: 1 }
    return recent[Math.floor(at * recent.length)] ?? none
  }

  #finish(status: number): Finish {
    const response = { status, sealed: new Uint8Array([status % 256]) }
    return { response, resource: null, retentionMs: RETENTION_MS }
  }

  #token(): string {
    const text = `${this.#seed} ${++this.#numbers}`
    return createHash('sha256').update(text).digest('base64url').slice(0, 21).concat('A')
  }

  /** Which of the jobs it is, by when it was first seen. */
  #job(id: string): number {
    if (!this.#jobIds.includes(id)) this.#jobIds.push(id)
    return this.#jobIds.indexOf(id)
  }

  #plain(name: string, value: unknown): unknown {
    if (/(At|Until|Ms)$/.test(name)) return value === null ? null : 'some'
    if (name === 'letter' || name === 'author') return 'some'
    // The simulated one has no processes.
    if (name === 'node') return undefined
    // What comes out of PostgreSQL is a Buffer, which has a form of its own.
    if (isBytes(value)) return Object.values('data' in value ? value.data : value).join()
    return value
  }
}

type Bytes = { readonly type: 'Buffer'; readonly data: readonly number[] } | Uint8Array

function isBytes(value: unknown): value is Bytes {
  if (value instanceof Uint8Array) return true
  return typeof value === 'object' && value !== null && 'type' in value && value.type === 'Buffer'
}
