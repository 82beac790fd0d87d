/**
 * What every server does for a request: one row, in a transaction.
 *
 * @module
 */

import type pg from 'pg'

/** What a request asks for. */
export interface NewRide {
  readonly origin: string
  readonly target: string
  readonly passengers: number
  readonly note: string
}

/** What a client is told: about 300 bytes of JSON. */
export interface Ride extends NewRide {
  readonly id: string
  readonly object: 'ride'
  readonly status: 'booked'
  readonly pilot: string
  readonly receipt_url: string
}

/** Runs statements: a connection with a transaction open. */
export type Queries = Pick<pg.PoolClient, 'query'>

/** The table that is written to. */
export const TABLE = `
  create table if not exists rides (
    id bigint generated always as identity primary key,
    origin text not null, target text not null, passengers integer not null, note text not null,
    created_at timestamptz not null default now())`

/** What the note of a ride begins with that takes long, where a server is told how long. */
export const SLOW = 'slow'

const INSERT = `
  insert into rides (origin, target, passengers, note) values ($1, $2, $3, $4)
  returning id::text as id`

/** Characters of the note that the row has: a longer one is in the answer only. */
const NOTE_MAX = 100

/** The row, and the answer. */
export async function insertRide(tx: Queries, ride: NewRide): Promise<Ride> {
  const note = ride.note.slice(0, NOTE_MAX)
  const values = [ride.origin, ride.target, ride.passengers, note]
  const { rows } = await tx.query<{ id: string }>({ name: 'insert_ride', text: INSERT, values })
  return rideOf(rows[0]?.id ?? '', ride)
}

/** The same in a transaction of its own, as a handler without protection does it: three round trips. */
export async function insertRideAlone(pool: pg.Pool, ride: NewRide): Promise<Ride> {
  const connection = await pool.connect()
  try {
    await connection.query('begin')
    const answer = await insertRide(connection, ride)
    await connection.query('commit')
    return answer
  } catch (error) {
    await connection.query('rollback')
    throw error
  } finally {
    connection.release()
  }
}

/** The answer alone, for handlers without a database. */
export function rideOf(id: string, ride: NewRide): Ride {
  return {
    ...{ id, object: 'ride', status: 'booked', pilot: 'Ada Lovelace' },
    ...ride,
    receipt_url: `https://rides.example/receipts/${id.padStart(12, '0')}`,
  }
}
