/**
 * A database as large as wanted, in a few statements.
 *
 * @module
 */

import type { Pool } from 'pg'

/**
 * Fills the tables: one record in fifty is unfinished, one in twenty failed. The tables are not
 * logged, and the indexes of records are built when they are full: it takes minutes less, and reads
 * see no difference.
 */
export async function fill(pool: Pool, records: number): Promise<void> {
  const tables = ['records', 'dead_letters', 'duplicates', 'duplicate_counts', 'staged_jobs']
  const { rows: indexes } = await pool.query<{ name: string; text: string }>(
    `select indexname as name, indexdef as text from pg_indexes
      where schemaname = 'reprise' and tablename = 'records' and indexname <> 'records_pkey'`,
  )
  const queries = [
    ...tables.map((table) => `alter table reprise.${table} set unlogged`),
    'alter table reprise.records drop constraint records_pkey',
    ...indexes.map(({ name }) => `drop index reprise.${name}`),
    ...recordQueries(records),
    'alter table reprise.records add constraint records_pkey primary key (id)',
    ...indexes.map(({ text }) => text),
    ...queriesAround(records),
    'vacuum analyze',
  ]
  // One connection, because a function of its own is made on it.
  const client = await pool.connect()
  try {
    for (const text of queries) {
      const startedAt = Date.now()
      await client.query(text)
      const start = text.trim().slice(0, 60).replaceAll('\n', ' ')
      console.info(`${Date.now() - startedAt} ms: ${start}`)
    }
  } finally {
    client.release(true)
  }
}

/** A digest of a key, as ids begin with it: of UTF-16, which for these keys is a zero after each byte. */
const DIGESTS = `
  create function pg_temp.id_of(key text, name text) returns bytea language sql immutable as $$
    select substring(sha256(decode(regexp_replace(encode(
             convert_to(E'reprise 2\\n' || length(key) || ':' || key, 'UTF8'), 'hex'),
             '(..)', '\\100', 'g'), 'hex')) for 9)
        || substring(sha256(name::bytea) for 23)
  $$`

function recordQueries(records: number): readonly string[] {
  const few = fewOf(records)
  return [
    DIGESTS,
    `insert into reprise.records (created_at, expires_at, finished_at, fence, status, id, caller,
            operation, key, fingerprint, owner, response, request_id, ip, user_agent)
     select now() - n * interval '10 ms', now() + interval '12 hours' - n * interval '10 ms',
            now() - n * interval '10 ms' + interval '20 ms', 1, case when n % 20 = 0 then 402 else 201 end, pg_temp.id_of(md5(n::text), n::text),
            'acct_' || n % 500, 'op-' || n % 20, md5(n::text), sha256(n::text::bytea),
            decode(md5(n::text), 'hex'), decode(repeat('00', 300), 'hex'), 'req-' || n, '192.0.2.1',
            'curl/8.5.0'
       from generate_series(1, ${records - few}) n`,
    `insert into reprise.records (created_at, expires_at, lease_until, fence, id, caller, operation,
            key, fingerprint, owner, recovery_point)
     select now() - n * interval '500 ms', now() + interval '1 day',
            case when n % 10 = 0 then now() + interval '1 hour' end, 1,
            pg_temp.id_of(md5('u' || n), 'u' || n), 'acct_' || n % 500, 'op-' || n % 20, md5('u' || n),
            sha256(n::text::bytea), decode(md5(n::text), 'hex'),
            case when n % 3 = 0 then null else 'started' end
       from generate_series(1, ${few}) n`,
  ]
}

function queriesAround(records: number): readonly string[] {
  const few = fewOf(records)
  return [
    `insert into reprise.dead_letters (created_at, buried_at, fence, tries, record_id, caller,
            operation, key, fingerprint, cause, history, settled_at, settlement, author, note)
     select r.created_at, now(), 1, 0, r.id, r.caller, r.operation, r.key, r.fingerprint,
            'outcome_unknown', '[]', case when random() < 0.9 then now() end, 'resume', 'ada', 'why'
       from reprise.records r
      where r.status is null and r.recovery_point is null`,
    `insert into reprise.duplicates (at, record_id, operation, caller, result)
     select now(), r.id, r.operation, 'c', case when random() < 0.05 then 'mismatch' else 'replayed' end
       from reprise.records r limit ${few * 5}`,
    `insert into reprise.duplicate_counts
     select d.record_id, count(*), now() from reprise.duplicates d group by 1`,
    `insert into reprise.staged_jobs (staged_at, job_id, record_id, name, args, set_aside_at)
     select now(), gen_random_uuid(), r.id, 'mail', '{}', case when random() < 0.02 then now() end
       from reprise.records r limit ${few * 5}`,
    `insert into reprise.audit (at, action, subject, author, note, order_key)
     select now(), 'resume', 'request ' || n, 'ada', 'why', 'key ' || n
       from generate_series(1, ${few * 5}) n`,
    `insert into reprise.stats
     select date_trunc('hour', now(), 'UTC') - h * interval '1 hour', ${'1, '.repeat(12)}
            'op-' || n % 20, 'c' || n
       from generate_series(0, 71) h, generate_series(1, 1000) n`,
    `insert into reprise.workers
     select w, 'node-' || n, now(), now(), 1, 1, 1
       from unnest('{enqueuer,completer,reaper}'::text[]) w, generate_series(1, 10) n`,
  ]
}

/** How many are unfinished. */
function fewOf(records: number): number {
  return Math.max(1000, Math.round(records / 50))
}
