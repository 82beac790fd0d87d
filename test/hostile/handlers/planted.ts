/**
 * Bugs to plant, each as small as the one that it stands for.
 *
 * @module
 */

import type { Store } from '../../../src/engine/store.ts'
import { TransactionAccess } from '../../../src/engine/transaction-access.ts'
import type { OpenTransaction } from '../../../src/engine/transactions.ts'
import type { PostgresKind } from './postgres.ts'
import type { Mode } from './program.ts'
import type { Tx } from './world.ts'

/** A bug to plant. */
export interface Plant {
  readonly name: string
  /** The modes in which it can show. */
  readonly modes: readonly Mode[]
  /** Within how many programs it has to be found. */
  readonly programs: number
  /** What the judge says when it finds it. */
  readonly finds: RegExp
  /** Changes the store. */
  readonly store?: (store: Store<Tx>) => Store<Tx>
  /** Changes the process; gives what changes it back. */
  readonly process?: () => () => void
}

/** The bugs. */
export const PLANTS: readonly Plant[] = [
  {
    name: 'the transaction can be used after its handler has ended',
    modes: ['transaction', 'phases'],
    programs: 400,
    finds: /came to nothing is there|is lost|another transaction|a transaction of/,
    process() {
      const { end } = TransactionAccess.prototype
      TransactionAccess.prototype.end = () => {}
      return () => {
        TransactionAccess.prototype.end = end
      }
    },
  },
  {
    name: 'a commit that became a rollback counts as a commit',
    modes: ['transaction'],
    programs: 400,
    finds: /was confirmed and is lost|and later|stuck/,
    store: (store) =>
      changed(store, {
        transactions: changed(store.transactions, {
          async begin(request: never) {
            const open = await store.transactions?.begin(request)
            return open !== undefined && 'commit' in open ? trusting(open) : open
          },
        }),
      }),
  },
  {
    name: 'a key is freed while its handler may still run',
    modes: ['lease'],
    programs: 400,
    finds: /began (?:while|after)/,
    store: (store) => changed(store, { release: (claim: never) => store.release(claim, 'forget') }),
  },
]

/** The kind with the bug in its store, and only in the modes in which it can show. */
export function plantIn(kind: PostgresKind, plant: Plant): PostgresKind {
  return {
    ...kind,
    abilities: { ...kind.abilities, modes: plant.modes },
    async connect(url, settings) {
      const made = await kind.connect(url, settings)
      return { ...made, store: plant.store?.(made.store) ?? made.store }
    },
  }
}

/** A transaction whose commit is taken for done, whatever the database made of it. */
function trusting(open: OpenTransaction<Tx>): OpenTransaction<Tx> {
  return changed(open, {
    commit: (finish: never) => open.commit(finish).catch(() => open.rollback()),
  })
}

/** The same object with some members replaced; the others are its own, with their private fields. */
function changed<T extends object | undefined>(target: T, members: object): T {
  if (target === undefined) return target
  return new Proxy(target, {
    get(object, name) {
      if (name in members) return Reflect.get(members, name)
      const value: unknown = Reflect.get(object, name)
      return typeof value === 'function' ? value.bind(object) : value
    },
  })
}
