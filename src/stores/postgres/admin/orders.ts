/**
 * What operators change: each change is ruled on what stands under a lock, and commits with its line
 * of the audit.
 *
 * @module
 */

import type {
  Desk,
  DeskChange,
  DeskView,
  OrderEntry,
  Ruled,
  Ruling,
  Seen,
  SteeredWorker,
} from '../../../engine/desk.ts'
import type { DeadLetter, Settlement } from '../../../engine/letters.ts'
import type { Call, Session, Value } from '../client.ts'
import { lockNumber } from '../lock.ts'
import { pack } from '../record.ts'
import { ENQUEUER } from '../work/jobs.ts'
import { parseHistory, toLetter } from '../work/letters.ts'
import { type DeskParts, writing } from './parts.ts'
import { walkValues } from './queries/walk.ts'
import { toDeskJob, toDeskRow } from './rows.ts'

/** Whom the steering of a worker wakes; no record has this id. */
export function steeringId(worker: SteeredWorker): string {
  return `steering ${worker}`
}

/** What was ruled, and the statement that does and audits it. */
interface Last<Change> {
  readonly ruling: Ruling<Change>
  readonly last: Call
  /** Who is woken. */
  readonly wakes: string | null
}

/** Changes of one schema. */
export class PostgresOrders
  implements Pick<Desk, 'act' | 'settle' | 'retryJob' | 'steer' | 'note'>
{
  readonly #parts: DeskParts

  constructor(parts: DeskParts) {
    this.#parts = parts
  }

  act(
    view: DeskView,
    { id, entry }: { readonly id: string; readonly entry: OrderEntry },
    rule: (seen: Seen | undefined) => Ruling<DeskChange>,
  ): Promise<Ruled> {
    const { queries } = this.#parts
    return this.#order(entry, async (session) => {
      const seen = await this.#lockRecord(session, view, id)
      const ruling = rule(seen)
      const caller = seen?.row.caller ?? null
      const statement = ruling.change === null ? queries.audit_only : queries[ruling.change]
      const wakes = ruling.change === 'resume' ? steeringId('completer') : id
      const values = audited({ entry, ruling, caller, wakes })
      return { ruling, wakes, last: { statement, values: [pack(id), ...values] } }
    })
  }

  settle(
    view: DeskView,
    { letter, entry }: { readonly letter: string; readonly entry: OrderEntry },
    rule: (letter: DeadLetter | undefined) => Ruling<Settlement>,
  ): Promise<Ruled> {
    const { queries } = this.#parts
    return this.#order(entry, async (session) => {
      const [row] = await session.query({ statement: queries.lock_letter, values: [letter] })
      const found = row && toLetter(row)
      const isSeen = found !== undefined && (view.callers?.includes(found.caller) ?? true)
      const ruling = rule(isSeen ? found : undefined)
      const { change } = ruling
      const wakes = steeringId('completer')
      if (change === null) {
        const values = audited({ entry, ruling, caller: found?.caller ?? null, wakes: null })
        return { ruling, wakes: null, last: this.#audit(values) }
      }
      const response = change.finish?.response
      const values = [
        ...[letter, change.way, change.author, change.note, change.retentionMs],
        ...[response?.status ?? null, response?.sealed ?? null],
        ...[change.finish?.resource?.type ?? null, change.finish?.resource?.id ?? null],
        ...[entry.ip, entry.orderKey, ruling.text, pack(wakes)],
      ]
      return { ruling, wakes, last: { statement: queries.settle, values } }
    })
  }

  retryJob(
    view: DeskView,
    { jobId, entry }: { readonly jobId: string; readonly entry: OrderEntry },
    rule: Parameters<Desk['retryJob']>[2],
  ): Promise<Ruled> {
    const { queries } = this.#parts
    return this.#order(entry, async (session) => {
      const [row = []] = await session.query({ statement: queries.lock_job, values: [jobId] })
      const [number, caller, isStagedAgain] = row.slice(-3)
      const isSeen = row.length > 0 && (view.callers?.includes(String(caller)) ?? true)
      const ruling = rule(
        isSeen ? { ...toDeskJob(row), isStagedAgain: isStagedAgain === true } : undefined,
      )
      const about = typeof caller === 'string' ? caller : null
      const wakes = ruling.change === null ? null : ENQUEUER
      const values = audited({ entry, ruling, caller: about, wakes })
      if (ruling.change === null) return { ruling, wakes, last: this.#audit(values) }
      const last = { statement: queries.retry, values: [Buffer.from(String(number)), ...values] }
      return { ruling, wakes, last }
    })
  }

  steer(
    { worker, entry }: { readonly worker: SteeredWorker; readonly entry: OrderEntry },
    rule: Parameters<Desk['steer']>[1],
  ): Promise<Ruled> {
    const { queries } = this.#parts
    return this.#order(entry, async (session) => {
      const [row = []] = await session.query({ statement: queries.steering, values: [worker] })
      const [isPaused, runs] = row
      const ruling = rule({ isPaused: isPaused === true, runs: Number(runs ?? 0) })
      const wakes = ruling.change === null ? null : steeringId(worker)
      const values = audited({ entry, ruling, caller: null, wakes })
      if (ruling.change === null) return { ruling, wakes, last: this.#audit(values) }
      const statement = queries[STEERED[ruling.change]]
      return { ruling, wakes, last: { statement, values: [Buffer.from(worker), ...values] } }
    })
  }

  async note(
    entry: OrderEntry,
    { outcome, text }: Omit<Ruled, 'isRepeated'>,
    caller: string | null,
  ): Promise<void> {
    const ruling = { outcome, text, change: null }
    const values = audited({ entry, ruling, caller, wakes: null })
    await this.#order(entry, async () => ({ ruling, wakes: null, last: this.#audit(values) }))
  }

  /** One order: at most once, and alone among those with its key. */
  #order<Change>(
    entry: OrderEntry,
    rule: (session: Session<unknown>) => Promise<Last<Change>>,
  ): Promise<Ruled> {
    return writing(this.#parts, async (session) => {
      const before = await this.#before(session, entry)
      if (before !== undefined) {
        await session.rollback()
        return before
      }
      const { ruling, last, wakes } = await rule(session)
      await session.commit(last)
      if (wakes !== null) this.#parts.notices.wake(wakes)
      return { outcome: ruling.outcome, text: ruling.text, isRepeated: false }
    })
  }

  /** What became of the order when it was sent before. */
  async #before(session: Session<unknown>, entry: OrderEntry): Promise<Ruled | undefined> {
    const { queries, schema } = this.#parts
    const { orderKey, action, subject } = entry
    if (orderKey === null) return undefined
    const lock = lockNumber('order', schema, orderKey)
    await session.query({ statement: queries.lock_order, values: [lock] })
    const [row] = await session.query({ statement: queries.find_order, values: [orderKey] })
    if (row === undefined) return undefined
    const [firstAction, firstSubject, text] = row.map(String)
    if (firstAction !== action || firstSubject !== subject) {
      const used = `This order key was used before, to ${firstAction} ${firstSubject}.`
      return { outcome: 'refused', text: used, isRepeated: false }
    }
    return { outcome: 'done', text: text ?? '', isRepeated: true }
  }

  /** Twice, because a record that was replaced while we waited for it shows at the second look only. */
  async #lockRecord(
    session: Session<unknown>,
    view: DeskView,
    id: string,
  ): Promise<Seen | undefined> {
    const { queries, walks, work } = this.#parts
    const lock = { statement: queries.lock_record, values: [pack(id)] }
    const locked = await session.query(lock)
    if (locked.length === 0) await session.query(lock)
    const asked = walkValues(view, {}, { after: null, limit: 1 })
    const values = [null, pack(id), ...asked.slice(2)]
    const [row] = await session.query({ statement: walks.page('id'), values })
    const [isSeen, , , ...columns] = row ?? []
    if (isSeen !== true) return undefined
    const history = await session.query({ statement: work.history, values: [pack(id)] })
    return { row: toDeskRow(columns), history: parseHistory(String(history[0]?.[0])) }
  }

  #audit(values: readonly Value[]): Call {
    return { statement: this.#parts.queries.audit_only, values: [null, ...values] }
  }
}

const STEERED = { pause: 'pause', resume: 'unpause', run_once: 'run_once' } as const

interface Audited {
  readonly entry: OrderEntry
  readonly ruling: Ruling<unknown>
  readonly caller: string | null
  readonly wakes: string | null
}

/** An order that was not carried out may be sent again under its key. */
function audited({ entry, ruling, caller, wakes }: Audited): readonly Value[] {
  const { action, subject, author, note, ip, orderKey } = entry
  const { outcome, text } = ruling
  return [
    ...[action, subject, author, note, outcome, text, caller, ip],
    ...[outcome === 'done' ? orderKey : null, wakes === null ? null : pack(wakes)],
  ]
}
