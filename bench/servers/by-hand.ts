/**
 * The least that a key costs in transaction mode: what a careful person writes into one handler by
 * hand. A lock and a look before the work, one row behind it, in as few flights as Reprise takes; the
 * tables have the same columns and the same kinds of indexes.
 *
 * It tells what of the cost is the design's and PostgreSQL's, and what is Reprise's own. It has no
 * fingerprints, no answers that are given again byte by byte, no leases, fences, retries, operators or
 * telemetry, and a request whose key is taken is simply refused.
 *
 * @module
 */

import { hash } from 'node:crypto'
import type pg from 'pg'
import type { Route } from './frameworks.ts'
import { poolOf, type ServerTask } from './setups.ts'
import { insertRide, type NewRide, type Ride } from './work.ts'

const TABLE = `
  create table if not exists kept_by_hand (
    id bytea primary key, caller text not null, operation text not null, key text not null,
    said bytea not null, status smallint not null, answer bytea not null, request_id text, ip text,
    created_at timestamptz not null, finished_at timestamptz not null, expires_at timestamptz not null);
  create index if not exists kept_by_hand_created on kept_by_hand (created_at);
  create index if not exists kept_by_hand_expired on kept_by_hand (expires_at)`

/** Fails where the key is taken or was used: by a division by zero, as nothing else is at hand. */
const CLAIM = {
  name: 'claim_by_hand',
  text: `
    select 1 / (not exists (select from kept_by_hand where id = $1)
                and pg_try_advisory_xact_lock($2::bigint))::integer`,
}

const KEEP = {
  name: 'keep_by_hand',
  text: `
    insert into kept_by_hand
    values ($1, $2, $3, $4, $5, 201, $6, $7, $8,
            transaction_timestamp(), clock_timestamp(), clock_timestamp() + interval '1 day')`,
}

interface KeyedRequest {
  readonly headers: Readonly<Record<string, string>>
}

/** Claims before the work, or together with its statement. */
export async function byHand(task: ServerTask, isTogether: boolean): Promise<Route> {
  const pool = poolOf(task, true)
  // Several servers may start at once.
  await pool.query(`begin; select pg_advisory_xact_lock(1); ${TABLE}; commit`)
  return {
    async handle(ride, request) {
      // Every framework that it runs on has them.
      const { headers } = request as KeyedRequest
      const connection = await pool.connect()
      try {
        return await keep(connection, { ride, key: headers['idempotency-key'] ?? '', isTogether })
      } catch (error) {
        await connection.query('rollback')
        throw error
      } finally {
        connection.release()
      }
    },
  }
}

interface Asked {
  readonly ride: NewRide
  readonly key: string
  readonly isTogether: boolean
}

async function keep(tx: pg.PoolClient, { ride, key, isTogether }: Asked): Promise<Ride> {
  const id = hash('sha256', `acct_1 POST /rides ${key}`, 'buffer')
  const said = hash('sha256', JSON.stringify(ride), 'buffer')
  const [, , done] = await together(tx, () => [
    tx.query('begin'),
    tx.query({ ...CLAIM, values: [id, id.readBigInt64BE()] }),
    ...(isTogether ? [insertRide(tx, ride)] : []),
  ])
  // The third, where it was sent with the others, is what `insertRide` gave.
  const answer = (done as Ride | undefined) ?? (await insertRide(tx, ride))
  const kept = [id, 'acct_1', 'POST /rides', key, said, Buffer.from(JSON.stringify(answer))]
  await together(tx, () => [
    tx.query({ ...KEEP, values: [...kept, 'req_0123456789abcdefghij', '127.0.0.1'] }),
    tx.query('commit'),
  ])
  return answer
}

/** What the types leave out of a connection. */
interface Wired {
  readonly connection: { readonly stream: { cork(): void; uncork(): void } }
}

/** Has statements leave in one packet, and waits for all of them. */
async function together(tx: pg.PoolClient, issue: () => Promise<unknown>[]): Promise<unknown[]> {
  const { stream } = (tx as unknown as Wired).connection
  stream.cork()
  const sent = issue()
  stream.uncork()
  await Promise.allSettled(sent)
  return Promise.all(sent)
}
