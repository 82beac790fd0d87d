/**
 * Dead letters, and what a person decides about them.
 *
 * @module
 */

import {
  BURIED_MS,
  type Burial,
  type BurialCause,
  type DeadLetter,
  type HistoryEntry,
  type LetterQuery,
  type LetterStore,
  type Settlement,
  type UnknownBurial,
} from '../../../engine/letters.ts'
import type { Claim } from '../../../engine/store.ts'
import type { TakenRecord, TakeRequest } from '../../../engine/work.ts'
import type { Rows, Value } from '../client.ts'
import { attempt } from '../faults.ts'
import { holder, unpack } from '../record.ts'
import type { WorkParts } from './parts.ts'
import type { WorkQueries } from './queries.ts'
import { serial } from './serial.ts'
import { taken, takeValues } from './taken.ts'

/** What the statements that read letters select, in the order of the columns. */
type LetterRow = readonly [
  letter: string,
  id: Uint8Array,
  caller: string,
  operation: string,
  key: string,
  cause: BurialCause,
  point: string | null,
  error: string | null,
  fence: number,
  tries: number,
  input: Uint8Array | null,
  state: Uint8Array | null,
  requestId: string | null,
  ip: string | null,
  userAgent: string | null,
  history: string,
  createdAt: number,
  buriedAt: number,
  settledAt: number | null,
  way: NonNullable<DeadLetter['settlement']>['way'] | null,
  author: string | null,
  note: string | null,
]

/** The letters of one schema. */
export class PostgresLetters<Tx> implements LetterStore {
  readonly #parts: WorkParts<Tx>

  constructor(parts: WorkParts<Tx>) {
    this.#parts = parts
  }

  async bury(claim: Claim, burial: Burial): Promise<boolean> {
    const { cause, error, retentionMs, isUntold = false } = burial
    const keptMs = Math.max(BURIED_MS, retentionMs)
    const values = [...holder(claim), cause, error, isUntold, keptMs, retentionMs]
    const [[isBuried] = []] = await this.#send('bury', values)
    if (isBuried === true) this.#parts.wake(claim.id)
    return isBuried === true
  }

  async buryUnknown({ limit, graceMs, retentionMs }: UnknownBurial): Promise<number> {
    const [[buried] = []] = await this.#send('bury_unknown', [limit, graceMs, retentionMs])
    return Number(buried)
  }

  async takeAbandoned(request: TakeRequest): Promise<TakenRecord | undefined> {
    return taken(await this.#send('take_abandoned', takeValues(request)), request)
  }

  async takeUntold(
    operations: readonly string[],
    leaseMs: number,
  ): Promise<DeadLetter | undefined> {
    const [row] = await this.#send('take_untold', [JSON.stringify(operations), leaseMs])
    return row && toLetter(row)
  }

  async told(letter: string, error: string | null): Promise<void> {
    await this.#send('told', [letter, error])
  }

  async find(letter: string): Promise<DeadLetter | undefined> {
    const number = serial(letter)
    if (number === undefined) return undefined
    const [row] = await this.#send('find_letter', [number])
    return row && toLetter(row)
  }

  async list({ limit, before, settled }: LetterQuery): Promise<readonly DeadLetter[]> {
    const after = before === undefined ? null : (serial(before) ?? '0')
    const rows = await this.#send('list_letters', [limit, after, settled ?? null])
    return rows.map(toLetter)
  }

  async resolve(letter: string, settlement: Settlement): Promise<boolean> {
    const number = serial(letter)
    if (number === undefined) return false
    const { way, author, note, retentionMs, finish } = settlement
    const response = finish?.response
    const [[isDone] = []] = await this.#send('settle_letter', [
      ...[number, way, author, note, retentionMs],
      ...[response?.status ?? null, response?.sealed ?? null],
      ...[finish?.resource?.type ?? null, finish?.resource?.id ?? null],
    ])
    return isDone === true
  }

  async sweep(limit: number): Promise<number> {
    const [[swept] = []] = await this.#send('sweep_letters', [limit])
    return Number(swept)
  }

  #send(verb: keyof WorkQueries, values: readonly Value[]): Promise<Rows> {
    const { client, queries } = this.#parts
    return attempt(verb, () => client.query({ statement: queries[verb], values }))
  }
}

/** A dead letter. */
export function toLetter(row: Rows[number]): DeadLetter {
  // The statements select exactly these columns.
  const columns = row as LetterRow
  const [letter, id, caller, operation, key, cause, point, error, fence, tries, ...rest] = columns
  const [input, state, requestId, ip, userAgent, history, createdAt, buriedAt, ...last] = rest
  const [settledAt, way, author, note] = last
  const isSettled = way !== null && author !== null && note !== null
  return {
    ...{ letter, id: unpack(id), caller, operation, key, cause, point, error, fence, tries },
    ...{ input, state, origin: { requestId, ip, userAgent }, history: parseHistory(history) },
    ...{ createdAt, buriedAt, settledAt },
    settlement: isSettled ? { way, author, note } : null,
  }
}

/** History as the database makes it of the table `attempts`. */
export function parseHistory(text: string): readonly HistoryEntry[] {
  // Built by the function `history_of`, member by member.
  const entries = JSON.parse(text) as readonly HistoryEntry[]
  return entries.map((entry) => {
    const [actor, node] = entry.actor.split(' ')
    // The first word is one of them.
    const who = actor as HistoryEntry['actor']
    return node === undefined ? entry : { ...entry, actor: who, node }
  })
}
