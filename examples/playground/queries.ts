/**
 * What the playground asks the database: what stands there about a key.
 *
 * @module
 */

import type { Pool } from 'pg'

/** The record of a key, as it stands in its row; bytes as hexadecimal digits. */
export interface RecordRow {
  readonly id: string
  readonly key: string
  readonly operation: string
  readonly recovery_point: string | null
  readonly status: number | null
  readonly fence: number
  readonly tries: number | null
  readonly owner: string | null
  readonly lease_until: string | null
  /** Whether the lease holds now, by the clock of the database. */
  readonly is_locked: boolean
  readonly created_at: string
  readonly finished_at: string | null
  readonly expires_at: string
  readonly resource_id: string | null
  readonly ip: string | null
}

/** One try at a phase. */
export interface AttemptRow {
  readonly point: string
  readonly actor: 'request' | 'completer'
  readonly fence: number
  readonly ending: string | null
  readonly reached: string | null
  readonly error: string | null
}

/** What waits for a person. */
export interface LetterRow {
  readonly cause: string
  readonly error: string | null
  readonly point: string | null
}

/** Everything that is known about one key. */
export interface KeyRow {
  readonly record: RecordRow
  readonly attempts: readonly AttemptRow[]
  readonly letter: LetterRow | null
  /** Keys of the calls that were made to the provider, as far as the history has them. */
  readonly callKeys: readonly string[]
  /** What the record was made with, sealed. */
  readonly input: Buffer | null
}

const KEYS = `
  select jsonb_build_object(
           'id', encode(r.id, 'hex'), 'key', r.key, 'operation', r.operation,
           'recovery_point', r.recovery_point, 'status', r.status, 'fence', r.fence,
           'tries', r.tries, 'owner', encode(r.owner, 'hex'), 'lease_until', r.lease_until,
           'is_locked', coalesce(r.lease_until > clock_timestamp(), false) and r.status is null,
           'created_at', r.created_at, 'finished_at', r.finished_at, 'expires_at', r.expires_at,
           'resource_id', r.resource_id, 'ip', r.ip) as record,
         r.input,
         array(select distinct a.call_key from reprise.attempts a
                where a.record_id = r.id and a.call_key is not null) as "callKeys",
         coalesce((select jsonb_agg(jsonb_build_object(
                            'point', a.point, 'actor', split_part(a.actor, ' ', 1), 'fence', a.fence,
                            'ending', a.ending, 'reached', a.reached, 'error', a.error)
                            order by a.number)
                     from reprise.attempts a where a.record_id = r.id), '[]') as attempts,
         (select jsonb_build_object('cause', l.cause, 'error', l.error, 'point', l.point)
            from reprise.dead_letters l
           where l.record_id = r.id and l.settled_at is null
           order by l.number desc limit 1) as letter
    from reprise.records r`

/** What is known about a key. */
export async function keyRow(pool: Pool, key: string): Promise<KeyRow | undefined> {
  const sql = `${KEYS} where r.key = $1 order by r.created_at desc limit 1`
  const { rows } = await pool.query<KeyRow>(sql, [key])
  return rows[0]
}

/** What is known about every key that begins so. */
export async function keyRows(pool: Pool, prefix: string): Promise<readonly KeyRow[]> {
  const { rows } = await pool.query<KeyRow>(`${KEYS} where starts_with(r.key, $1)`, [prefix])
  return rows
}
