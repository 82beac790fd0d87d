/**
 * An {@link Admin} that keeps its data in memory, for tests of the dashboard.
 *
 * @module
 */

import type {
  Admin,
  AuditEntry,
  Batch,
  Order,
  OrderResult,
  Page,
  PageQuery,
  RequestFilter,
  RequestSummary,
  StateCounts,
} from '../../src/admin/admin.ts'
import { noCounts } from '../../src/engine/counts.ts'
import type { DeadLetter } from '../../src/engine/letters.ts'
import { hitRate } from '../../src/telemetry/hit-rate.ts'
import {
  NOW,
  type SeededRequest,
  seedDuplicates,
  seedJobs,
  seedLetters,
  seedRequests,
  seedSeries,
  seedWorkers,
} from './seeds.ts'

/** How it behaves. */
export type Mood = 'empty' | 'seeded' | 'error' | 'slow'

/** What tests look at and change. */
export interface MemoryAdmin extends Admin {
  mood: Mood
  readonly requests: SeededRequest[]
  readonly audits: AuditEntry[]
  /** How often each method was called. */
  readonly calls: Record<string, number>
  /** How often each order had an effect. */
  effects: number
  restore(): void
}

const STATES = [
  ...(['running', 'recovering', 'unfinished', 'stuck'] as const),
  ...(['finished', 'failed', 'needs_person', 'expired'] as const),
]

const NAMELESS = { of: '', counts: { ...noCounts(), reaped: 3 } }

class SlowError extends Error {
  readonly code = '57014'
}

/** Makes one with as many requests as asked for. */
export function memoryAdmin(mood: Mood = 'seeded', count = 120): MemoryAdmin {
  const requests: SeededRequest[] = []
  const letters: DeadLetter[] = []
  const audits: AuditEntry[] = []
  const calls: Record<string, number> = {}
  const orders = new Map<string, OrderResult>()
  const batches = new Map<string, Batch>()
  const workers = seedWorkers()

  const all = () => (self.mood === 'empty' ? [] : requests)
  const told = (name: string) => {
    calls[name] = (calls[name] ?? 0) + 1
    if (self.mood === 'error') {
      throw new Error('connect ECONNREFUSED postgres://app:hunter22@127.0.0.1:5432/app')
    }
    if (self.mood === 'slow') throw new SlowError('canceling statement due to statement timeout')
  }

  const write = (order: Order, action: string, subject: string, result: string) => {
    audits.unshift({
      ...{ number: String(audits.length + 1), at: NOW, author: order.author, action, subject },
      ...{ note: order.reason, result, ip: order.ip ?? null },
    })
  }

  /** Carries an order out once. */
  const once = (
    order: Order,
    [action, subject]: readonly [string, string],
    carry: () => OrderResult,
  ) => {
    const before = order.orderKey === undefined ? undefined : orders.get(order.orderKey)
    if (before !== undefined) {
      return 'text' in before && before.outcome === 'done'
        ? { outcome: 'repeated' as const, text: before.text }
        : before
    }
    const result = carry()
    if (result.outcome === 'done') {
      self.effects += 1
      if (order.orderKey !== undefined) orders.set(order.orderKey, result)
    }
    write(order, action, subject, result.outcome)
    return result
  }

  const actOn = (
    action: 'resume' | 'release' | 'expire',
    id: string,
    order: Order,
  ): OrderResult => {
    const request = all().find((one) => one.id === id)
    if (request === undefined) return { outcome: 'not_found' }
    const text = `The request is ${request.state} now.`
    if (order.version !== undefined && order.version !== request.version) {
      return { outcome: 'conflict', state: request.state, text }
    }
    const possible = request.possibilities.find((one) => one.action === action)
    if (!possible?.isAllowed) return { outcome: 'refused', text: possible?.reason ?? '' }
    if (possible.isDangerous && order.confirm !== request.key.slice(-4)) {
      return { outcome: 'unconfirmed', text: 'The charge call was sent at 11:03:11.' }
    }
    request.version = `${request.version}+`
    request.state = action === 'expire' ? 'expired' : 'recovering'
    return { outcome: 'done', text: `Done: ${action}.` }
  }

  const self: MemoryAdmin = {
    ...{ mood, requests, audits, calls, effects: 0 },
    restore() {
      requests.splice(0, requests.length, ...seedRequests(count))
      letters.splice(0, letters.length, ...seedLetters(requests))
      audits.length = 0
      self.effects = 0
      workers.splice(0, workers.length, ...seedWorkers())
    },
    async overview({ windowMs }) {
      told('overview')
      const isEmpty = self.mood === 'empty'
      const series = isEmpty ? [] : seedSeries(Math.max(1, Math.ceil(windowMs / 3_600_000)))
      const sum = (name: 'miss' | 'hit' | 'in_progress' | 'mismatch') =>
        series.reduce((total, { counts }) => total + counts[name], 0)
      const { miss, hit, in_progress, mismatch } = {
        ...{ miss: sum('miss'), hit: sum('hit') },
        ...{ in_progress: sum('in_progress'), mismatch: sum('mismatch') },
      }
      const checked = miss + hit + in_progress + mismatch
      const totals = { ...noCounts(), miss, hit, in_progress, mismatch }
      const half = { ...noCounts(), miss: miss / 2, hit: hit / 2 }
      return {
        ...{ now: NOW, windowMs, series, states: countStates(all()) },
        totals: { ...totals, checked, duplicatesPrevented: hit + in_progress },
        hitRate: hitRate({ hit, checked }),
        // What workers did is counted under no name.
        byOperation: isEmpty ? [] : [{ of: 'POST /rides', counts: half }, NAMELESS],
        byCaller: isEmpty
          ? []
          : [{ of: '9f2c41d07ab3', caller: 'acct_42', counts: half }, NAMELESS],
        recorded: { counts: !isEmpty, duplicates: !isEmpty },
        workers: isEmpty ? [] : workers,
        concerns: isEmpty
          ? []
          : [
              { kind: 'dead_letters', text: '10 requests need a person', count: 10 },
              { kind: 'stuck', text: '10 requests are stuck', count: 10 },
              { kind: 'worker_silent', text: 'No completer is running', count: 1 },
            ],
      }
    },
    async recorded() {
      return { counts: true, duplicates: true }
    },
    async counts(filter = {}) {
      told('counts')
      return countStates(all().filter((one) => matches(one, { ...filter, states: undefined })))
    },
    async list(filter, page) {
      told('list')
      return pageOf(
        all().filter((one) => matches(one, filter)),
        page,
      )
    },
    async find(id) {
      told('find')
      return all().find((one) => one.id === id)
    },
    async findByKey(key) {
      told('findByKey')
      return all().filter((one) => one.key === key)
    },
    async reveal(id, order) {
      told('reveal')
      const request = all().find((one) => one.id === id)
      if (request === undefined) return undefined
      write(order, 'reveal', id, 'done')
      return {
        input: { amount: 9_007_199_254_740_993n, card: 'REDACTED:5e884898', note: '<b>hi</b>' },
        state: { chargeId: 'ch_1' },
        response: {
          ...{ status: 201, headers: [['Content-Type', 'application/json']] },
          body: { hex: 'cafe', bytes: 2 },
        },
      }
    },
    async duplicates({ results, ...page }) {
      told('duplicates')
      const notes = self.mood === 'empty' ? [] : seedDuplicates(80)
      return pageOf(
        notes.filter(({ result }) => results === undefined || results.includes(result)),
        page,
      )
    },
    async letters({ isSettled, ...page }) {
      told('letters')
      const found = self.mood === 'empty' ? [] : letters
      return pageOf(
        found.filter(
          ({ settledAt }) => isSettled === undefined || (settledAt !== null) === isSettled,
        ),
        page,
      )
    },
    async letter(letter) {
      told('letter')
      return letters.find((one) => one.letter === letter)
    },
    async jobs({ state, ...page }) {
      told('jobs')
      const jobs = self.mood === 'empty' ? [] : seedJobs(70)
      return pageOf(
        jobs.filter((one) => state === undefined || one.state === state),
        page,
      )
    },
    async workers() {
      told('workers')
      return self.mood === 'empty' ? [] : workers
    },
    async audit(page) {
      told('audit')
      return pageOf(self.mood === 'empty' ? [] : audits, page)
    },
    async act(action, id, order) {
      told('act')
      return once(order, [action, id], () => actOn(action, id, order))
    },
    async settle(letter, settlement, order) {
      told('settle')
      return once(order, ['settle', letter], () => {
        const index = letters.findIndex((one) => one.letter === letter)
        const found = letters[index]
        if (found === undefined) return { outcome: 'not_found' }
        if (found.settledAt !== null) return { outcome: 'refused', text: 'It is settled.' }
        const { way } = settlement
        const settled = { way, author: order.author, note: order.reason }
        letters[index] = { ...found, settledAt: NOW, settlement: settled }
        return { outcome: 'done', text: `Settled: ${way}.` }
      })
    },
    async retryJob(jobId, order) {
      told('retryJob')
      return once(order, ['retry_job', jobId], () => ({ outcome: 'done', text: 'It is due now.' }))
    },
    async steerWorker(worker, way, order) {
      told('steerWorker')
      return once(order, [`worker_${way}`, worker], () => {
        const index = workers.findIndex((one) => one.worker === worker)
        const found = workers[index]
        if (found === undefined) return { outcome: 'not_found' }
        if (way !== 'run_once') workers[index] = { ...found, isPaused: way === 'pause' }
        return { outcome: 'done', text: `The ${worker} is told: ${way}.` }
      })
    },
    async startBatch(action, on, order) {
      told('startBatch')
      const known = batches.get(order.orderKey ?? '')
      if (known !== undefined) return known
      const ids =
        'ids' in on
          ? on.ids
          : all()
              .filter((one) => matches(one, on.filter))
              .map(({ id }) => id)
      const results = ids.map((id) => {
        const { outcome } = actOn(action, id, { ...order, orderKey: `${order.orderKey} ${id}` })
        return { id, result: outcome }
      })
      self.effects += 1
      const failed = results.filter(({ result }) => result !== 'done').length
      const batch: Batch = {
        ...{ batch: `b${batches.size + 1}`, action, total: ids.length, failed, results },
        ...{ done: ids.length - failed, isOver: true, isCancelled: false },
      }
      batches.set(order.orderKey ?? '', batch)
      batches.set(batch.batch, batch)
      write(order, `batch_${action}`, batch.batch, 'done')
      return batch
    },
    async batch(batch) {
      told('batch')
      return batches.get(batch)
    },
    async cancelBatch(batch, order) {
      told('cancelBatch')
      const found = batches.get(batch)
      if (found === undefined || found.isCancelled) return found
      const cancelled = { ...found, isCancelled: true, isOver: true }
      batches.set(batch, cancelled)
      self.effects += 1
      write(order, 'batch cancel', batch, 'done')
      return cancelled
    },
  }
  self.restore()
  return self
}

function countStates(requests: readonly RequestSummary[]): StateCounts {
  const counts = STATES.map((state) => [
    state,
    requests.filter((one) => one.state === state).length,
  ])
  // Every state is there.
  return Object.fromEntries(counts) as StateCounts
}

function matches(
  request: RequestSummary,
  filter: { [name in keyof RequestFilter]: RequestFilter[name] | undefined },
): boolean {
  const { states, operation, caller, key, recoveryPoint, status } = filter
  const { olderThanMs, duplicatesMin } = filter
  const hasKey = key?.endsWith('*')
    ? request.key.startsWith(key.slice(0, -1))
    : key === undefined || request.key === key
  return (
    hasKey &&
    (states === undefined || states.includes(request.state)) &&
    (operation === undefined || request.operation === operation) &&
    (caller === undefined || request.caller === caller) &&
    (recoveryPoint === undefined || request.recoveryPoint === recoveryPoint) &&
    (status === undefined || request.status === status) &&
    (filter.isUnknown === undefined || request.personAt !== null) &&
    (olderThanMs === undefined || NOW - request.createdAt >= olderThanMs) &&
    (duplicatesMin === undefined || request.duplicates >= duplicatesMin)
  )
}

function pageOf<T>(items: readonly T[], { limit, after }: PageQuery): Page<T> {
  const from = Number(after ?? 0)
  const next = from + limit < items.length ? String(from + limit) : null
  return { items: items.slice(from, from + limit), next }
}
