/**
 * What the pages of the dashboard are tested with.
 *
 * @module
 */

import type {
  DuplicateNote,
  JobSummary,
  RequestDetail,
  RequestState,
  WorkerSummary,
} from '../../src/admin/admin.ts'
import { noCounts } from '../../src/engine/counts.ts'
import type { DeadLetter, HistoryEntry } from '../../src/engine/letters.ts'

export const NOW = Date.UTC(2026, 10, 16, 12, 0, 0)
const MINUTE = 60_000
const HOUR = 60 * MINUTE

/** Data that would run as code on a page that does not escape it. */
const EVIL = '<img src=x onerror="document.title=\'pwned\'">'

const STATES: readonly RequestState[] = [
  ...(['finished', 'finished', 'finished', 'failed', 'running', 'stuck'] as const),
  ...(['finished', 'unfinished', 'recovering', 'needs_person', 'finished', 'expired'] as const),
]
const OPERATIONS = ['POST /rides', 'POST /charges', 'POST /tasks', 'PUT /agents/:id'] as const
const CALLERS = ['acct_northwind', 'acct_globex', 'acct_initech'] as const

export interface SeededRequest extends RequestDetail {
  version: string
  state: RequestState
}

/** As many requests as asked for, the newest first. */
export function seedRequests(count: number): SeededRequest[] {
  return Array.from({ length: count }, (_, index) => requestOf(index))
}

/** The digits of a number, spread over 32 places, so that ids and keys look like digests. */
function hexOf(index: number): string {
  const mixed = BigInt(index + 1) * 0x9e3779b97f4a7c15f39cc0605cedc835n
  return (mixed & 0xffffffffffffffffffffffffffffffffn).toString(16).padStart(32, '0')
}

function keyOf(index: number): string {
  if (index === 3) return `evil-${EVIL}`
  const hex = hexOf(index)
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-4${hex.slice(13, 16)}-a${hex.slice(17, 20)}-${hex.slice(20)}`
}

function requestOf(index: number): SeededRequest {
  const state = STATES[index % STATES.length] ?? 'finished'
  const createdAt = NOW - index * 7 * MINUTE - 4 * MINUTE
  const isOver = state === 'finished' || state === 'failed' || state === 'expired'
  const key = keyOf(index)
  const isDead = state === 'needs_person'
  return {
    ...{ id: hexOf(index + 1_000_000), key, state, createdAt, version: 'v1', now: NOW },
    personAt: null,
    callerDigest: hexOf(index + 3_000_000).slice(0, 22),
    operation: index === 3 ? `POST ${EVIL}` : (OPERATIONS[index % OPERATIONS.length] ?? ''),
    caller: CALLERS[index % CALLERS.length] ?? '',
    recoveryPoint: isOver ? null : 'charge_created',
    attempts: 1 + (index % 3),
    duplicates: index % 4,
    status: isOver ? (state === 'failed' ? 402 : 201) : null,
    activeAt: createdAt + 2 * MINUTE,
    finishedAt: isOver ? createdAt + 2 * MINUTE : null,
    expiresAt: state === 'expired' ? NOW - MINUTE : createdAt + 24 * HOUR,
    fingerprint: hexOf(index + 2_000_000),
    requestId: `req_${hexOf(index).slice(0, 12)}`,
    ip: '203.0.113.7',
    userAgent: index === 3 ? EVIL : 'acme-ios/4.2 (iPhone)',
    resource: isOver ? { type: 'ride', id: `ride_${index}` } : null,
    leaseOwner: state === 'running' || state === 'recovering' ? 'run_5f3a9c' : null,
    leaseUntil: state === 'running' || state === 'recovering' ? NOW + 20_000 : null,
    history: historyOf(index, createdAt, isOver),
    duplicateNotes: notesOf(index, createdAt),
    jobs: index % 2 === 0 ? [jobOf(index, hexOf(index + 1_000_000))] : [],
    letter: isDead ? letterIdOf(index) : null,
    explanation: explanationOf(state),
    story: [
      'The request came in and was given the lease.',
      'Phase ride_created committed.',
      isOver ? 'The answer was stored.' : 'The process was lost while the charge was under way.',
    ],
    possibilities: possibilitiesOf(state),
  }
}

function historyOf(index: number, from: number, isOver: boolean): HistoryEntry[] {
  const entry = (over: Partial<HistoryEntry>): HistoryEntry => ({
    ...{ fence: 1, point: 'started', actor: 'request', node: 'web-1:4121', ending: 'advanced' },
    ...{ reached: null, callKey: null, error: null, beganAt: from, endedAt: from + 40 },
    ...over,
  })
  const first = [
    entry({ reached: 'ride_created' }),
    entry({
      ...{ point: 'ride_created', callKey: `rp_${hexOf(index).slice(0, 20)}`, ending: null },
      ...{ beganAt: from + 60, endedAt: null },
    }),
  ]
  if (!isOver) return first
  const again = { fence: 2, actor: 'completer' as const, node: 'worker-1:7' }
  return [
    ...first,
    entry({
      ...{ ...again, point: 'ride_created', callKey: `rp_${hexOf(index).slice(0, 20)}` },
      ...{ ending: 'threw', error: index === 3 ? EVIL : 'Error: card declined\n    at charge' },
      ...{ beganAt: from + 38_000, endedAt: from + 38_900 },
    }),
    entry({
      ...{ ...again, point: 'ride_created', reached: 'charge_created' },
      ...{ beganAt: from + 60_000, endedAt: from + 60_500 },
    }),
    entry({
      ...{ ...again, point: 'charge_created', ending: 'responded' },
      ...{ beganAt: from + 60_500, endedAt: from + 60_700 },
    }),
  ]
}

const RESULTS: readonly DuplicateNote['result'][] = ['replayed', 'in_progress', 'mismatch']

function notesOf(index: number, from: number): DuplicateNote[] {
  return Array.from({ length: index % 4 }, (_, nth) => noteOf(index, from + nth * MINUTE, nth))
}

function noteOf(index: number, at: number, nth: number): DuplicateNote {
  const result = RESULTS[nth % RESULTS.length] ?? 'replayed'
  return {
    ...{ id: hexOf(index + 1_000_000), operation: OPERATIONS[index % OPERATIONS.length] ?? '', at },
    ...{ result, requestId: `req_dup_${nth}`, ip: '203.0.113.7', userAgent: 'acme-ios/4.2' },
    fingerprint: result === 'mismatch' ? hexOf(index + 3_000_000) : null,
  }
}

/** Duplicates of all requests, the newest first. */
export function seedDuplicates(count: number): DuplicateNote[] {
  return Array.from({ length: count }, (_, index) => noteOf(index, NOW - index * MINUTE, index))
}

function letterIdOf(index: number): string {
  return String(1000 + index)
}

function jobOf(index: number, id: string | null): JobSummary {
  const states = ['waiting', 'set_aside', 'later'] as const
  const state = states[index % 3] ?? 'waiting'
  return {
    ...{ jobId: String(5000 + index), id, name: 'send_receipt', state, attempts: index % 4 },
    ...{ stagedAt: NOW - index * MINUTE, runAt: state === 'later' ? NOW + HOUR : null },
    lastError: state === 'set_aside' ? `SMTP 550: ${EVIL}` : null,
  }
}

/** Staged jobs, the newest first. */
export function seedJobs(count: number): JobSummary[] {
  return Array.from({ length: count }, (_, index) => jobOf(index, hexOf(index + 1_000_000)))
}

/** The letter of each request that needs a person. */
export function seedLetters(requests: readonly SeededRequest[]): DeadLetter[] {
  return requests.flatMap((request, index) => {
    if (request.letter === null) return []
    const { id, caller, operation, key, history, requestId, ip, userAgent, createdAt } = request
    return [
      {
        ...{ id, caller, operation, key, letter: letterIdOf(index), cause: 'outcome_unknown' },
        ...{ point: 'ride_created', error: `connect ETIMEDOUT ${EVIL}`, fence: 2, tries: 3 },
        ...{ input: new Uint8Array([1]), state: null, origin: { requestId, ip, userAgent } },
        ...{ history, createdAt, buriedAt: createdAt + HOUR, settledAt: null, settlement: null },
      } satisfies DeadLetter,
    ]
  })
}

/** The three workers: one works, one is paused, nobody has seen the third. */
export function seedWorkers(): WorkerSummary[] {
  const node = { node: 'api-1 (pid 4121)', agoMs: 900, tookMs: 12, done: 7, error: null }
  return [
    { worker: 'enqueuer', nodes: [node], isPaused: false, isSilent: false, backlog: 3 },
    { worker: 'completer', nodes: [], isPaused: false, isSilent: true, backlog: 12 },
    {
      ...{ worker: 'reaper', isPaused: true, isSilent: false, backlog: 10_000 },
      nodes: [
        {
          ...node,
          node: 'api-2',
          agoMs: 65_000,
          error: 'deadlock detected (node_modules/reprise/docs/errors.md#idempotency-conflict)',
        },
      ],
    },
  ]
}

/** Sums by the hour. */
export function seedSeries(hours: number): { of: number; counts: ReturnType<typeof noCounts> }[] {
  return Array.from({ length: hours }, (_, index) => {
    const miss = 420 + Math.round(180 * Math.sin(index / 3))
    const counts = { ...noCounts(), miss, hit: Math.round(miss / 3), in_progress: 9, mismatch: 2 }
    return { of: NOW - (NOW % HOUR) - (hours - 1 - index) * HOUR, counts }
  })
}

function explanationOf(state: RequestState): string {
  switch (state) {
    case 'needs_person':
      return 'Nobody can say whether the charge was made; the completer gave up after 3 tries.'
    case 'stuck':
      return 'Nobody holds the lease and the grace period ended 3 minutes ago; the completer runs next in 2 s.'
    case 'running':
      return 'The lease is held by run_5f3a9c for another 20 s.'
    default:
      return 'It is finished; its answer is replayed until it expires.'
  }
}

function possibilitiesOf(state: RequestState): RequestDetail['possibilities'] {
  const isOpen = state === 'stuck' || state === 'unfinished'
  const isHeld = state === 'running' || state === 'recovering'
  return [
    {
      ...{ action: 'resume', isAllowed: isOpen, isDangerous: false },
      reason: isOpen ? 'Has the completer take it up at once.' : `It is ${state}.`,
    },
    {
      ...{ action: 'release', isAllowed: isHeld, isDangerous: true },
      reason: isHeld
        ? 'Takes the lease away; the run that has it may still take effect.'
        : 'Nobody holds the lease.',
    },
    {
      ...{ action: 'expire', isAllowed: !isHeld, isDangerous: true },
      reason: isHeld
        ? 'It is running: wait, or release the lease first.'
        : 'Forgets the request: the same key runs anew. The charge call was sent at 11:03:11.',
    },
  ]
}
