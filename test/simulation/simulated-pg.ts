/**
 * Connections of `pg` to the database in memory, as far as claims with the first statement use them.
 * On them runs the very code that holds such a claim back. A statement is known by its text; what was
 * sent in one go is carried out in one go, and one thing after the other, as on one connection.
 *
 * @module
 */

import type { TransactionRequest } from '../../src/engine/transactions.ts'
import type { PgPoolClient, PgQuery, PgResult } from '../../src/stores/postgres/clients/pg.ts'
import { queries as queriesOf } from '../../src/stores/postgres/queries.ts'
import { workQueries } from '../../src/stores/postgres/work/queries.ts'
import { stageJob } from './database/jobs.ts'
import { Blocked, DatabaseError } from './database/session.ts'
import type { Tables } from './database/tables.ts'
import { beginTransaction, commitTransaction, type Opened } from './database/transactions.ts'
import { type Asked, SimulatedProtocol, SimulatedQuery } from './simulated-protocol.ts'
import type { Wire } from './wire.ts'

/** The schema whose statements are understood. */
export const SCHEMA = 'reprise'

/** The statements of the store that are. */
export const STATEMENTS = { ...queriesOf(SCHEMA), stage: workQueries(SCHEMA).stage }

const WRITE = 'insert into rows (id, what, by) values ($1, $2, $3)'

/** What statements are called in a trace. */
const LABELS: Readonly<Record<string, string>> = {
  [STATEMENTS.beginOrFail.text]: 'claim',
  [STATEMENTS.storeFinished.text]: 'store',
  [STATEMENTS.stage.text]: 'stage',
  [WRITE]: 'write',
  'select 1': 'keep alive',
}

type Answer = PgResult | { readonly error: unknown }

/** Statements of which none is carried out once one before it has failed, and who hears of them. */
interface Sequence {
  readonly asked: readonly Asked[]
  hear(answers: readonly Answer[]): void
}

/** What a connection is made of. */
export interface ConnectionParts {
  readonly tables: Tables
  readonly wire: Wire
  /** Takes it back, unless it is broken. */
  readonly free: () => void
}

/** One connection, as the library has it. */
class LibraryConnection implements PgPoolClient {
  static readonly Query = SimulatedQuery
  readonly pipeline = true
  readonly connection: SimulatedProtocol
  readonly #parts: ConnectionParts
  #request: TransactionRequest<unknown> | undefined
  #opened: Opened | undefined
  #stored: readonly unknown[] = []
  #isBroken = false
  #corked: Sequence[] | undefined
  /** What was sent last, and so has to be carried out before the next. */
  #last: Promise<unknown> = Promise.resolve()

  constructor(parts: ConnectionParts) {
    this.#parts = parts
    this.connection = new SimulatedProtocol({
      cork: () => void (this.#corked ??= []),
      uncork: () => {
        const corked = this.#corked ?? []
        this.#corked = undefined
        if (corked.length > 0) this.#send(corked)
      },
    })
  }

  /** Whose statements come next. */
  serve(request: TransactionRequest<unknown>): void {
    this.#request = request
  }

  query(asked: PgQuery | SimulatedQuery | string): Promise<PgResult> {
    if (asked instanceof SimulatedQuery) return this.#submit(asked)
    const { text, values = [], name } = typeof asked === 'string' ? { text: asked } : asked
    if (name !== undefined && name !== '') this.connection.parsedStatements[name] = text
    return new Promise((resolve, reject) => {
      const hear = ([answer]: readonly Answer[]) => {
        if (answer === undefined || 'error' in answer) reject(errorOf(answer))
        else resolve(answer)
      }
      this.#issue({ asked: [{ text, values }], hear })
    })
  }

  release(broken?: boolean): void {
    if (broken !== true && !this.#isBroken) this.#parts.free()
  }

  on(): void {}

  removeListener(): void {}

  /** Sends a query of the library's class, which hears of each part of it. */
  async #submit(query: SimulatedQuery): Promise<PgResult> {
    const protocol = this.connection
    protocol.executed = []
    query.submit(protocol)
    const hear = (answers: readonly Answer[]) => {
      for (const answer of answers) {
        if ('error' in answer) return query.handleError(answer.error, protocol)
        for (const fields of answer.rows) query.handleDataRow({ fields })
        query.handleCommandComplete({ text: answer.command }, protocol)
      }
      query.handleReadyForQuery()
    }
    this.#issue({ asked: protocol.executed, hear })
    return NOTHING
  }

  #issue(sequence: Sequence): void {
    if (this.#corked === undefined) this.#send([sequence])
    else this.#corked.push(sequence)
  }

  #send(sequences: readonly Sequence[]): void {
    const label = sequences.flatMap(({ asked }) => asked.map(labelOf)).join(' + ')
    const exchange = () => {
      if (this.#isBroken) throw new DatabaseError('disconnected', 'The connection is gone.')
      return this.#parts.wire.ask({
        ...{ label, session: this.#opened?.session },
        apply: () => sequences.map(({ asked }) => this.#carryOut(asked)),
      })
    }
    const heard = (index: number, answers: readonly Answer[]) => sequences[index]?.hear(answers)
    this.#last = this.#last.then(exchange).then(
      (all) => {
        this.#isBroken ||= all.flat().some((answer) => 'error' in answer && isGone(answer.error))
        for (const [index, answers] of all.entries()) heard(index, answers)
      },
      (error: unknown) => {
        this.#isBroken ||= isGone(error)
        for (const index of sequences.keys()) heard(index, [{ error }])
      },
    )
  }

  #carryOut(asked: readonly Asked[]): readonly Answer[] {
    const answers: Answer[] = []
    for (const one of asked) {
      try {
        answers.push({ rows: this.#execute(one), command: commandOf(one) })
      } catch (error) {
        if (error instanceof Blocked) throw error
        answers.push({ error })
        if (!this.#parts.tables.has('statement-unskipped')) break
      }
    }
    return answers
  }

  #execute({ text, values }: Asked): unknown[][] {
    if (text.startsWith('begin')) return []
    if (text === STATEMENTS.beginOrFail.text) return this.#claim()
    if (text === WRITE) return this.#write(values.map(String))
    const { tables } = this.#parts
    const opened = this.#opened
    if (text === 'rollback' || opened === undefined || this.#request === undefined) {
      opened?.session.end()
      this.#opened = undefined
      return []
    }
    opened.session.heard()
    if (text === STATEMENTS.storeFinished.text) {
      const isOwn = values[13] === nameOf(opened)
      if (isOwn) this.#stored = values
      return isOwn ? [['']] : []
    }
    if (text === STATEMENTS.stage.text) return [[this.#stage(opened, values)]]
    if (text !== 'commit') return []
    this.#opened = undefined
    commitTransaction(tables, opened, { request: this.#request, finish: finishOf(this.#stored) })
    return []
  }

  #claim(): unknown[][] {
    if (this.#request === undefined) throw new Error('It serves nobody.')
    const opened = beginTransaction(this.#parts.tables, this.#request)
    if (!('session' in opened)) {
      throw Object.assign(new DatabaseError('other', 'the request is refused'), { code: 'RP101' })
    }
    this.#opened = opened
    return [[opened.outcome, 'read committed', nameOf(opened)]]
  }

  #write([id = '', what = '', by = '']: readonly string[]): unknown[][] {
    const { tables } = this.#parts
    const row = { id, made: null, what, by }
    if (this.#opened !== undefined) {
      const { session } = this.#opened
      session.heard()
      session.rows = [...session.rows, row]
      return []
    }
    // Outside of a transaction a statement commits by itself.
    tables.rows.push(row)
    tables.changed({ kind: 'rows', rows: [row] })
    return []
  }

  #stage({ session }: Opened, values: readonly unknown[]): string {
    const [, , name, args] = values
    // No handler of this app says when, or which others it is one with.
    const job = { name: String(name), args: String(args), runAt: null, dedupeKey: null }
    return stageJob(this.#parts.tables, session, { job, recordId: this.#request?.id ?? '' })
  }
}

/** One connection, with what the app adds to the library's: called on what stands for it. */
export class SimulatedConnection extends LibraryConnection {
  /** Writes a row of the app's own. */
  async write(id: string, what: string, by: string): Promise<void> {
    // The library takes it as it is.
    await this.query({ text: WRITE, values: [id, what, by] } as unknown as PgQuery)
  }
}

const NOTHING: PgResult = { rows: [], command: '' }

/** A transaction by its name, so that nothing is stored in another. */
function nameOf({ beganAt }: Opened): string {
  return String(beganAt)
}

/** What the statement that stores an answer was given. */
function finishOf(values: readonly unknown[]) {
  // In the order in which the store binds them.
  const response = { status: Number(values[6]), sealed: values[7] as Uint8Array }
  return { response, resource: null, retentionMs: Number(values[14]) }
}

function commandOf({ text }: Asked): string {
  return text === 'commit' ? 'COMMIT' : ''
}

function labelOf({ text, values }: Asked): string {
  const label = LABELS[text] ?? text.split(' ')[0] ?? ''
  return text === WRITE ? `${label} ${String(values[1])}` : label
}

function isGone(error: unknown): boolean {
  return error instanceof DatabaseError && error.fault === 'disconnected'
}

function errorOf(answer: { readonly error: unknown } | undefined): Error {
  const error = answer?.error
  return error instanceof Error ? error : new Error(String(error))
}
