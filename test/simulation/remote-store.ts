/**
 * The store as a process has it: every verb is an exchange over the wire with the database.
 *
 * @module
 */

import { replayCaching } from '../../src/engine/replay-cache.ts'
import type { Refusal, Store } from '../../src/engine/store.ts'
import { checkTransactionRoute, transact } from '../../src/engine/transact.ts'
import { TransactionAccess } from '../../src/engine/transaction-access.ts'
import type {
  OpenTransaction,
  TransactionFault,
  TransactionRequest,
} from '../../src/engine/transactions.ts'
import { stageJob } from './database/jobs.ts'
import {
  advance,
  claim,
  find,
  finish,
  list,
  release,
  renew,
  stats,
  sweep,
} from './database/records.ts'
import { DatabaseError, type Session } from './database/session.ts'
import type { Tables } from './database/tables.ts'
import { beginTransaction, commitTransaction, type Opened } from './database/transactions.ts'
import { holdOn } from './held-transactions.ts'
import { remoteWork } from './remote-work.ts'
import type { Wire } from './wire.ts'

/** What handlers and phases run their statements on. */
export interface SimulatedTx {
  /** Writes a row of the app's own, for the record with this id. */
  write(id: string, what: string, by: string): Promise<void>
  /** Sends a statement that is never answered. */
  hang?(): Promise<void>
}

/** A store over `wire` on the database `tables`. */
export function remoteStore(tables: Tables, wire: Wire): Store<SimulatedTx> {
  const ask = <T>(label: string, apply: () => T) => wire.ask({ label, apply })
  const hold = holdOn(tables, wire)
  return {
    name: 'simulated',
    caching: replayCaching,
    ready: async () => {},
    claim: (request) => ask('claim', () => claim(tables, request)),
    renew: (held, leaseMs) => ask('renew', () => renew(tables, held, leaseMs)),
    advance: (held, step) => ask('advance', () => advance(tables, held, step)),
    finish: (held, end) => ask('finish', () => finish(tables, held, end)),
    release: (held, mode) => ask(mode, () => release(tables, held, mode)),
    find: (id) => ask('find', () => find(tables, id)),
    list: (query) => ask('list', () => list(tables, query)),
    sweep: (limit) => ask('sweep', () => sweep(tables, limit)),
    stats: () => ask('stats', () => stats(tables)),
    watch: (id, wake) =>
      ask('watch', () => tables.watch(id, () => wire.notify(`wake ${id.slice(0, 4)}`, wake))),
    close: async () => {},
    transactions: {
      run: transact,
      check: checkTransactionRoute,
      begin: (request) => (isHeld(request) ? hold(request) : begin(tables, wire, request)),
      classify: faultOf,
    },
    work: remoteWork(tables, wire),
  }
}

/** What an error of the database, or what wraps it, means. */
export function faultOf(error: unknown): TransactionFault {
  for (let cause = error; cause instanceof Error; cause = cause.cause) {
    if (cause instanceof DatabaseError) return cause.fault
  }
  return 'other'
}

/** The handle of a transaction, for as long as `access` lasts. */
export function txOf(wire: Wire, session: Session, access: TransactionAccess): SimulatedTx {
  return {
    hang: async () =>
      access.send(() => wire.ask({ label: 'hang', session, hangs: true, apply: () => {} })),
    write: async (id, what, by) =>
      access.send(() =>
        wire.ask({
          label: `write ${what}`,
          session,
          apply: () => {
            session.heard()
            session.rows = [...session.rows, { id, made: null, what, by }]
          },
        }),
      ),
  }
}

/** Whether the claim waits for the first statement; not under a quota, as in PostgreSQL. */
function isHeld({ claim: time, quota }: TransactionRequest<SimulatedTx>): boolean {
  return time === 'with-first-statement' && quota === undefined
}

async function begin(
  tables: Tables,
  wire: Wire,
  request: TransactionRequest<SimulatedTx>,
): Promise<OpenTransaction<SimulatedTx> | Refusal> {
  const label = 'begin'
  const opened = await wire.ask({ label, apply: () => beginTransaction(tables, request) })
  return 'session' in opened ? openTransaction(tables, wire, { opened, request }) : opened
}

function openTransaction(
  tables: Tables,
  wire: Wire,
  { opened, request }: { opened: Opened; request: TransactionRequest<SimulatedTx> },
): OpenTransaction<SimulatedTx> {
  const { session, outcome } = opened
  const access = new TransactionAccess()
  return {
    outcome,
    tx: txOf(wire, session, access),
    async commit(end) {
      await over(access)
      return wire.ask({
        ...{ label: 'commit', session },
        apply: () => commitTransaction(tables, opened, { request, finish: end }),
      })
    },
    stage: async (job) =>
      access.send(() =>
        wire.ask({
          ...{ label: `stage ${job.name}`, session },
          apply: () => stageJob(tables, session, { job, recordId: request.id }),
        }),
      ),
    close: () => access.end(),
    async rollback() {
      await over(access)
      return rollback(wire, session)
    },
    keepAlive: () =>
      wire.ask({ label: 'keep alive', session, apply: () => session.heard() }).catch(() => {}),
  }
}

/** Ends the app's access, and waits for what it had sent. */
export function over(access: TransactionAccess): Promise<void> {
  access.end()
  return access.idle()
}

/** Undoes a transaction; never throws. */
export async function rollback(wire: Wire, session: Session): Promise<void> {
  await wire.ask({ label: 'rollback', session, apply: () => session.end() }).catch(() => {})
}
