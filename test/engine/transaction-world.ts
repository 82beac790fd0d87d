import { decide } from '../../src/core/decide.ts'
import { createReprise, type Reprise, type RepriseOptions } from '../../src/engine/reprise.ts'
import type { Finish, Refusal, Store } from '../../src/engine/store.ts'
import { checkTransactionRoute, type Transact, transact } from '../../src/engine/transact.ts'
import type {
  OpenTransaction,
  TransactionFault,
  TransactionRequest,
  Transactions,
} from '../../src/engine/transactions.ts'
import { refused } from '../../src/stores/answer.ts'
import { createWorld, type World } from './world.ts'

/** What a handler writes to: rows that count from the commit on. */
export type Rows = string[]

/** How a commit ends: with an error of a kind, before or after it went through, or not at all. */
export type CommitTrouble = Exclude<TransactionFault, 'other'> | 'disconnected after' | 'hangs'

class Broken extends Error {
  readonly fault: TransactionFault

  constructor(fault: TransactionFault) {
    super(`broken: ${fault}`)
    this.fault = fault
  }
}

/** Transactions over a memory store: locks in a map, rows in an array. */
export class FakeTransactions implements Transactions<Rows> {
  readonly run: Transact = transact
  readonly check = checkTransactionRoute
  /** What was committed. */
  readonly rows: Rows = []
  readonly ends: ('commit' | 'rollback')[] = []
  /** How many transactions are open. */
  open = 0
  beats = 0
  /** What the next commits meet. */
  readonly troubles: CommitTrouble[] = []
  /** Awaited by each `begin` before anything else. */
  onBegin: () => Promise<void> = async () => {}
  /** Awaited by a commit that breaks, once its locks are gone as those of a lost connection are. */
  onCommit: () => Promise<void> = async () => {}
  readonly #store: Store
  readonly #locks = new Map<string, string>()
  readonly #now: () => number

  constructor(store: Store, now: () => number) {
    this.#store = store
    this.#now = now
  }

  async begin(request: TransactionRequest<Rows>): Promise<OpenTransaction<Rows> | Refusal> {
    await this.onBegin()
    const record = (await this.#store.find(request.id))?.record
    const claimant = { ...request, fingerprints: request.fingerprintsAccepted }
    const decision = decide(record, claimant, this.#now())
    if (!('fence' in decision)) return refused(decision.kind, record, this.#now())
    const lock = this.#locks.get(request.id)
    if (lock === request.fingerprint) {
      return { outcome: 'in_progress', leaseLeftMs: null, ageMs: null }
    }
    if (lock !== undefined) return { outcome: 'mismatch' }
    return this.#open(request)
  }

  classify(error: unknown): TransactionFault {
    return error instanceof Broken ? error.fault : 'other'
  }

  #open(request: TransactionRequest<Rows>): OpenTransaction<Rows> {
    const tx = request.join ?? []
    let isOpen = true
    this.open++
    this.#locks.set(request.id, request.fingerprint)
    const end = (how: 'commit' | 'rollback') => {
      if (!isOpen) return
      isOpen = false
      this.open--
      this.ends.push(how)
      this.#locks.delete(request.id)
    }
    const commit = async (finish: Finish) => {
      const trouble = this.troubles.shift()
      if (trouble === 'hangs') await new Promise(() => {})
      if (trouble !== undefined && trouble !== 'disconnected after') {
        this.#locks.delete(request.id)
        await this.onCommit()
        throw broken(trouble)
      }
      if (request.join === undefined) await this.#keep(request, { tx, finish })
      end('commit')
      if (trouble !== undefined) throw broken('disconnected')
    }
    const keepAlive = async () => void this.beats++
    const close = () => {}
    return {
      outcome: 'execute',
      tx,
      close,
      commit,
      keepAlive,
      rollback: async () => end('rollback'),
    }
  }

  async #keep(
    request: TransactionRequest<Rows>,
    { tx, finish }: { tx: Rows; finish: Finish },
  ): Promise<void> {
    const fresh = { retentionMs: finish.retentionMs, recoveryPoint: null, input: null }
    const claim = await this.#store.claim({ ...request, ...fresh })
    if (!('claim' in claim)) throw broken('lost')
    await this.#store.finish(claim.claim, finish)
    this.rows.push(...tx)
  }
}

/** An error that {@link FakeTransactions.classify} takes for `fault`. */
function broken(fault: string): Error {
  // Only the names of faults are handed in; a commit that hangs throws nothing.
  return new Broken(fault as TransactionFault)
}

export interface TransactionWorld extends Omit<World, 'reprise' | 'process'> {
  readonly reprise: Reprise<Rows>
  readonly transactions: FakeTransactions
}

export function createTransactionWorld(
  options: Partial<RepriseOptions<Rows>> = {},
  shared?: Pick<TransactionWorld, 'store' | 'transactions'>,
): TransactionWorld {
  const { reprise: _, process: __, ...own } = createWorld()
  const world = { ...own, store: shared?.store ?? own.store }
  const transactions =
    shared?.transactions ?? new FakeTransactions(world.store, () => world.clock.now())
  const store: Store<Rows> = Object.assign(Object.create(null) as object, {
    ...bound(world.store),
    transactions,
  })
  const { clock, events } = world
  const onEvent = (event: World['events'][number]) => void events.push(event)
  const reprise = createReprise<Rows>({ store, clock, onEvent, ...options })
  return { ...world, transactions, reprise }
}

function bound(store: Store): Omit<Store, 'transactions'> {
  return {
    name: 'fake',
    ready: () => store.ready(),
    claim: (request) => store.claim(request),
    renew: (claim, leaseMs) => store.renew(claim, leaseMs),
    advance: (claim, step) => store.advance(claim, step),
    finish: (claim, finish) => store.finish(claim, finish),
    release: (claim, mode) => store.release(claim, mode),
    find: (id) => store.find(id),
    list: (query) => store.list(query),
    sweep: (limit) => store.sweep(limit),
    stats: () => store.stats(),
    close: async () => {},
  }
}
