/**
 * The receipt of a ride: a staged job, so that it is sent if and only if the ride was paid.
 *
 * @module
 */

import type { Pool } from 'pg'
import type { StagedJob } from 'reprise/workers'

/** Name of the job. */
export const RECEIPT_JOB = 'send_ride_receipt'

/** What the job says. */
export interface Receipt {
  readonly ride_id: string
  readonly user_id: string
  /** In cents. */
  readonly amount: number
  readonly currency: string
}

/** Sends mail over SMTP. */
export interface Mailer {
  /** `id` becomes the `Message-ID`: what is sent twice is then seen to be one message. */
  send(message: { id: string; to: string; subject: string; text: string }): Promise<unknown>
}

/** Sends the receipt. A job is handed over at least once, always with the same id. */
export async function sendRideReceipt(
  job: StagedJob,
  { pool, mailer }: { readonly pool: Pool; readonly mailer: Mailer },
): Promise<void> {
  // Staged by the operation, in this shape.
  const { ride_id, user_id, amount, currency } = job.args as Receipt
  const sql = 'select email from users where id = $1'
  const { rows } = await pool.query<{ email: string }>(sql, [user_id])
  if (rows[0] === undefined) throw new Error(`There is no user ${user_id}`)
  const price = `${(amount / 100).toFixed(2)} ${currency.toUpperCase()}`
  await mailer.send({
    ...{ id: job.id, to: rows[0].email, subject: `Your receipt for ride ${ride_id}` },
    text: `Thank you for flying with us. Your ride ${ride_id} cost ${price}.`,
  })
}
