/**
 * Phases, staged jobs and dead letters as a process has them.
 *
 * @module
 */

import type { Claim } from '../../src/engine/store.ts'
import { TransactionAccess } from '../../src/engine/transaction-access.ts'
import type { JobBatch, JobPatience, OpenPhase, Work } from '../../src/engine/work.ts'
import {
  ENQUEUER,
  nextDueMs,
  settleJobs,
  stageJob,
  type TakenJobs,
  takeJobs,
} from './database/jobs.ts'
import {
  bury,
  buryUnknown,
  findLetter,
  historyOf,
  listLetters,
  settleLetter,
  sweepLetters,
  takeUntold,
  told,
} from './database/letters.ts'
import {
  beginCall,
  beginPhase,
  begunCall,
  endPhase,
  leavePhase,
  stopPhase,
  takeAbandoned,
  takeUnfinished,
} from './database/phases.ts'
import type { Session } from './database/session.ts'
import type { Tables } from './database/tables.ts'
import { faultOf, over, rollback, type SimulatedTx, txOf } from './remote-store.ts'
import type { Wire } from './wire.ts'

/** The work of the database `tables`, over `wire`. */
export function remoteWork(tables: Tables, wire: Wire): Work<SimulatedTx> {
  const ask = <T>(label: string, apply: () => T) => wire.ask({ label, apply })
  return {
    phases: {
      async begin(claim, opening) {
        const session = await ask('begin phase', () => beginPhase(tables, claim, opening))
        return session && openPhase(tables, wire, { claim, session })
      },
      beginCall: (claim, attempt, earlier) =>
        ask('begin call', () => beginCall(tables, { claim, attempt }, earlier)),
      begunCall: (id, key) => ask('begun call', () => begunCall(tables, id, key)),
      stop: (claim, attempt, stop) =>
        ask(`stop ${stop.ending}`, () => stopPhase(tables, { claim, attempt }, stop)),
      leave: (claim, attempt, leaving) =>
        ask('leave', () => leavePhase(tables, { claim, attempt }, leaving)),
      takeUnfinished: (edition, request, patience) =>
        ask('take unfinished', () => takeUnfinished(tables, { edition, request }, patience)),
      classify: faultOf,
    },
    jobs: {
      async take(request, patience) {
        const taken = await ask('take jobs', () => takeJobs(tables, request))
        return taken && jobBatch(tables, wire, { taken, patience })
      },
      nextDueMs: () => ask('next due', () => nextDueMs(tables)),
      watch: (wake) =>
        ask('watch', () => tables.watch(ENQUEUER, () => wire.notify('wake enqueuer', wake))),
    },
    letters: {
      bury: (claim, burial) => ask('bury', () => bury(tables, claim, burial)),
      buryUnknown: (burial) => ask('bury unknown', () => buryUnknown(tables, burial)),
      takeAbandoned: (request) => ask('take abandoned', () => takeAbandoned(tables, request)),
      takeUntold: (operations, leaseMs) =>
        ask('take untold', () => takeUntold(tables, operations, leaseMs)),
      told: (letter, error) => ask('told', () => told(tables, letter, error)),
      find: (letter) => ask('find letter', () => findLetter(tables, letter)),
      list: (query) => ask('list letters', () => listLetters(tables, query)),
      resolve: (letter, settlement) =>
        ask(`settle ${settlement.way}`, () => settleLetter(tables, letter, settlement)),
      sweep: async (limit) => sweepLetters(tables, limit),
    },
    counts: { add: async () => true, read: async () => [], sweep: async () => 0 },
    history: (id) => ask('history', () => historyOf(tables, id)),
    sweepHistory: (limit) => ask('sweep history', () => sweepHistory(tables, limit)),
    beat: () => ask('beat', () => {}),
    workers: async () => [],
  }
}

function openPhase(
  tables: Tables,
  wire: Wire,
  { claim, session }: { readonly claim: Claim; readonly session: Session },
): OpenPhase<SimulatedTx> {
  const access = new TransactionAccess()
  const { connections = new Set() } = wire
  connections.add(session)
  const back = () => void connections.delete(session)
  return {
    tx: txOf(wire, session, access),
    stage: async (job) =>
      access.send(() =>
        wire.ask({
          ...{ label: `stage ${job.name}`, session },
          apply: () => stageJob(tables, session, { job, recordId: claim.id }),
        }),
      ),
    async advance(step, attempt) {
      await over(access)
      const moved = wire.ask({
        ...{ label: `advance to ${step.recoveryPoint}`, given: step.state, session },
        apply: () => endPhase(tables, session, { claim, attempt, step: { advance: step } }),
      })
      return moved.finally(back)
    },
    async finish(finish, attempt) {
      await over(access)
      const finished = wire.ask({
        ...{ label: 'finish phase', session },
        apply: () => endPhase(tables, session, { claim, attempt, step: { finish } }),
      })
      return finished.finally(back)
    },
    // The simulated app commits nothing itself.
    isCommitted: async () => false,
    close: () => access.end(),
    async rollback() {
      await over(access)
      return rollback(wire, session).finally(back)
    },
    destroy() {
      back()
      void wire.ask({ label: 'destroy', apply: () => session.end() }).catch(() => {})
    },
  }
}

function jobBatch(
  tables: Tables,
  wire: Wire,
  { taken, patience }: { readonly taken: TakenJobs; readonly patience: JobPatience },
): JobBatch<SimulatedTx> {
  const { session, jobs } = taken
  const tx = txOf(wire, session, new TransactionAccess())
  return {
    ...{ jobs, tx },
    async within(work) {
      const rows = session.rows
      try {
        return await work(tx)
      } catch (error) {
        await wire.ask({
          ...{ label: 'rollback to savepoint', session },
          apply: () => {
            session.heard()
            session.rows = rows
          },
        })
        throw error
      }
    },
    settle: (undelivered) =>
      wire.ask({
        ...{ label: 'settle jobs', session },
        apply: () => settleJobs(tables, taken, { undelivered, patience }),
      }),
    rollback: () => rollback(wire, session),
  }
}

function sweepHistory(tables: Tables, limit: number): number {
  const left = tables.attempts.filter(
    ({ recordId, made }) => tables.records.get(recordId)?.made !== made,
  )
  const swept = new Set(left.slice(0, limit))
  tables.attempts = tables.attempts.filter((one) => !swept.has(one))
  return swept.size
}
