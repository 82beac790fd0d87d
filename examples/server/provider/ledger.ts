/**
 * What the payment provider knows: charges, customers, and the answers that it gave under a key. All
 * of it stands in a journal, so it is outside of whatever it is to be compared with, and survives
 * whatever crashes.
 *
 * @module
 */

import { randomBytes } from 'node:crypto'
import { Journal } from './journal.ts'

/** A charge, in the words of Stripe's API. */
export interface Charge {
  readonly id: string
  readonly object: 'charge'
  readonly amount: number
  readonly currency: string
  readonly customer: string | null
  readonly description: string | null
  readonly metadata: Readonly<Record<string, string>>
  readonly created: number
  readonly status: 'succeeded'
  readonly [member: string]: unknown
}

/** A customer, in the words of Stripe's API. */
export interface Customer {
  readonly id: string
  readonly object: 'customer'
  readonly email: string | null
  readonly default_source: string | null
  readonly created: number
  readonly [member: string]: unknown
}

/** An answer that is given again to whoever comes with the same key. */
export interface KeptAnswer {
  readonly account: string
  readonly key: string
  /** What was asked for under the key. */
  readonly fingerprint: string
  readonly requestId: string
  readonly status: number
  readonly body: unknown
}

/** One line of the journal: what happened, and the answer it had, at once or not at all. */
export interface Entry {
  readonly charge?: Charge
  /** The key that the charge was made under; `null` without one. */
  readonly chargeKey?: string | null
  readonly customer?: Customer
  readonly answer?: KeptAnswer
}

/** A charge as the ledger shows it. */
export interface LedgerCharge extends Charge {
  readonly idempotency_key: string | null
}

/** The ledger. */
export class Ledger {
  readonly #journal: Journal
  readonly #charges: LedgerCharge[] = []
  readonly #customers = new Map<string, Customer>()
  readonly #answers = new Map<string, KeptAnswer>()

  private constructor(journal: Journal) {
    this.#journal = journal
  }

  /** Opens the ledger in a file. */
  static async open(path: string): Promise<Ledger> {
    const { journal, lines } = await Journal.open(path)
    const ledger = new Ledger(journal)
    // Nobody but `record` writes to the file.
    for (const line of lines) ledger.#apply(line as Entry)
    return ledger
  }

  /** All charges, oldest first. */
  get charges(): readonly LedgerCharge[] {
    return this.#charges
  }

  /** A customer by id. */
  customer(id: string): Customer | undefined {
    return this.#customers.get(id)
  }

  /** The answer under a key. */
  answer(account: string, key: string): KeptAnswer | undefined {
    return this.#answers.get(`${account} ${key}`)
  }

  /** Resolves when it is on the disk; from then on it happened. */
  async record(entry: Entry): Promise<void> {
    await this.#journal.append(entry)
    this.#apply(entry)
  }

  /** Closes the file. */
  close(): Promise<void> {
    return this.#journal.close()
  }

  #apply({ charge, chargeKey = null, customer, answer }: Entry): void {
    if (charge !== undefined) this.#charges.push({ ...charge, idempotency_key: chargeKey })
    if (customer !== undefined) this.#customers.set(customer.id, customer)
    if (answer !== undefined) this.#answers.set(`${answer.account} ${answer.key}`, answer)
  }
}

/** An id as the provider makes them: `ch_…`. */
export function newId(prefix: string): string {
  return `${prefix}_${randomBytes(12).toString('hex')}`
}
