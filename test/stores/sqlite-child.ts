/**
 * What a child process does to a file, told by its parent. It ends when the parent ends it.
 *
 * @module
 */

import { sqliteStore } from '../../src/stores/sqlite/index.ts'
import { sampleFinish, sampleRequest } from '../../src/testing/contract/sample.ts'
import { type ClientName, loadClient } from './sqlite-clients.ts'

/** What the child is to do. */
export interface ChildTask {
  readonly client: ClientName
  readonly path: string
  readonly kind: 'ready' | 'hold' | 'claim' | 'transact' | 'stop-inside' | 'stop-claimed'
}

/** What the child says: that it got somewhere, or the id of a record that it has stored. */
export type ChildMessage = { readonly reached: string } | { readonly stored: string }

// The parent passes a task as the only argument.
const { client: name, path, kind } = JSON.parse(process.argv[2] ?? '') as ChildTask
const client = loadClient(name)
const database = client.open(path)
const store = sqliteStore(database, { shared: true, journal: client.sharedJournal, busyMs: 20_000 })

const deeds: Readonly<Record<ChildTask['kind'], () => Promise<void>>> = {
  /** Brings the schema up to date. */
  async ready() {
    await tell({ reached: 'start' })
    await new Promise((resolve) => process.once('message', resolve))
    await store.ready()
    await tell({ reached: 'ready' })
  },

  /** Holds the write lock. */
  async hold() {
    database.exec('begin immediate')
    await tell({ reached: 'held' })
  },

  /** Claims and finishes, one record after the other. */
  async claim() {
    await store.ready()
    for (;;) {
      const request = sampleRequest()
      const granted = await store.claim(request)
      if (!('claim' in granted)) throw new Error('A fresh claim is granted.')
      await store.finish(granted.claim, sampleFinish())
      await tell({ stored: request.id })
    }
  },

  /** Commits two effects with each record, one transaction after the other. */
  async transact() {
    await store.ready()
    for (;;) {
      const request = sampleRequest()
      const transaction = await begin(request)
      addEffect(request.id)
      addEffect(request.id)
      await transaction.commit(sampleFinish())
      await tell({ stored: request.id })
    }
  },

  /** Stops between two effects. */
  async 'stop-inside'() {
    await store.ready()
    const request = sampleRequest()
    await begin(request)
    addEffect(request.id)
    await tell({ reached: request.id })
  },

  /** Stops with a lease. */
  async 'stop-claimed'() {
    await store.ready()
    const request = sampleRequest()
    await store.claim(request)
    await tell({ reached: request.id })
  },
}

async function begin(request: ReturnType<typeof sampleRequest>) {
  const transaction = await store.transactions.begin(request)
  if ('tx' in transaction) return transaction
  throw new Error('A transaction of a fresh request is open.')
}

function addEffect(id: string): void {
  database.prepare('insert into app_effects values (?)').run(id)
}

/** Resolves when the parent has the message. */
function tell(message: ChildMessage): Promise<void> {
  return new Promise((resolve) => {
    process.send?.(message, () => resolve())
  })
}

// Without a listener the channel would not keep the process alive while it waits for its end.
process.on('message', () => {})
await deeds[kind]()
