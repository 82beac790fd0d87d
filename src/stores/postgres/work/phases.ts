/**
 * Phases: each one transaction, whose last statement checks the fence and travels with the commit.
 *
 * @module
 */

import { hostname } from 'node:os'
import { TRANSACTION_OVER } from '../../../core/error-table.ts'
import { RepriseError } from '../../../core/errors.ts'
import { TransactionEnded } from '../../../engine/stage.ts'
import type { Advance, Claim, Finish } from '../../../engine/store.ts'
import type { TransactionFault } from '../../../engine/transactions.ts'
import type {
  Attempt,
  BegunCall,
  Edition,
  Leaving,
  Left,
  NewJob,
  OpenPhase,
  Patience,
  PhaseOpening,
  PhaseStore,
  Stop,
  TakenRecord,
  TakeRequest,
} from '../../../engine/work.ts'
import { IDLE_MS_MAX, type Rows, type Session, type Value } from '../client.ts'
import { attempt, faultOf, isEnded } from '../faults.ts'
import { holder, pack } from '../record.ts'
import { ENQUEUER, stageJob } from './jobs.ts'
import type { WorkParts } from './parts.ts'
import type { WorkQueries } from './queries.ts'
import { taken, takeValues } from './taken.ts'

/** Which transaction was begun: by its time, for what is sent in it; by its number, for ever. */
interface Begun {
  readonly transaction: string
  readonly number: string
}

/** The phases of one schema. */
export class PostgresPhases<Tx> implements PhaseStore<Tx> {
  readonly #parts: WorkParts<Tx>

  constructor(parts: WorkParts<Tx>) {
    this.#parts = parts
  }

  async begin(
    claim: Claim,
    { isolation, leaseMs, statementMs }: PhaseOpening,
  ): Promise<OpenPhase<Tx> | undefined> {
    const { client, queries } = this.#parts
    const bounds = [leaseMs, statementMs].map((ms) => {
      return client.single ? null : Math.min(Math.ceil(ms), IDLE_MS_MAX)
    })
    const first = { statement: queries.begin_phase, values: [...holder(claim), ...bounds] }
    const session = await attempt('begin a phase', () => client.begin({ first, isolation }))
    const [[isHeld, transaction, number] = []] = session.rows
    const begun = { transaction: String(transaction), number: String(number) }
    if (isHeld === 'true') return this.#open(claim, session, begun)
    await session.rollback()
    return undefined
  }

  async beginCall(
    claim: Claim,
    tried: Attempt,
    { deniesEarlier }: { readonly deniesEarlier: boolean },
  ): Promise<boolean> {
    const values = [...attemptValues(claim, tried), deniesEarlier]
    return isTrue(await this.#send('begin_call', values))
  }

  async begunCall(id: string, callKey: string): Promise<BegunCall | undefined> {
    const [[isOpen] = []] = await this.#send('begun_call', [pack(id), callKey])
    if (typeof isOpen !== 'boolean') return undefined
    return isOpen ? 'open' : 'denied'
  }

  async stop(claim: Claim, tried: Attempt, { ending, error }: Stop): Promise<boolean> {
    const values = [...attemptValues(claim, tried), ending, error]
    const isStopped = isTrue(await this.#send('stop_phase', values))
    if (isStopped) this.#parts.wake(claim.id)
    return isStopped
  }

  async leave(
    claim: Claim,
    tried: Attempt,
    { version, otherVersionMs, error }: Leaving,
  ): Promise<Left> {
    const values = [...attemptValues(claim, tried), version, otherVersionMs, error]
    const [[left] = []] = await this.#send('leave_phase', values)
    if (left === 'left') this.#parts.wake(claim.id)
    // The function gives one of them.
    return left as Left
  }

  async takeUnfinished(
    { operation, version, otherVersionMs }: Edition,
    request: TakeRequest,
    { graceMs, retryMs, retryMsMax }: Patience,
  ): Promise<TakenRecord | undefined> {
    const values = [...takeValues(request), operation, graceMs, retryMs, retryMsMax]
    return taken(await this.#send('take_unfinished', [...values, version, otherVersionMs]), request)
  }

  classify(error: unknown): TransactionFault {
    return faultOf(error, this.#parts.schema)
  }

  #open(claim: Claim, session: Session<Tx>, begun: Begun): OpenPhase<Tx> {
    const { queries, wake } = this.#parts
    const { transaction } = begun
    let isClosed = false
    let isOver = false
    let hasStaged = false
    const end = async (verb: keyof WorkQueries, values: readonly Value[]) => {
      if (isOver) throw new Error('The phase is over.')
      isOver = true
      const last = { statement: queries[verb], values: [transaction, ...values] }
      await session.commit(last).catch((error: unknown) => {
        throw isEnded(error) ? new TransactionEnded() : error
      })
      wake(claim.id)
      if (hasStaged) wake(ENQUEUER)
    }
    return {
      tx: session.handle,
      async stage(job: NewJob) {
        if (isClosed || isOver) throw new RepriseError(TRANSACTION_OVER)
        hasStaged = true
        return stageJob(queries, session, { job, recordId: claim.id, transaction })
      },
      close() {
        isClosed = true
        session.close()
      },
      advance: (step: Advance, tried: Attempt) =>
        end('advance_phase', [
          ...attemptValues(claim, tried),
          ...[step.leaseMs, step.recoveryPoint, step.state],
        ]),
      finish: ({ response, resource, retentionMs }: Finish, tried: Attempt) =>
        end('finish_phase', [
          ...attemptValues(claim, tried),
          ...[response.status, response.sealed, resource?.type ?? null, resource?.id ?? null],
          retentionMs,
        ]),
      isCommitted: () => this.#isCommitted(begun),
      async rollback() {
        isOver = true
        await session.rollback()
      },
      destroy: () => session.destroy?.(),
    }
  }

  /** Asked on any connection: that of the phase may be in another transaction by now, or gone. */
  async #isCommitted({ number }: Begun): Promise<boolean | undefined> {
    try {
      const [[isCommitted] = []] = await this.#send('is_committed', [number])
      return typeof isCommitted === 'boolean' ? isCommitted : undefined
    } catch {
      return undefined
    }
  }

  #send(verb: keyof WorkQueries, values: readonly Value[]): Promise<Rows> {
    const { client, queries } = this.#parts
    return attempt(verb, () => client.query({ statement: queries[verb], values }))
  }
}

/** Who tries is kept with its process: `parseHistory` takes them apart. */
const NODE = `${hostname()}:${process.pid}`

function attemptValues(claim: Claim, { point, actor, tookMs, callKey }: Attempt): readonly Value[] {
  return [...holder(claim), point, `${actor} ${NODE}`, tookMs, callKey]
}

function isTrue(rows: Rows): boolean {
  return rows[0]?.[0] === true
}
