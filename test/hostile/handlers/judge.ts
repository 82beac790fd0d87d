/**
 * The judge. It knows nothing of how Reprise works, only what was promised: the request ran once,
 * whole, or not at all, and the client was told the truth.
 *
 * @module
 */

import { type Told, UNANSWERED } from './doors.ts'
import type { Adapter, Case, Mode } from './program.ts'
import type { Play, RunLog, Sent } from './run.ts'
import type { Committed } from './world.ts'

/** What is known of one request when nothing of it goes on any more. */
export interface Evidence {
  readonly play: Play
  /** Everything that its client was told, in order. */
  readonly told: readonly Told[]
  /** The answer that the client took for good; `undefined` when there was none. */
  readonly definite: Told | undefined
  /** What it was told when it asked once more. */
  readonly again: Told | undefined
  /** What the handlers began and what has not ended. */
  readonly pending: readonly string[]
}

/** Statuses by which a handler says that it did not take the request on, so that another run is fair. */
const NOT_TAKEN_ON: ReadonlySet<number> = new Set([400, 429])

/**
 * Adapters that are told when the handler ends after its answer. Express does not tell, and elsewhere
 * the answer is what the handler's promise gives.
 */
const KNOWS_THE_END: ReadonlySet<Adapter> = new Set(['koa', 'fastify'])

/** Whether this is an answer for good: of the handler, or that nobody can say. */
export function isDefinite({ status, body, code, isReplay }: Told): boolean {
  if (code === 'idempotency-outcome-unknown' || (isReplay && code === null)) return true
  return code === null && status !== null && body.startsWith('run-') && isStored(status)
}

function isStored(status: number): boolean {
  return status < 400 || status === 402
}

/** What is wrong; nothing if nothing is. */
export function judge(
  play: Case,
  evidence: readonly Evidence[],
  committed: Committed,
): readonly string[] {
  return [
    ...evidence.flatMap((one) => judgeOne(play, one, committed)),
    ...(play.mode === 'lease' ? [] : sharedTransactions(committed)),
  ]
}

function judgeOne(play: Case, evidence: Evidence, committed: Committed): readonly string[] {
  const { key } = evidence.play
  const found =
    play.mode === 'lease'
      ? judgeLease(play, evidence)
      : judgeTransaction(play.mode, evidence, committed)
  return [...judgeAnswers(evidence), ...found].map((text) => `${key}: ${text}`)
}

/** Whatever the mode: there is an answer, and it stays the same. */
function judgeAnswers({ told, definite, again, pending }: Evidence): readonly string[] {
  const found = pending.map((text) => `never came to an end: ${text}`)
  if (told.includes(UNANSWERED)) found.push(`a request was never answered; told ${listOf(told)}`)
  if (definite === undefined) {
    found.push(`stuck: no definite answer; told ${listOf(told)}`)
    return found
  }
  const isUnknown = definite.code !== null
  const stored = told.filter((one) => isDefinite(one) && one.code === null)
  const different = stored.find((one) => !isSame(one, stored[0]))
  if (different !== undefined) {
    found.push(`two answers for good: ${listOf(stored)}`)
  }
  if (!isUnknown && (again === undefined || !isSame(again, definite))) {
    found.push(`told ${textOf(definite)}, and later ${again ? textOf(again) : listOf(told)}`)
  }
  const replayed = told.find((one) => one.isReplay && one.body === 'front')
  if (replayed !== undefined) found.push('the answer of the middleware in front was stored')
  return found
}

function judgeTransaction(
  mode: Mode,
  { play, definite }: Evidence,
  committed: Committed,
): readonly string[] {
  if (definite === undefined) return []
  if (definite.code !== null) return [`told that nobody knows, in mode ${mode}`]
  const winners = winnersOf(definite, play, committed)
  return [
    ...judgeRuns(play.logs, winners, committed),
    ...judgeInner(play, committed),
    ...(mode === 'phases' ? [] : judgeRecord(play, winners, committed)),
  ]
}

/**
 * The runs that were answered: the answer names them. One that the framework made of an error names
 * none; then it is the run whose rows are there.
 */
function winnersOf({ body }: Told, { logs }: Play, committed: Committed): ReadonlySet<string> {
  if (body.startsWith('run-')) return new Set(body.split(' '))
  const there = logs.filter(({ sent }) => sent.some((one) => isCommitted(one, committed)))
  return new Set(there.slice(0, 1).map(({ id }) => id))
}

/** The rows and jobs are those of the runs that were answered, all of them, and no others. */
function judgeRuns(
  logs: readonly RunLog[],
  winners: ReadonlySet<string>,
  committed: Committed,
): readonly string[] {
  const found: string[] = []
  for (const log of logs) {
    if (log.isEndedByItself) continue
    for (const sent of log.sent) {
      const isThere = isCommitted(sent, committed)
      const isWinner = winners.has(log.id)
      if (isThere && !isWinner) found.push(`${nameOf(sent)} of a run that came to nothing is there`)
      if (!isWinner || sent.maybe) continue
      if (sent.state === 'done' && !isThere) found.push(`${nameOf(sent)} was confirmed and is lost`)
      if (sent.state === 'failed' && isThere) {
        found.push(`${nameOf(sent)} failed (${String(sent.error)}) and is there`)
      }
    }
  }
  return found
}

/** The request inside the request ran once or not at all. */
function judgeInner({ innerLogs, innerKey }: Play, { rows }: Committed): readonly string[] {
  const there = rows.filter(({ key }) => key === innerKey)
  const known = there.filter(({ run }) => innerLogs.some(({ id }) => id === run))
  if (known.length !== there.length || there.length > 1) {
    return [`the request inside the request ran ${there.length} times`]
  }
  return []
}

/** The rows and the record were made by the same transaction. */
function judgeRecord(
  { key, logs }: Play,
  winners: ReadonlySet<string>,
  { rows, records }: Committed,
): readonly string[] {
  const record = records.get(key)
  const plain = logs.filter((log) => winners.has(log.id) && !log.hasNested && !log.isEndedByItself)
  const ids = new Set(plain.map(({ id }) => id))
  return rows
    .filter(({ run, name, xid }) => ids.has(run) && name !== 'beside' && xid !== null)
    .filter(({ xid }) => record !== undefined && xid !== record)
    .map(({ run, name }) => `${run} ${name} is of another transaction than its record`)
}

/** No row was made in the transaction of another request. */
function sharedTransactions({ rows }: Committed): readonly string[] {
  const owners = new Map<string, string>()
  const found: string[] = []
  for (const { key, run, name, xid } of rows) {
    if (xid === null || name === 'beside') continue
    const owner = owners.get(xid)
    if (owner !== undefined && owner !== key) {
      found.push(`${key}: ${run} ${name} is in a transaction of ${owner}`)
    }
    owners.set(xid, key)
  }
  return found
}

/** Under a lease another run is fair only after the handler said that it did not take the request on. */
function judgeLease({ adapter }: Case, { play, told, definite }: Evidence): readonly string[] {
  const found: string[] = []
  play.logs.forEach((log, index) => {
    const next = play.logs[index + 1]
    if (next === undefined) return
    const answeredAt = log.answeredAt ?? log.settledAt
    const endedAt = KNOWS_THE_END.has(adapter) ? log.settledAt : answeredAt
    if (endedAt === undefined || endedAt > next.beganAt) {
      found.push(`${next.id} began while ${log.id} was still running`)
    }
    const status = statusOf(adapter, log)
    if (status === undefined || !NOT_TAKEN_ON.has(status)) {
      found.push(`${next.id} began after ${log.id}, which may have taken effect (${status})`)
    }
  })
  const [only] = play.logs
  const isClean = only !== undefined && !only.hasCut && !only.hasThrown && play.logs.length === 1
  const [first, second] = only?.answers ?? []
  if (
    isClean &&
    first?.status === 201 &&
    second === undefined &&
    definite?.code === 'idempotency-outcome-unknown'
  ) {
    found.push(`${only.id} answered 201, and the client was told ${listOf(told)}`)
  }
  return found
}

/**
 * The status of a run's answer: of the first one. What is assigned to the context of Koa is no answer
 * before the handler has ended, and the last assignment is; one that was written to the response is first.
 */
function statusOf(adapter: Adapter, { answers }: RunLog): number | undefined {
  if (adapter !== 'koa') return answers[0]?.status
  const inTime = answers.filter(({ isLate }) => !isLate)
  return (inTime.find(({ isRaw }) => isRaw) ?? inTime.at(-1) ?? answers[0])?.status
}

function isCommitted(sent: Sent, { rows, jobs }: Committed): boolean {
  if (sent.kind === 'job') return jobs.some((job) => job.name === sent.name && job.run === sent.run)
  return rows.some(({ run, name }) => run === sent.run && name === sent.name)
}

function nameOf({ run, name }: Sent): string {
  return `${run} ${name}`
}

function isSame(one: Told, other: Told | undefined): boolean {
  return one.status === other?.status && one.body === other.body
}

/** What was told, in a word. */
function textOf({ status, body, code, isReplay }: Told): string {
  if (status === null) return 'cut'
  return `${status} ${code ?? body}${isReplay ? ' again' : ''}`
}

/** Everything that was told; what came several times in a row is said once. */
function listOf(told: readonly Told[]): string {
  const groups: { readonly text: string; times: number }[] = []
  for (const text of told.map(textOf)) {
    const last = groups.at(-1)
    if (last?.text === text) last.times++
    else groups.push({ text, times: 1 })
  }
  return groups.map(({ text, times }) => (times > 1 ? `${times} × ${text}` : text)).join(', ')
}
