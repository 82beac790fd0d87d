import { setImmediate as turnOfTheLoop } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import { createReprise } from '../../src/engine/reprise.ts'
import type { Refusal } from '../../src/engine/store.ts'
import type { OpenTransaction } from '../../src/engine/transactions.ts'
import { type SqliteStatement, sqliteStore } from '../../src/stores/sqlite/index.ts'
import { sampleFinish, sampleRequest } from '../../src/testing/contract/sample.ts'
import { type Client, clients, type Handle } from './sqlite-clients.ts'
import { openForTest, testFile } from './sqlite-files.ts'

const OVER = { code: 'reprise-transaction-over' }
const ANSWER = { status: 201, headers: [], body: new Uint8Array() }

describe.each(clients())('a handler that goes on after its end, on $name', (client) => {
  it('writes each row once although branches of it outlive the one that failed', async () => {
    const { handle, run } = await setUp(client)
    const late: Promise<unknown>[] = []
    const once = (failing: number) =>
      run('key', async (tx) => {
        const branch = async (n: number) => {
          // The branch that fails does so before the others have come to their statement.
          for (let turn = 0; turn < n * 3; turn++) await turnOfTheLoop()
          if (n === failing) throw new Error('The check failed.')
          addRow(tx, n)
        }
        const branches = [1, 2, 3].map(branch)
        late.push(...branches)
        await Promise.all(branches)
        return ANSWER
      })

    await expect(once(2)).rejects.toThrow('The check failed.')
    expect((await once(0)).outcome).toBe('executed')
    const endings = await Promise.allSettled(late)
    expect(rows(handle)).toEqual([1, 2, 3])
    expect(endings.filter(({ status }) => status === 'rejected')).toMatchObject([
      { reason: { message: 'The check failed.' } },
      { reason: OVER },
    ])
  })

  it('cannot write into the transaction of another request', async () => {
    const { handle, run } = await setUp(client)
    let kept: Handle | undefined
    await run('first', async (tx) => {
      kept = tx
      addRow(tx, 1)
      return ANSWER
    })
    let refusal: unknown
    await run('second', async (tx) => {
      addRow(tx, 2)
      refusal = errorOf(() => kept && addRow(kept, 3))
      return ANSWER
    })

    expect(refusal).toMatchObject(OVER)
    expect(rows(handle)).toEqual([1, 2])
  })

  it('writes nothing after it has answered', async () => {
    const { handle, run } = await setUp(client)
    let late: Promise<void> = Promise.resolve()
    await run('key', async (tx) => {
      addRow(tx, 1)
      late = turnOfTheLoop().then(() => addRow(tx, 2))
      return ANSWER
    })

    await expect(late).rejects.toMatchObject(OVER)
    expect(rows(handle)).toEqual([1])
  })

  it('writes nothing after an answer that is not stored', async () => {
    const { handle, run } = await setUp(client)
    let late: Promise<void> = Promise.resolve()
    await run('key', async (tx) => {
      addRow(tx, 1)
      late = turnOfTheLoop().then(() => addRow(tx, 2))
      return { ...ANSWER, status: 500 }
    })

    await expect(late).rejects.toMatchObject(OVER)
    expect(rows(handle)).toEqual([])
  })
})

describe.each(clients())('tx once it is closed, on $name', (client) => {
  it('refuses every method of the handle', async () => {
    const { store } = await setUp(client)
    const transaction = await open(store.transactions.begin(sampleRequest()))
    transaction.close()
    const methods = methodsOf(transaction.tx)

    expect(methods.map(({ name }) => name)).toEqual(expect.arrayContaining(['exec', 'prepare']))
    for (const { name, call } of methods) expect(errorOf(call), name).toMatchObject(OVER)
    await transaction.rollback()
  })

  it('refuses every method of a statement that it prepared before', async () => {
    const { store, handle } = await setUp(client)
    const transaction = await open(store.transactions.begin(sampleRequest()))
    const statement = transaction.tx.prepare('insert into app_rows values (7)')
    transaction.close()
    const methods = methodsOf(statement)

    expect(methods.map(({ name }) => name)).toEqual(expect.arrayContaining(['run', 'get', 'all']))
    for (const { name, call } of methods) expect(errorOf(call), name).toMatchObject(OVER)
    await transaction.rollback()
    for (const { name, call } of methods) expect(errorOf(call), name).toMatchObject(OVER)
    expect(rows(handle)).toEqual([])
  })

  it('refuses what methods read from it before do, whatever they are called on', async () => {
    const { store, handle } = await setUp(client)
    const transaction = await open(store.transactions.begin(sampleRequest()))
    const { exec } = transaction.tx
    const { run } = transaction.tx.prepare('insert into app_rows values (7)')
    await transaction.commit(sampleFinish())

    const late = 'insert into app_rows values (7)'
    expect(errorOf(() => exec.call(transaction.tx, late))).toMatchObject(OVER)
    expect(errorOf(() => exec.call(handle, late))).toMatchObject(OVER)
    expect(errorOf(() => run.call(handle.prepare(late)))).toMatchObject(OVER)
    expect(rows(handle)).toEqual([])
  })

  it('refuses iterators that it began before, and commits although one is not at its end', async () => {
    const { store, handle } = await setUp(client)
    fill(handle, 300)
    const transaction = await open(store.transactions.begin(sampleRequest()))
    const statement = transaction.tx.prepare('select n from app_rows') as SqliteStatement &
      Iterating
    // better-sqlite3 runs no other statement while one iterates.
    addRow(transaction.tx, 300)
    const iterator = statement.iterate()
    expect(iterator.next()).toMatchObject({ done: false, value: { n: 0 } })
    transaction.close()
    await transaction.commit(sampleFinish())

    expect(errorOf(() => iterator.next())).toMatchObject(OVER)
    expect(errorOf(() => [...iterator])).toMatchObject(OVER)
    expect(rows(handle)).toHaveLength(301)
    expect((await store.claim(sampleRequest())).outcome).toBe('execute')
  })

  it('rolls back although an iterator is not at its end', async () => {
    const { store, handle } = await setUp(client)
    fill(handle, 300)
    const transaction = await open(store.transactions.begin(sampleRequest()))
    const statement = transaction.tx.prepare('select n from app_rows') as SqliteStatement &
      Iterating
    addRow(transaction.tx, 300)
    statement.iterate().next()
    await transaction.rollback()

    expect(rows(handle)).toHaveLength(300)
    expect((await store.claim(sampleRequest())).outcome).toBe('execute')
  })

  it('refuses functions that transaction() made before, and leads to no handle that works', async () => {
    const { store, handle } = await setUp(client)
    const transaction = await open(store.transactions.begin(sampleRequest()))
    const tx = transaction.tx as Handle & Transacting
    if (client.name === 'node:sqlite') return expect(tx.transaction).toBeUndefined()
    const owners: unknown[] = []
    const add = tx.transaction(function add(this: unknown) {
      owners.push(this)
      tx.exec('insert into app_rows values (7)')
    })
    const nested = client.name === 'libsql' ? undefined : add.immediate
    nested?.call(add)
    transaction.close()

    for (const call of [add, add.immediate, add.deferred, add.exclusive]) {
      expect(errorOf(() => call?.call(add))).toMatchObject(OVER)
    }
    const reached = [add.database, (owners[0] as Transacting | undefined)?.database, tx]
    for (const database of reached as (Handle | undefined)[]) {
      if (database !== undefined) expect(errorOf(() => addRow(database, 7))).toMatchObject(OVER)
    }
    await transaction.commit(sampleFinish())
    expect(rows(handle)).toEqual(nested ? [7] : [])
  })

  it('leads to no handle or statement that works, by any property', async () => {
    const { store } = await setUp(client)
    const transaction = await open(store.transactions.begin(sampleRequest()))
    const statement = transaction.tx.prepare('select n from app_rows')
    const reached = [...objectsIn(transaction.tx), ...objectsIn(statement)]
    transaction.close()

    for (const object of reached) {
      for (const { name, call } of methodsOf(object)) {
        expect(errorOf(call), name).toMatchObject(OVER)
      }
    }
    await transaction.rollback()
  })

  it('cannot be joined, nor be the connection of another operation', async () => {
    const { store } = await setUp(client)
    const transaction = await open(store.transactions.begin(sampleRequest()))
    transaction.close()

    const { tx } = transaction
    for (const where of [{ join: tx }, { connection: tx }]) {
      const begun = store.transactions.begin({ ...sampleRequest(), ...where })
      await expect(begun).rejects.toMatchObject(OVER)
    }
    await transaction.rollback()
  })

  it('takes along the tx of an operation that joined it', async () => {
    const { store, handle } = await setUp(client)
    const request = sampleRequest()
    const outer = await open(store.transactions.begin(sampleRequest()))
    const inner = await open(store.transactions.begin({ ...request, join: outer.tx }))
    addRow(inner.tx, 1)
    await outer.commit(sampleFinish())
    const other = await open(store.transactions.begin(sampleRequest()))

    expect(errorOf(() => addRow(inner.tx, 2))).toMatchObject(OVER)
    await expect(inner.commit(sampleFinish())).rejects.toThrow('ended from within')
    await other.commit(sampleFinish())
    expect(rows(handle)).toEqual([1])
    expect(await store.find(request.id)).toBeUndefined()
  })

  it('leaves the transaction of the user that it joined to the user', async () => {
    const { store, handle } = await setUp(client)
    handle.exec('begin')
    const joined = await open(store.transactions.begin({ ...sampleRequest(), join: handle }))
    addRow(joined.tx, 1)
    joined.close()
    await joined.commit(sampleFinish())

    expect(errorOf(() => addRow(joined.tx, 2))).toMatchObject(OVER)
    addRow(handle, 3)
    handle.exec('commit')
    expect(rows(handle)).toEqual([1, 3])
  })

  it('is refused too on a connection of the user, which works as before', async () => {
    const { store, path } = await setUp(client)
    const connection = openForTest(client, path)
    const transaction = await open(store.transactions.begin({ ...sampleRequest(), connection }))
    addRow(transaction.tx, 1)
    transaction.close()
    expect(errorOf(() => addRow(transaction.tx, 2))).toMatchObject(OVER)
    await transaction.commit(sampleFinish())

    addRow(connection, 3)
    expect(rows(connection)).toEqual([1, 3])
  })
})

describe.each(clients())('tx while it is open, on $name', (client) => {
  it('is of the class of the handle and has its properties', async () => {
    const { store, handle } = await setUp(client)
    const transaction = await open(store.transactions.begin(sampleRequest()))
    const { tx } = transaction

    expect(Object.getPrototypeOf(tx)).toBe(Object.getPrototypeOf(handle))
    expect(tx.constructor).toBe(handle.constructor)
    expect(Object.keys(tx)).toEqual(Object.keys(handle))
    expect('exec' in tx).toBe(true)
    expect(tx.exec).toBe(tx.exec)
    expect(tx.inTransaction ?? tx.isTransaction).toBe(true)
    expect(await Promise.resolve(tx)).toBe(tx)
    await transaction.rollback()
  })

  it('hands on rows, counts and errors as the client made them', async () => {
    const { store } = await setUp(client)
    const transaction = await open(store.transactions.begin(sampleRequest()))
    const { tx } = transaction
    tx.prepare('insert into app_rows values (?)').run(5)
    const statement = tx.prepare(`select n, x'01' as b from app_rows`)

    expect(structuredClone(statement.get())).toMatchObject({ n: 5 })
    expect(structuredClone(statement.all())).toMatchObject([{ n: 5 }])
    expect(Number(tx.prepare('delete from app_rows').run().changes)).toBe(1)
    expect(errorOf(() => tx.exec('no sql'))).toMatchObject({ message: /syntax error/ })
    await transaction.rollback()
  })

  it('hands on what the client makes of an argument, and sets what the app sets', async () => {
    const { store, handle } = await setUp(client)
    const transaction = await open(store.transactions.begin(sampleRequest()))
    const tx = transaction.tx as Handle & { mine?: unknown }
    const statement = tx.prepare('select n from app_rows')
    tx.mine = statement
    expect(tx.mine).toBe(statement)
    transaction.close()

    // The app's own handle keeps a statement that works, and not the one that ended with `tx`.
    expect((handle as typeof tx).mine).toMatchObject({ all: expect.any(Function) })
    expect(((handle as typeof tx).mine as typeof statement).all()).toEqual([])
    expect(errorOf(() => Object.assign(tx, { mine: 1 }))).toMatchObject(OVER)
    await transaction.rollback()
  })

  it('refuses statements after one that ended the transaction', async () => {
    const { store, handle } = await setUp(client)
    const request = sampleRequest()
    handle.exec('create table app_unique (id text primary key)')
    const transaction = await open(store.transactions.begin(request))
    const { tx } = transaction
    addRow(tx, 1)
    tx.exec(`insert into app_unique values ('1')`)
    expect(errorOf(() => tx.exec(`insert or rollback into app_unique values ('1')`))).toBeDefined()

    expect(errorOf(() => addRow(tx, 2))).toMatchObject({ ...OVER, message: /ended from within/ })
    await expect(transaction.commit(sampleFinish())).rejects.toThrow('ended from within')
    expect(rows(handle)).toEqual([])
    expect(await store.find(request.id)).toBeUndefined()
  })

  it('may leave a savepoint open, which is then committed or undone with the rest', async () => {
    const { store, handle } = await setUp(client)
    const [kept, undone] = [sampleRequest(), sampleRequest()]
    for (const [request, n] of [
      [kept, 1],
      [undone, 2],
    ] as const) {
      const transaction = await open(store.transactions.begin(request))
      transaction.tx.exec('savepoint mine')
      addRow(transaction.tx, n)
      transaction.close()
      await (n === 1 ? transaction.commit(sampleFinish()) : transaction.rollback())
    }

    expect((await store.find(kept.id))?.status).toBe('finished')
    expect(await store.find(undone.id)).toBeUndefined()
    expect(rows(handle)).toEqual([1])
  })

  it('joined in, may leave a savepoint open, which ends with the operation', async () => {
    const { store, handle } = await setUp(client)
    handle.exec('begin')
    for (const n of [1, 2]) {
      const joined = await open(store.transactions.begin({ ...sampleRequest(), join: handle }))
      joined.tx.exec('savepoint mine')
      addRow(joined.tx, n)
      await (n === 1 ? joined.commit(sampleFinish()) : joined.rollback())
      expect(errorOf(() => handle.exec('release mine'))).toBeDefined()
    }
    handle.exec('commit')

    expect(rows(handle)).toEqual([1])
  })
})

describe.each(clients())(
  'an operation that joined a transaction of the user, on $name',
  (client) => {
    it('stores no answer in a later one that the user began meanwhile', async () => {
      const { store, handle } = await setUp(client)
      const request = sampleRequest()
      handle.exec('begin')
      const joined = await open(store.transactions.begin({ ...request, join: handle }))
      handle.exec('commit')
      handle.exec('begin')
      await expect(joined.commit(sampleFinish())).rejects.toThrow('no such savepoint')
      handle.exec('commit')

      expect(await store.find(request.id)).toBeUndefined()
    })
  },
)

interface Iterating {
  iterate(): IterableIterator<unknown>
}

interface Transacting {
  readonly database: unknown
  transaction(
    work: (this: unknown) => void,
  ): Record<string, () => void> & Transacting & (() => void)
}

async function setUp(client: Client) {
  const path = testFile()
  const handle = openForTest(client, path)
  const store = sqliteStore(handle, { shared: true, journal: client.sharedJournal })
  await store.ready()
  handle.exec('create table app_rows (n integer)')
  const reprise = createReprise({ store })
  const run = (key: string, work: (tx: Handle) => Promise<typeof ANSWER>) =>
    reprise.runInTransaction(
      { caller: 'app', operation: 'POST /rows', key, fingerprints: ['same'] },
      ({ tx }) => work(tx),
    )
  return { path, handle, store, run }
}

async function open(
  begun: Promise<OpenTransaction<Handle> | Refusal>,
): Promise<OpenTransaction<Handle>> {
  const result = await begun
  if ('tx' in result) return result
  throw new Error(`The transaction is refused with ${result.outcome}.`)
}

/** Each method of an object, its own or of its class, as a call without arguments. */
function methodsOf(object: object): { readonly name: string; call(): unknown }[] {
  const names = new Set<PropertyKey>()
  for (let at = object; at && at !== Object.prototype; at = Object.getPrototypeOf(at)) {
    for (const name of Reflect.ownKeys(at)) if (name !== 'constructor') names.add(name)
  }
  return [...names].flatMap((name) => {
    const method = readOf(object, name)
    return isMethod(method) ? [{ name: String(name), call: () => method.call(object) }] : []
  })
}

function readOf(object: object, name: PropertyKey): unknown {
  try {
    return Reflect.get(object, name)
  } catch {
    // Bun does not tell everything of every statement.
    return undefined
  }
}

function isMethod(value: unknown): value is (this: object) => unknown {
  return typeof value === 'function'
}

/** The objects among the properties of an object, symbols included. */
function objectsIn(object: object): object[] {
  const values = Reflect.ownKeys(object).map((key): unknown => Reflect.get(object, key))
  return values.filter((value) => typeof value === 'object' && value !== null)
}

function addRow(handle: Handle, n: number): void {
  handle.prepare('insert into app_rows values (?)').run(n)
}

/** Adds that many rows, from 0 on. */
function fill(handle: Handle, count: number): void {
  const numbers = Array.from({ length: count }, (_, n) => `(${n})`)
  handle.exec(`insert into app_rows values ${numbers.join()}`)
}

function rows(handle: Handle): unknown[] {
  // The query selects just this column.
  const found = handle.prepare('select n from app_rows order by n').all() as { n: number }[]
  return found.map(({ n }) => n)
}

function errorOf(work: () => unknown): unknown {
  try {
    work()
    return undefined
  } catch (error) {
    return error
  }
}
