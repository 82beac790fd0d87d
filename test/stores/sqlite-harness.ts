import { describe } from 'vitest'
import type { SqliteStoreOptions } from '../../src/stores/sqlite/index.ts'
import { sqliteStore } from '../../src/stores/sqlite/index.ts'
import type { KeptWay, TransactionHarness } from '../../src/testing/harness.ts'
import {
  describeContract,
  describeDifferential,
  describeTransactions,
} from '../conformance/describe.ts'
import { notRun } from '../support/not-run.ts'
import {
  type Client,
  type ClientName,
  canLoad,
  type Handle,
  isNode22,
  loadClient,
} from './sqlite-clients.ts'
import { temporaryFile } from './sqlite-files.ts'

const SETUP = `
  create table app_effects (n integer);
  create table app_doomed (n integer not null);`

/** Stores on two handles of one file, or on one handle. */
export async function sqliteHarness(
  client: Client,
  handles: 1 | 2,
): Promise<TransactionHarness<Handle> & { dispose(): Promise<void> }> {
  const { path, remove } = temporaryFile()
  const journal = handles === 1 ? 'wal' : client.sharedJournal
  const options: SqliteStoreOptions = { journal, shared: handles === 2 }
  const one = client.open(path)
  const other = handles === 1 ? one : client.open(path)
  const store = sqliteStore(one, options)
  const peer = sqliteStore(other, options)
  await store.ready()
  await peer.ready()
  one.exec(SETUP)
  return {
    ...{ store, peer, wakesPeer: handles === 1, concurrentTransactions: false },
    async advance(ms: number, ids?: readonly string[]) {
      for (const id of ids ?? [null]) one.prepare(SHIFT).run(ms, ms, ms, ms, ms, id, id)
    },
    async addEffect(tx: Handle) {
      tx.exec('insert into app_effects values (1)')
    },
    async countEffects() {
      // The query selects just this column.
      const row = one.prepare('select count(*) as n from app_effects').get() as { n: number }
      return row.n
    },
    async failStatement(tx: Handle) {
      try {
        tx.exec('insert or rollback into app_doomed values (null)')
      } catch {}
    },
    async keepWays(tx: Handle) {
      return waysOf(tx)
    },
    async leaveNested(tx: Handle) {
      tx.exec('savepoint left_open; insert into app_effects values (1)')
    },
    async inOwnTransaction(work) {
      one.exec('begin')
      await work(one)
      one.exec('commit')
    },
    async dispose() {
      one.close()
      if (other !== one) other.close()
      remove()
    },
  }
}

/** What a handler can keep from its handle, by which it could write later. */
function waysOf(tx: Handle): readonly KeptWay[] {
  const insert = 'insert into app_effects values (1)'
  const statement = tx.prepare(insert)
  const { exec } = tx
  const way = (name: string, addEffect: () => unknown): KeptWay => ({
    name,
    addEffect: async () => addEffect(),
  })
  return [
    way('a new statement', () => tx.prepare(insert).run()),
    way('a prepared statement', () => statement.run()),
    way('a bound method', exec.bind(tx, insert)),
    way('a savepoint', () => tx.exec(`savepoint late; ${insert}; release late`)),
    way('a transaction', () => tx.exec(`begin; ${insert}; commit`)),
  ]
}

const SHIFT = `
  update reprise_records
     set lease_until = lease_until - ?, created_at = created_at - ?,
         finished_at = finished_at - ?, expires_at = expires_at - ?,
         counts_until = counts_until - ?
   where ? is null or id = ?`

/** Runs the contracts and the differential test on the client, with one handle and with two. */
export function describeClient(clientName: ClientName): void {
  const reason = isNode22
    ? `npm could not install ${clientName}`
    : `${clientName} needs Node 22 or later`
  const isMissing =
    !canLoad(clientName) &&
    notRun({ suite: `SQLite store on ${clientName}`, reason, allowedInCi: !isNode22 })

  describe.skipIf(isMissing)(clientName, () => {
    if (isMissing) return
    const client = loadClient(clientName)
    for (const handles of [1, 2] as const) {
      const name = `the SQLite store on ${handles === 1 ? 'one handle' : 'two handles'}`
      // The contract is written for any handle and hands back only what it was given.
      const make = () => sqliteHarness(client, handles) as unknown as Promise<TransactionHarness>
      describeContract(name, make)
      describeTransactions(name, make)
      describeDifferential(name, make)
    }
  })
}
