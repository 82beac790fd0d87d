/**
 * What really happened: counted in the database, at the provider and in the mailbox, and not from
 * what the server believes.
 *
 * @module
 */

import type { Pool } from 'pg'
import type { Stripe } from 'stripe'
import type { ApiSpec } from './apis.ts'
import type { LedgerCharge } from './provider/ledger.ts'
import type { Mail } from './provider/mailbox.ts'
import { countRows } from './queries.ts'
import type { Services } from './supervision/services.ts'

/** Where to look. */
export interface LedgerSources {
  readonly pool: Pool
  readonly stripe: Stripe
  readonly services: Services
  readonly apis: readonly Pick<ApiSpec, 'counts'>[]
}

/** How many charges of a real provider are shown at most. */
const CHARGES_MAX = 10_000

/** What is counted even if nobody makes it. */
const NONE = { rides: 0, audit_records: 0, tasks: 0, runs: 0 }

/** Reads everything. */
export async function readLedger({ pool, stripe, services, apis }: LedgerSources) {
  const tables = Object.assign({}, ...apis.map(({ counts }) => counts))
  const [charges, receipts, counts] = await Promise.all([
    readCharges(stripe, services),
    readReceipts(services),
    countRows(pool, { ...tables, staged_jobs: 'reprise.staged_jobs' }),
  ])
  return { charges, receipts, ...NONE, ...counts }
}

/** What a charge of any provider says at least. */
export type ProviderCharge = Pick<
  LedgerCharge,
  'id' | 'amount' | 'currency' | 'created' | 'description' | 'metadata' | 'idempotency_key'
>

/** The charges of the provider, oldest first. */
export async function readCharges(
  stripe: Stripe,
  { stripeApiBase, simulator }: Services,
): Promise<readonly ProviderCharge[]> {
  if (stripeApiBase === simulator.apiUrl) {
    const { charges } = await read<{ charges: LedgerCharge[] }>(`${simulator.controlUrl}/ledger`)
    return charges
  }
  const charges = await stripe.charges
    .list({ limit: 100 })
    .autoPagingToArray({ limit: CHARGES_MAX })
  // A real provider does not show the key of a charge; an app may put it into the metadata.
  return charges.reverse().map((charge) => ({
    ...charge,
    idempotency_key: charge.metadata['idempotency_key'] ?? null,
  }))
}

/** The receipts that came, each once, however often it was sent. Who has another mailbox looks there. */
export async function readReceipts({ smtpUrl, simulator }: Services) {
  if (smtpUrl !== simulator.smtpUrl) return []
  const { mails } = await read<{ mails: Mail[] }>(`${simulator.controlUrl}/mailbox`)
  const receipts = new Map<string, Mail & { copies: number }>()
  mails.forEach((mail, index) => {
    const id = mail.message_id ?? `without an id, ${index}`
    receipts.set(id, { ...mail, copies: (receipts.get(id)?.copies ?? 0) + 1 })
  })
  return [...receipts.values()]
}

async function read<T>(url: string): Promise<T> {
  const response = await fetch(url)
  // Answered by the simulator's control port, in this shape.
  return (await response.json()) as T
}
