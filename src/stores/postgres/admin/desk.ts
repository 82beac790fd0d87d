/**
 * The operator's view of PostgreSQL.
 *
 * @module
 */

import { callerDigest } from '../../../core/identity.ts'
import type { CountStore } from '../../../engine/counts.ts'
import type {
  Desk,
  DeskFilter,
  DeskPage,
  DeskQuery,
  DeskView,
  NoteBatch,
} from '../../../engine/desk.ts'
import type { DeskBatches } from '../../../engine/desk-batches.ts'
import type { Client, Rows, Value } from '../client.ts'
import { attempt } from '../faults.ts'
import { schemaTrouble } from '../migrate.ts'
import type { Notices } from '../notices.ts'
import { pack } from '../record.ts'
import { parseHistory, toLetter } from '../work/letters.ts'
import type { WorkQueries } from '../work/queries.ts'
import { serial } from '../work/serial.ts'
import { PostgresBatches } from './batches.ts'
import { countRequests, listRequests, notOurs } from './lists.ts'
import { PostgresOrders, steeringId } from './orders.ts'
import { type DeskParts, reading } from './parts.ts'
import { type DeskQueries, deskQueries } from './queries/index.ts'
import { walkQueries, walkValues } from './queries/walk.ts'
import { toAuditEntry, toDeskJob, toDeskRow, toNote } from './rows.ts'

/** What is read with one request at most. */
const NOTES_MAX = 100
const JOBS_MAX = 100

/** How many duplicates of one record are kept. */
const NOTES_KEPT = 100

/** What `postgresDesk` works with. */
export interface PostgresDeskParts {
  readonly client: Client<unknown>
  readonly schema: string
  readonly notices: Notices
  readonly work: WorkQueries
  readonly counts: CountStore
}

/** The capability `desk` of the store. */
export class PostgresDesk implements Desk {
  readonly hasCompleter = true
  readonly counts: CountStore
  readonly batches: DeskBatches
  readonly act: Desk['act']
  readonly settle: Desk['settle']
  readonly retryJob: Desk['retryJob']
  readonly steer: Desk['steer']
  readonly note: Desk['note']
  readonly #parts: DeskParts

  constructor({ client, schema, notices, work, counts }: PostgresDeskParts) {
    const queries = deskQueries(schema)
    this.#parts = { client, schema, notices, work, queries, walks: walkQueries(schema) }
    this.counts = counts
    this.batches = new PostgresBatches(client, schema)
    const orders = new PostgresOrders(this.#parts)
    this.act = (view, on, rule) => orders.act(view, on, rule)
    this.settle = (view, on, rule) => orders.settle(view, on, rule)
    this.retryJob = (view, on, rule) => orders.retryJob(view, on, rule)
    this.steer = (on, rule) => orders.steer(on, rule)
    this.note = (entry, ruled, caller) => orders.note(entry, ruled, caller)
  }

  list(view: DeskView, filter: DeskFilter, query: DeskQuery): ReturnType<Desk['list']> {
    return listRequests(this.#parts, { view, filter }, query)
  }

  count(view: DeskView, filter: DeskFilter, max: number): ReturnType<Desk['count']> {
    return countRequests(this.#parts, { view, filter }, max)
  }

  find(view: DeskView, id: string): ReturnType<Desk['find']> {
    const { queries, walks, work } = this.#parts
    const asked = walkValues(view, {}, { after: null, limit: 1 })
    return reading(this.#parts, async (ask) => {
      const values = [null, pack(id), ...asked.slice(2)]
      const [row] = await ask({ statement: walks.page('id'), values })
      const [isSeen, , , ...columns] = row ?? []
      if (isSeen !== true) return undefined
      const history = await ask({ statement: work.history, values: [pack(id)] })
      const notes = await ask({ statement: queries.notes_of, values: [pack(id), NOTES_MAX] })
      const jobs = await ask({ statement: queries.jobs_of, values: [pack(id), JOBS_MAX] })
      return {
        ...{ row: toDeskRow(columns), history: parseHistory(String(history[0]?.[0])) },
        ...{ notes: notes.map(toNote), jobs: jobs.map(toDeskJob) },
      }
    })
  }

  async notes(view: DeskView, query: Parameters<Desk['notes']>[1]): ReturnType<Desk['notes']> {
    const { results, limit } = query
    const callers = view.callers?.map(callerDigest) ?? null
    const isConflicts = results !== null && !results.includes('replayed')
    const values = [results?.join(',') ?? null, json(callers)]
    const rows = await this.#page(isConflicts ? 'conflicts' : 'notes', query, values)
    return pageOf(rows, limit, (row) => toNote(row))
  }

  async letters(
    view: DeskView,
    query: Parameters<Desk['letters']>[1],
  ): ReturnType<Desk['letters']> {
    const verb = query.isSettled === false ? 'open_letters' : 'letters'
    const rows = await this.#page(verb, query, [query.isSettled, json(view.callers)])
    return pageOf(rows, query.limit, (row) => toLetter(row))
  }

  async letter(view: DeskView, letter: string): ReturnType<Desk['letter']> {
    const number = serial(letter)
    if (number === undefined) return undefined
    const statement = this.#parts.queries.letter
    const [row] = await reading(this.#parts, (ask) => ask({ statement, values: [number] }))
    const found = row && toLetter(row)
    return found && (view.callers?.includes(found.caller) ?? true) ? found : undefined
  }

  async jobs(view: DeskView, query: Parameters<Desk['jobs']>[1]): ReturnType<Desk['jobs']> {
    const verb = query.state === 'set_aside' ? 'jobs_set_aside' : 'jobs'
    const rows = await this.#page(verb, query, [query.state, json(view.callers)])
    return pageOf(rows, query.limit, (row) => toDeskJob(row))
  }

  async audit(view: DeskView, query: DeskQuery): ReturnType<Desk['audit']> {
    const rows = await this.#page('audit', query, [json(view.callers)])
    return pageOf(rows, query.limit, (row, number) => toAuditEntry(number, row))
  }

  async workers(): ReturnType<Desk['workers']> {
    const statement = this.#parts.queries.workers
    const rows = await reading(this.#parts, (ask) => ask({ statement, values: [] }))
    return rows.map(([worker, node, tookMs, done, error, agoMs, everyMs]) => ({
      ...{ worker: String(worker), node: String(node), tookMs: Number(tookMs) },
      ...{ done: Number(done), agoMs: Number(agoMs) },
      error: typeof error === 'string' ? error : null,
      everyMs: typeof everyMs === 'number' ? everyMs : null,
    }))
  }

  schemaTrouble(): Promise<string | null> {
    return schemaTrouble(this.#parts.client, this.#parts.schema)
  }

  async backlog(max: number): ReturnType<Desk['backlog']> {
    const statement = this.#parts.queries.backlog
    const [row = []] = await reading(this.#parts, (ask) => ask({ statement, values: [max] }))
    const [enqueuer, completer, reaper] = row.map((count) => Math.min(max, Number(count)))
    return { enqueuer: enqueuer ?? 0, completer: completer ?? 0, reaper: reaper ?? 0 }
  }

  async steering(worker: Parameters<Desk['steering']>[0]): ReturnType<Desk['steering']> {
    const [row = []] = await this.#send('steering', [worker])
    const [isPaused, runs] = row
    return { isPaused: isPaused === true, runs: Number(runs ?? 0) }
  }

  watchSteering(...[worker, wake]: Parameters<Desk['watchSteering']>): Promise<() => void> {
    return this.#parts.notices.watch(steeringId(worker), wake)
  }

  async addNotes({ notes, counts }: NoteBatch): Promise<void> {
    const rows = notes.map(({ id, operation, caller, result, fingerprint, agoMs, ...note }) => ({
      ...{ id: hex(id), operation: plain(operation), caller, result, fingerprint },
      ...{ request_id: plain(note.requestId), ip: plain(note.ip) },
      ...{ user_agent: plain(note.userAgent), ago_ms: agoMs },
    }))
    const sums = Object.entries(counts).map(([id, count]) => ({ id: hex(id), count }))
    await this.#send('add_notes', [JSON.stringify(rows), JSON.stringify(sums), NOTES_KEPT])
  }

  async sweepNotes(limit: number, retentionMs: number): Promise<number> {
    const [[swept] = []] = await this.#send('sweep_notes', [limit, retentionMs])
    return Number(swept)
  }

  async #page(
    verb: keyof DeskQueries,
    { limit, after }: DeskQuery,
    values: readonly Value[],
  ): Promise<Rows> {
    const statement = this.#parts.queries[verb]
    if (after !== null && !/^\d{1,18}$/.test(after)) throw notOurs()
    const call = { statement, values: [after, limit + 1, ...values] }
    return reading(this.#parts, (ask) => ask(call))
  }

  #send(verb: keyof DeskQueries, values: readonly Value[]): Promise<Rows> {
    const { client, queries } = this.#parts
    return attempt(verb, () => client.query({ statement: queries[verb], values }))
  }
}

/** How many rows the statements look at. */
const SCANNED_MAX = 10_000

/** Rows are whether they match, their number, and which of those looked at they are. */
function pageOf<T>(
  rows: Rows,
  limit: number,
  toItem: (row: readonly unknown[], number: string) => T,
): DeskPage<T> {
  const matching = rows.filter(([isMatch]) => isMatch === true)
  const items = matching.slice(0, limit).map(([, number, , ...row]) => toItem(row, String(number)))
  const isFull = matching.length > limit
  const last = isFull ? matching[limit - 1] : rows.find(([, , place]) => place === SCANNED_MAX)
  return { items, next: last === undefined ? null : String(last[1]) }
}

function json(list: readonly string[] | null): string | null {
  return list === null ? null : JSON.stringify(list)
}

function hex(id: string): string {
  return Buffer.from(pack(id)).toString('hex')
}

/** What the database takes within JSON: no half of a character, and no zero. */
function plain(text: string | null): string | null {
  return text === null ? null : Buffer.from(text).toString().replaceAll('\0', '')
}
