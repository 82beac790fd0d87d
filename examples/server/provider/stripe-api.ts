/**
 * As much of Stripe's API (v1) as the official SDK needs to take money: customers and charges.
 *
 * @module
 */

import { type Charge, type Customer, type Entry, type Ledger, newId } from './ledger.ts'

/** An answer. */
export interface Answer {
  readonly status: number
  readonly body: unknown
}

/** What a request comes to: an answer, and what is to be recorded with it. */
export interface Deed extends Answer {
  /** Whether the request was executed; what was refused before that leaves its key free. */
  readonly isExecuted: boolean
  readonly entry: Entry
}

/** Why each of the test sources is declined. */
const DECLINES: Readonly<Record<string, { code: string; decline_code: string; message: string }>> =
  {
    tok_chargeDeclined: declined('card_declined', 'generic_decline', 'Your card was declined.'),
    tok_chargeCustomerFail: declined('card_declined', 'generic_decline', 'Your card was declined.'),
    tok_chargeDeclinedInsufficientFunds: declined(
      ...(['card_declined', 'insufficient_funds'] as const),
      'Your card has insufficient funds.',
    ),
    tok_chargeDeclinedExpiredCard: declined(
      ...(['expired_card', 'expired_card'] as const),
      'Your card has expired.',
    ),
  }

function declined(code: string, decline_code: string, message: string) {
  return { code, decline_code, message }
}

/** Does what a POST asks for; nothing has happened until its entry is recorded. */
export function execute(ledger: Ledger, path: string, form: URLSearchParams): Deed {
  if (path === '/v1/charges') return createCharge(ledger, form)
  if (path === '/v1/customers') return createCustomer(form)
  return refused(404, {
    type: 'invalid_request_error',
    message: `Unrecognized request URL (POST: ${path}).`,
  })
}

/** Answers a GET. */
export function look(ledger: Ledger, { pathname, searchParams }: URL): Answer {
  const [, , collection, id] = pathname.split('/')
  if (collection === 'charges' && id === undefined) return listCharges(ledger, searchParams)
  const found =
    collection === 'charges'
      ? ledger.charges.find((charge) => charge.id === id)
      : collection === 'customers' && ledger.customer(id ?? '')
  if (found) return { status: 200, body: found }
  const message = `Unrecognized request URL (GET: ${pathname}), or there is no such object.`
  return { status: 404, body: { error: { type: 'invalid_request_error', message } } }
}

/** Newest first, in pages, as the real one does. */
function listCharges({ charges }: Ledger, query: URLSearchParams): Answer {
  const limit = Math.min(Math.max(Number(query.get('limit') ?? 10), 1), 100)
  const newest = [...charges].reverse()
  const after = query.get('starting_after')
  const start = after === null ? 0 : newest.findIndex(({ id }) => id === after) + 1
  const data = newest.slice(start, start + limit)
  const has_more = start + limit < newest.length
  return { status: 200, body: { object: 'list', url: '/v1/charges', has_more, data } }
}

function createCharge(ledger: Ledger, form: URLSearchParams): Deed {
  const amount = form.get('amount') ?? ''
  const currency = form.get('currency')?.toLowerCase() ?? ''
  const customerId = form.get('customer')
  if (!/^[1-9]\d{0,7}$/.test(amount)) return invalidParameter('amount', 'a positive integer')
  if (!/^[a-z]{3}$/.test(currency)) return invalidParameter('currency', 'an ISO code')
  const customer = customerId === null ? undefined : ledger.customer(customerId)
  if (customerId !== null && customer === undefined) return missingCustomer(customerId)
  const source = form.get('source') ?? customer?.default_source
  if (source == null) return invalidParameter('source', 'given, or that of the customer')

  const decline = DECLINES[source]
  if (decline !== undefined) {
    const error = { type: 'card_error', ...decline, charge: newId('ch'), param: '' }
    return { isExecuted: true, status: 402, body: { error }, entry: {} }
  }
  const charge: Charge = {
    ...{
      id: newId('ch'),
      object: 'charge',
      amount: Number(amount),
      amount_captured: Number(amount),
    },
    ...{ amount_refunded: 0, captured: true, currency, customer: customerId, livemode: false },
    ...{ description: form.get('description'), metadata: metadataOf(form), paid: true },
    ...{ refunded: false, created: now(), status: 'succeeded' },
  }
  return { isExecuted: true, status: 200, body: charge, entry: { charge } }
}

function createCustomer(form: URLSearchParams): Deed {
  const customer: Customer = {
    ...{ id: newId('cus'), object: 'customer', email: form.get('email'), created: now() },
    ...{ default_source: form.get('source'), description: form.get('description') },
    ...{ livemode: false, metadata: metadataOf(form) },
  }
  return { isExecuted: true, status: 200, body: customer, entry: { customer } }
}

function invalidParameter(param: string, wanted: string): Deed {
  const message = `Invalid ${param}: must be ${wanted}.`
  return refused(400, { type: 'invalid_request_error', code: 'parameter_invalid', message, param })
}

function missingCustomer(id: string): Deed {
  return refused(400, {
    ...{ type: 'invalid_request_error', code: 'resource_missing', param: 'customer' },
    message: `No such customer: '${id}'`,
  })
}

function refused(status: number, error: Readonly<Record<string, string>>): Deed {
  return { isExecuted: false, status, body: { error }, entry: {} }
}

function metadataOf(form: URLSearchParams): Record<string, string> {
  const metadata: Record<string, string> = {}
  for (const [name, value] of form) {
    const key = /^metadata\[(.+)\]$/.exec(name)?.[1]
    if (key !== undefined) metadata[key] = value
  }
  return metadata
}

/** Unix seconds. */
function now(): number {
  return Math.floor(Date.now() / 1000)
}
