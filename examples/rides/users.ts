/**
 * The two users there are: one whose card works, and one whose card is declined.
 *
 * @module
 */

import type { Pool } from 'pg'
import { Stripe } from 'stripe'

/** A user of the app. */
export interface User {
  readonly id: string
  readonly customer: string
}

/** The provider's own test cards. The second one can be kept, but not charged. */
const CARDS: ReadonlyMap<string, string> = new Map([
  ['user@example.com', 'tok_visa'],
  ['user-bad-source@example.com', 'tok_chargeCustomerFail'],
])

/** Users, each with a customer at the provider. */
export class Users {
  readonly #pool: Pool
  readonly #stripe: Stripe

  constructor(pool: Pool, stripe: Stripe) {
    this.#pool = pool
    this.#stripe = stripe
  }

  /** Sees to it that the provider knows all of them; whom it can not ask about now stays as is. */
  async seed(): Promise<void> {
    await Promise.allSettled([...CARDS.keys()].map((email) => this.#register(email)))
  }

  /**
   * The user with this address.
   *
   * @throws StripeError when the provider has to be asked, and is down
   */
  async find(email: string): Promise<User | undefined> {
    if (!CARDS.has(email)) return undefined
    return (await this.#stored(email)) ?? this.#register(email)
  }

  async #stored(email: string): Promise<User | undefined> {
    const sql = 'select id::text, stripe_customer_id as customer from users where email = $1'
    const { rows } = await this.#pool.query<User>(sql, [email])
    return rows[0]
  }

  async #register(email: string): Promise<User | undefined> {
    const known = await this.#stored(email)
    if (known !== undefined && (await this.#isCustomer(known.customer))) return known
    const source = CARDS.get(email) ?? ''
    const { id } = await this.#stripe.customers.create({ email, source })
    const sql = `
      insert into users (email, stripe_customer_id) values ($1, $2)
      on conflict (email) do update set stripe_customer_id = excluded.stripe_customer_id`
    await this.#pool.query(sql, [email, id])
    return this.#stored(email)
  }

  /** The provider may have been started afresh since. */
  async #isCustomer(id: string): Promise<boolean> {
    try {
      const customer = await this.#stripe.customers.retrieve(id)
      return customer.deleted !== true
    } catch (error) {
      if (error instanceof Stripe.errors.StripeError && error.statusCode === 404) return false
      throw error
    }
  }
}
