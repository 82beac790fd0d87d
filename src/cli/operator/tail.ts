/**
 * Follows the decisions: what is new among the requests and among the duplicates that were noted.
 *
 * @module
 */

import type { Admin, DuplicateNote, RequestFilter, RequestSummary } from '../../admin/admin.ts'

/** A decision about a request. */
export interface Decision {
  /** Milliseconds since 1970, by the store's clock. */
  readonly at: number
  readonly decision:
    | 'miss'
    | 'hit'
    | 'conflict'
    | 'mismatch'
    | 'unknown'
    | 'resume'
    | 'finished'
    | 'failed'
    | 'needs_person'
  readonly id: string
  readonly operation: string
  readonly key: string | null
  readonly caller: string | null
  readonly status: number | null
  readonly requestId: string | null
}

/** How many of the newest are looked at. */
const LIMIT = 200

const RESULTS: Readonly<Record<DuplicateNote['result'], Decision['decision']>> = {
  ...{ replayed: 'hit', in_progress: 'conflict', mismatch: 'mismatch', unknown: 'unknown' },
}

const ENDS: ReadonlySet<string> = new Set(['finished', 'failed', 'needs_person'])

/** A view that moves on with each look. */
export class Tail {
  readonly #admin: Admin
  readonly #filter: RequestFilter
  /** What was last seen of each request. */
  #seen = new Map<string, RequestSummary>()
  #notes = new Set<string>()
  #since = 0

  constructor(admin: Admin, filter: RequestFilter) {
    this.#admin = admin
    this.#filter = filter
  }

  /** Begins now, or so many milliseconds ago, by the store's clock. */
  async start(agoMs: number): Promise<void> {
    const { now } = await this.#admin.overview({ windowMs: 1 })
    this.#since = now - agoMs
    const requests = await this.#requests()
    // What is older than that is known already.
    const old = requests.filter(({ activeAt }) => activeAt < this.#since)
    this.#seen = new Map(old.map((request) => [request.id, request]))
  }

  /** What has been decided since the last look, oldest first. */
  async look(): Promise<readonly Decision[]> {
    const requests = await this.#requests()
    const changes = requests.flatMap((request) => this.#changesOf(request))
    this.#seen = new Map([...this.#seen, ...requests.map((one) => [one.id, one] as const)])
    const decisions = [...changes, ...(await this.#duplicates())]
    return decisions.sort((a, b) => a.at - b.at)
  }

  async #requests(): Promise<readonly RequestSummary[]> {
    return (await this.#admin.list(this.#filter, { limit: LIMIT })).items
  }

  #changesOf(request: RequestSummary): readonly Decision[] {
    const before = this.#seen.get(request.id)
    if (before?.version === request.version && before.state === request.state) return []
    const isNew = before === undefined || before.createdAt !== request.createdAt
    const isTaken = !isNew && request.attempts > before.attempts
    const isEnd = ENDS.has(request.state) && (isNew || before.state !== request.state)
    return [
      ...(isNew && request.createdAt >= this.#since
        ? [decisionOf(request, 'miss', request.createdAt)]
        : []),
      ...(isTaken || (isNew && request.attempts > 1)
        ? [decisionOf(request, 'resume', request.activeAt)]
        : []),
      // The states that are ends are named as the decisions are.
      ...(isEnd
        ? [decisionOf(request, request.state as Decision['decision'], request.activeAt)]
        : []),
    ]
  }

  async #duplicates(): Promise<readonly Decision[]> {
    const { items } = await this.#admin.duplicates({ limit: LIMIT })
    const decisions: Decision[] = []
    const present = new Set<string>()
    for (const note of items) {
      const name = [note.id, note.at, note.result, note.requestId].join(' ')
      present.add(name)
      if (note.at < this.#since || this.#notes.has(name)) continue
      const request = await this.#requestOf(note.id)
      if (request === undefined) continue
      const { at, requestId } = note
      decisions.push({ ...decisionOf(request, RESULTS[note.result], at), requestId })
    }
    this.#notes = present
    return decisions
  }

  /** The request of a duplicate, if it is one of those that are looked for. */
  async #requestOf(id: string): Promise<RequestSummary | undefined> {
    const known = this.#seen.get(id)
    if (known !== undefined) return known
    const found = await this.#admin.find(id)
    return found !== undefined && matches(found, this.#filter) ? found : undefined
  }
}

function matches(request: RequestSummary, filter: RequestFilter): boolean {
  const { states, operation, caller, key, status, recoveryPoint } = filter
  const isKey =
    key?.endsWith('*') === true ? request.key.startsWith(key.slice(0, -1)) : request.key === key
  return (
    (states === undefined || states.includes(request.state)) &&
    (operation === undefined || operation === request.operation) &&
    (caller === undefined || caller === request.caller) &&
    (status === undefined || status === request.status) &&
    (recoveryPoint === undefined || recoveryPoint === request.recoveryPoint) &&
    (key === undefined || isKey)
  )
}

function decisionOf(request: RequestSummary, decision: Decision['decision'], at: number): Decision {
  const { id, operation, key, caller, status } = request
  const isEnd = decision === 'finished' || decision === 'failed' || decision === 'hit'
  return {
    at,
    decision,
    id,
    operation,
    key,
    caller,
    status: isEnd ? status : null,
    requestId: null,
  }
}
