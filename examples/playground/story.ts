/**
 * The story of a key: what stands in the database, and what the provider and the mailbox say. Nothing
 * of it comes from what the page or the server believe.
 *
 * @module
 */

import type { Pool } from 'pg'
import type { Stripe } from 'stripe'
import type { FaultLog } from '../server/fault-log.ts'
import { type ProviderCharge, readCharges, readReceipts } from '../server/ledger.ts'
import type { Services } from '../server/supervision/services.ts'
import {
  type AttemptRow,
  type KeyRow,
  keyRow,
  keyRows,
  type LetterRow,
  type RecordRow,
} from './queries.ts'

/** Where to look. */
export interface StorySources {
  readonly pool: Pool
  readonly stripe: Stripe
  readonly services: Services
  readonly faultLog: FaultLog
}

/** A charge, as the page shows it. */
export type ShownCharge = Omit<ProviderCharge, 'metadata'>

/** What is known about a key. */
export interface Story {
  readonly key: string
  readonly record: RecordRow | null
  readonly attempts: readonly AttemptRow[]
  readonly letter: LetterRow | null
  /** Charges at the provider that were made for the key. */
  readonly charges: readonly ShownCharge[]
  /** Receipts in the mailbox. */
  readonly receipts: number
  /** Faults that requests with the key asked for and that were carried out, in order. */
  readonly faults: readonly string[]
}

/** What came of many keys. */
export interface Tally {
  readonly keys: number
  readonly finished: number
  readonly charges: number
  /** Charges beyond the first of a key. */
  readonly duplicates: number
  readonly deadLetters: number
  /** Keys with neither exactly one charge nor a person who is asked. */
  readonly unaccounted: readonly string[]
}

/** Name under which the unprotected payment notes the key that it ignores. */
export const IGNORED_KEY = 'ignored_key'

/** Reads the story of a key. */
export async function readStory(
  { pool, stripe, services, faultLog }: StorySources,
  key: string,
): Promise<Story> {
  // The database first: a charge that it knows of is then at the provider for sure.
  const row = await keyRow(pool, key)
  const [charges, mails] = await Promise.all([
    readCharges(stripe, services),
    readReceipts(services),
  ])
  const ride = row?.record.resource_id
  const receipt = new RegExp(`\\bride ${ride}$`)
  return {
    ...{ key, record: row?.record ?? null, attempts: row?.attempts ?? [] },
    letter: row?.letter ?? null,
    charges: charges.filter(isFor(key, row)).map(shown),
    receipts: ride ? mails.filter(({ subject }) => receipt.test(subject ?? '')).length : 0,
    faults: faultLog.of(key),
  }
}

/** Counts what came of all keys that begin so. */
export async function readTally(
  { pool, stripe, services }: StorySources,
  prefix: string,
): Promise<Tally> {
  const rows = await keyRows(pool, prefix)
  const all = await readCharges(stripe, services)
  const counted = rows.map((row) => {
    const charges = all.filter(isFor(row.record.key, row)).length
    return { charges, isDead: row.letter !== null, ...row.record }
  })
  const sum = (count: (key: (typeof counted)[number]) => number) =>
    counted.reduce((total, each) => total + count(each), 0)
  return {
    keys: rows.length,
    finished: sum(({ status }) => (status === null ? 0 : 1)),
    charges: sum(({ charges }) => charges),
    duplicates: sum(({ charges }) => Math.max(0, charges - 1)),
    deadLetters: sum(({ isDead }) => (isDead ? 1 : 0)),
    unaccounted: counted
      .filter(({ charges, isDead }) => charges !== 1 && !(isDead && charges === 0))
      .map(({ key }) => key),
  }
}

/**
 * Which charges were made for a key. The provider is given keys of the operation's own: those that
 * the history has, and, while a call is under way, those that begin with the token of the record.
 */
function isFor(key: string, row: KeyRow | undefined): (charge: ProviderCharge) => boolean {
  const known = new Set(row?.callKeys)
  const token = tokenOf(row?.input ?? null)
  return ({ idempotency_key: used, metadata }) => {
    if (metadata[IGNORED_KEY] === key) return true
    if (used === null) return false
    return known.has(used) || (token !== undefined && used.startsWith(`reprise-${token}-`))
  }
}

/** The token in a sealed input. Here nothing is encrypted, and what is short is not compressed. */
function tokenOf(sealed: Buffer | null): string | undefined {
  if (sealed === null || sealed[1] !== 0) return undefined
  const { token } = JSON.parse(sealed.subarray(2).toString())
  return typeof token === 'string' ? token : undefined
}

function shown(charge: ProviderCharge): ShownCharge {
  const { id, amount, currency, created, description, idempotency_key } = charge
  return { id, amount, currency, created, description, idempotency_key }
}
