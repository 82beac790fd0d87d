/**
 * Transactions over the pliable store, whole or broken in one way.
 *
 * @module
 */

import { setImmediate } from 'node:timers/promises'
import { type Decision, decide, isFresh } from '../../src/core/decide.ts'
import { type KeyRecord, STARTED } from '../../src/core/record.ts'
import { claimed, finished } from '../../src/core/transition.ts'
import type { Finish, Refusal, Store } from '../../src/engine/store.ts'
import { checkTransactionRoute, type Transact, transact } from '../../src/engine/transact.ts'
import { TransactionAccess } from '../../src/engine/transaction-access.ts'
import type {
  OpenTransaction,
  TransactionFault,
  TransactionRequest,
  Transactions,
} from '../../src/engine/transactions.ts'
import { refused } from '../../src/stores/answer.ts'
import { sampleFinish } from '../../src/testing/contract/sample.ts'
import { FakeClock } from '../../src/testing/fake-clock.ts'
import type { TransactionHarness } from '../../src/testing/harness.ts'
import { PliableStore } from './pliable-store.ts'

/** What can be wrong with them. */
export const TRANSACTION_BREAKS = [
  'commits an effect at once',
  'commits an effect before the record',
  'commits without the record',
  'commits without the origin',
  'does not undo an effect',
  'keeps the key after a rollback',
  'commits after a statement that failed',
  'can not roll back after a statement that failed',
  'overwrites a lease that was taken meanwhile',
  'takes every error for a lost race',
  'undoes its commit at a late rollback',
  'knows no isolation',
  'wakes nobody',
  'opens beside its duplicate',
  'takes what is open for the same request',
  'opens one at a time',
  'compares the newest fingerprint only',
  'compares no fingerprint',
  'opens beside a lease',
  'opens on an answer',
  'recovers for who does not take it',
  'never recovers',
  'takes what had not begun for unknown',
  'executes what got half way',
  'removes the record that it recovers at once',
  'replays an expired answer',
  'recovers an expired record',
  'has ten connections and gives none back when it refuses',
  'has ten connections and gives none back when the quota has no room',
  'knows no quota',
  'has a quota for who brings none',
  'looks at the quota before all else',
  'holds what it takes up to the quota',
  'counts what is rolled back',
  'counts no commit',
  'takes statements after its end',
  'leaves a way to the database open',
  'stages a job after its end',
  'ends access to all of what it joined',
  'loses what was under way at its end',
  'commits alone what was under way at its end',
  'takes a rollback for a commit',
  'loses a nested part that was left open',
  'commits a nested part of what it undoes',
] as const

type TransactionBreak = (typeof TRANSACTION_BREAKS)[number]

/** What a handler gets. */
interface Work {
  readonly access: TransactionAccess
  effects: number
  /** Effects in a nested part that is open. */
  nested: number
  hasFailed: boolean
  isOver: boolean
}

function freshWork(): Work {
  const access = new TransactionAccess()
  return { access, effects: 0, nested: 0, hasFailed: false, isOver: false }
}

const FRESH: Decision = { kind: 'execute', fence: 1, fresh: true, abandoned: false }

class LostError extends Error {}

class PliableTransactions implements Transactions<Work> {
  readonly run: Transact = transact
  readonly check = checkTransactionRoute
  effects = 0
  #connections = 10
  readonly #open = new Map<string, string>()
  readonly #store: PliableStore
  readonly #broken: TransactionBreak | null

  constructor(store: PliableStore, broken: TransactionBreak | null) {
    this.#store = store
    this.#broken = broken
  }

  async begin(request: TransactionRequest<Work>): Promise<OpenTransaction<Work> | Refusal> {
    if (this.#connections === 0) return IN_PROGRESS
    const refusal = this.#quotaBeforeAll(request) ?? this.#refuseBesideOpen(request)
    if (refusal !== undefined) return refusal
    const now = this.#store.clock.now()
    const record = this.#store.records.get(request.id)
    const decision = this.#decide(record, request, now)
    if (!('fence' in decision)) {
      if (this.#is('has ten connections and gives none back when it refuses')) this.#connections--
      return refused(decision.kind, record, now)
    }

    const over = this.#overQuota(request, decision)
    if (over !== undefined) return over

    if (this.#is('knows no isolation') && request.isolation) return IN_PROGRESS
    if (this.#is('removes the record that it recovers at once')) {
      this.#store.records.delete(request.id)
    }
    this.#open.set(request.id, request.fingerprint)
    return this.#opened({ request, seen: record, outcome: outcomeOf(decision) })
  }

  classify(error: unknown): TransactionFault {
    const lost = error instanceof LostError || this.#is('takes every error for a lost race')
    return lost ? 'lost' : 'other'
  }

  #is(broken: TransactionBreak): boolean {
    return this.#broken === broken
  }

  #refuseBesideOpen({ id, fingerprint }: TransactionRequest<Work>): Refusal | undefined {
    const open = this.#open.get(id)
    if (this.#open.size > 0 && this.#is('opens one at a time')) return IN_PROGRESS
    if (open === undefined || this.#is('opens beside its duplicate')) return undefined
    const same = open === fingerprint || this.#is('takes what is open for the same request')
    return same ? IN_PROGRESS : { outcome: 'mismatch' }
  }

  #quotaBeforeAll(request: TransactionRequest<Work>): Refusal | undefined {
    if (!this.#is('looks at the quota before all else')) return undefined
    return this.#store.overQuota(request)
  }

  #overQuota(request: TransactionRequest<Work>, decision: Decision): Refusal | undefined {
    const isAsked =
      (decision === FRESH ? this.#is('holds what it takes up to the quota') : isFresh(decision)) &&
      !this.#is('knows no quota')
    const over = isAsked ? this.#store.overQuota(this.#counted(request)) : undefined
    if (over && this.#is('has ten connections and gives none back when the quota has no room')) {
      this.#connections--
    }
    return over
  }

  /** The request as it counts. */
  #counted(request: TransactionRequest<Work>): TransactionRequest<Work> {
    if (!this.#is('has a quota for who brings none')) return request
    return { ...request, quota: request.quota ?? { keys: 1, perMs: 1 } }
  }

  #decide(record: KeyRecord | undefined, request: TransactionRequest<Work>, now: number): Decision {
    let { fingerprintsAccepted: fingerprints, takesUnknown } = request
    if (this.#is('compares the newest fingerprint only')) fingerprints = [request.fingerprint]
    if (this.#is('compares no fingerprint') && record) fingerprints = [record.fingerprint]
    if (this.#is('recovers for who does not take it')) takesUnknown = true
    if (this.#is('never recovers')) takesUnknown = false
    const finished = record?.response !== null
    const endless =
      (this.#is('replays an expired answer') && finished) ||
      (this.#is('recovers an expired record') && !finished)
    const seen = record && endless ? { ...record, expiresAt: Number.POSITIVE_INFINITY } : record
    // A transaction is no lease: that its owner claimed before makes no difference.
    const decision = decide(seen, { fingerprints, takesUnknown, owner: '' }, now)
    const opens =
      (decision.kind === 'in_progress' && this.#is('opens beside a lease')) ||
      (decision.kind === 'replay' && this.#is('opens on an answer'))
    if (opens) return FRESH
    if (decision.kind !== 'resume') return decision
    const hasBegun = record?.recoveryPoint !== STARTED
    if (!hasBegun && !this.#is('takes what had not begun for unknown')) return FRESH
    if (hasBegun && this.#is('executes what got half way')) return FRESH
    return takesUnknown ? { ...decision, kind: 'recover' } : { kind: 'unknown' }
  }

  /** A statement of the app's, which is answered a turn later. */
  async execute({ access }: Pick<Work, 'access'>, act: () => void): Promise<void> {
    const takesLate =
      this.#is('takes statements after its end') || this.#is('takes a rollback for a commit')
    if (access.isEnded && takesLate) return act()
    return access.send(async () => {
      await setImmediate()
      act()
    })
  }

  /** Adds an effect; without a transaction it is committed at once. */
  addEffect(tx: Work): void {
    const isAlone = tx.isOver && !this.#is('loses what was under way at its end')
    if (isAlone || this.#is('commits an effect at once')) this.effects++
    else tx.effects++
  }

  /** Ends the app's access, and waits for what it had sent. */
  async #over({ access }: Work): Promise<void> {
    access.end()
    const waits =
      !this.#is('loses what was under way at its end') &&
      !this.#is('commits alone what was under way at its end')
    if (waits) await access.idle()
  }

  #opened({ request, seen, outcome }: Opening): OpenTransaction<Work> {
    const tx = freshWork()
    const { records, watchers } = this.#store
    const { join } = request
    let state: 'open' | 'committed' | 'over' = 'open'
    const end = (next: typeof state) => {
      state = next
      tx.isOver = true
      this.#open.delete(request.id)
    }
    const keepEffects = () => {
      const nested = this.#is('loses a nested part that was left open') ? 0 : tx.nested
      if (join === undefined) this.effects += tx.effects + nested
      else join.effects += tx.effects + nested
    }
    return {
      ...{ outcome, tx, keepAlive: async () => {} },
      close: () => {
        tx.access.end()
        if (this.#is('ends access to all of what it joined')) join?.access.end()
      },
      stage: async () => {
        if (!this.#is('stages a job after its end')) tx.access.check()
        return 'job'
      },
      commit: async (finish) => {
        await this.#over(tx)
        if (this.#is('commits an effect before the record')) keepEffects()
        end('over')
        if (tx.hasFailed && !this.#is('commits after a statement that failed')) {
          throw new Error('The transaction has failed.')
        }
        if (this.#is('takes a rollback for a commit')) {
          // As long as it takes from the record to the commit.
          await setImmediate()
          if (tx.hasFailed) return
        }
        const isTaken = records.get(request.id) !== seen
        if (isTaken && !this.#is('overwrites a lease that was taken meanwhile')) {
          if (!this.#is('removes the record that it recovers at once')) throw new LostError('Lost.')
        }
        if (!this.#is('commits without the record'))
          records.set(request.id, this.#answer(request, finish))
        if (!this.#is('counts no commit')) this.#store.count(this.#counted(request))
        if (!this.#is('commits an effect before the record')) keepEffects()
        end('committed')
        if (!this.#is('wakes nobody')) watchers.wake(request.id)
      },
      rollback: async () => {
        await this.#over(tx)
        if (state === 'open' && this.#is('counts what is rolled back')) {
          records.set(request.id, this.#answer(request, sampleFinish()))
          this.#store.count(request)
        }
        if (tx.hasFailed && this.#is('can not roll back after a statement that failed')) return
        if (state === 'open' && this.#is('does not undo an effect')) this.effects += tx.effects
        if (state === 'open' && this.#is('commits a nested part of what it undoes')) {
          this.effects += tx.nested
        }
        if (state === 'committed' && this.#is('undoes its commit at a late rollback')) {
          this.effects -= tx.effects
        }
        if (state === 'open' && !this.#is('keeps the key after a rollback')) end('over')
      },
    }
  }

  #answer(request: TransactionRequest<Work>, finish: Finish): KeyRecord {
    const now = this.#store.clock.now()
    const origin = { requestId: null, ip: null, userAgent: null }
    const fresh = {
      ...{ ...request, retentionMs: 0, recoveryPoint: null, input: null },
      ...(this.#is('commits without the origin') ? { origin } : {}),
    }
    const grant = { kind: 'execute', fence: 1, fresh: true, abandoned: false } as const
    return finished(claimed(undefined, { fresh, grant, now }), finish, now)
  }
}

interface Opening {
  readonly request: TransactionRequest<Work>
  /** The record that stood for the identity at the beginning. */
  readonly seen: KeyRecord | undefined
  readonly outcome: 'execute' | 'recover'
}

const IN_PROGRESS: Refusal = { outcome: 'in_progress', leaseLeftMs: null, ageMs: null }

function outcomeOf({ kind }: Decision): 'execute' | 'recover' {
  return kind === 'execute' ? 'execute' : 'recover'
}

/** A harness on transactions that are broken in this way, or whole. */
export function pliableTransactions(broken: TransactionBreak | null): TransactionHarness<Work> {
  const clock = new FakeClock()
  const base = new PliableStore(clock)
  const transactions = new PliableTransactions(base, broken)
  const store: Store<Work> & PliableStore = Object.assign(base, { transactions })
  const isLeftOpen = broken === 'leaves a way to the database open'
  return {
    ...{ store, peer: store, wakesWithinMs: 50, concurrentTransactions: true },
    advance: async (ms) => clock.advance(ms),
    addEffect: (tx) => transactions.execute(tx, () => transactions.addEffect(tx)),
    countEffects: async () => transactions.effects,
    async failStatement(tx) {
      const fail = () => {
        tx.hasFailed = true
      }
      await transactions.execute(tx, fail).catch(() => {})
    },
    keepWays: async (tx) => [
      {
        name: 'a member',
        addEffect: async () => {
          if (!isLeftOpen) tx.access.check()
          transactions.addEffect(tx)
        },
      },
    ],
    leaveNested: (tx) => transactions.execute(tx, () => void tx.nested++),
    async inOwnTransaction(work) {
      const own = freshWork()
      await work(own)
      transactions.effects += own.effects
    },
  }
}
