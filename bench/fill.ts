/**
 * A table of records as large as wanted, made by the database itself of one real record.
 *
 * @module
 */

import type pg from 'pg'
import { startServer } from './child.ts'
import { freshKey, send } from './load.ts'
import type { ServerTask } from './servers/setups.ts'

/** Records from one number to another, without the first. */
export interface Span {
  readonly from: number
  readonly to: number
  /** When they expire: milliseconds from now, one millisecond apart; a day unless set. */
  readonly expireInMs?: number
}

/** What one statement inserts at most. */
const ROWS_MAX = 500_000

const DAY_MS = 86_400_000

/** The key of one of the records: it is answered as a request with that key would be. */
export function filledKey(number: number): string {
  return `filled-${String(number).padStart(8, '0')}`
}

/** Sends one request, whose record the others are copies of. The table is empty afterwards. */
export async function takeSample(database: pg.Pool, task: ServerTask): Promise<void> {
  const server = await startServer(task)
  await send({ port: server.port, connections: 1, requests: 1, nextKey: freshKey })
  await server.stop()
  await database.query('drop table if exists sample')
  await database.query(`
    create table sample as
    select * from reprise.records where status is not null order by created_at desc limit 1`)
  await database.query('truncate reprise.records')
}

/**
 * Inserts records, with every index in place: ids come in no order, as digests do, and the pages of
 * their index are as full as they are in real life. Times differ, so that nothing is stored once for
 * many.
 */
export async function fill(database: pg.Pool, span: Span, onRows = (_rows: number) => {}) {
  // Nothing is measured meanwhile; without these it takes twice as long.
  await configure(database, 'off')
  await database.query(WIDE)
  for (let from = span.from; from < span.to; from += ROWS_MAX) {
    const to = Math.min(span.to, from + ROWS_MAX)
    await database.query(INSERT, [from + 1, to, span.expireInMs ?? DAY_MS])
    onRows(to)
  }
  await database.query('vacuum (analyze) reprise.records')
  await configure(database, 'on')
  await database.query('checkpoint')
}

/** Bytes of a record, with its share of the indexes. */
export async function bytesPerRecord(database: pg.Pool): Promise<number> {
  const { rows } = await database.query<{ bytes: string }>(
    `select (pg_total_relation_size('reprise.records')::float8 / count(*))::text as bytes
       from reprise.records`,
  )
  return Number(rows[0]?.bytes)
}

async function configure(database: pg.Pool, value: 'on' | 'off'): Promise<void> {
  for (const name of ['fsync', 'full_page_writes']) {
    await database.query(`alter system set ${name} = ${value}`)
  }
  await database.query('select pg_reload_conf()')
}

/** Text in UTF-16, which for these is a zero after each byte: `core/identity.ts` digests that. */
const WIDE = `
  create or replace function wide(text text) returns bytea language sql immutable strict as $$
    select decode(regexp_replace(encode(convert_to(text, 'UTF8'), 'hex'), '(..)', '\\100', 'g'), 'hex')
  $$`

/**
 * Ids are those of `POST /rides` in the default dialect. What is the same in all of them is widened
 * once: it takes more time than all the rest.
 */
const INSERT = `
  with s as materialized
       (select sample.*, now() as moment, wide(E'reprise 2\\n15:filled-') as key_head,
               wide(E'reprise 2\\n6:caller' || length(caller) || ':' || caller || '3:key15:filled-')
                 as head,
               wide('6:method4:POST5:route6:/rides') as tail
          from sample)
  insert into reprise.records (
         created_at, finished_at, expires_at, fence, status, id, caller, operation, key, fingerprint,
         owner, response, request_id, ip, user_agent)
  select moment - interval '1 day' + n * interval '1 ms',
         moment - interval '1 day' + (n + 20) * interval '1 ms',
         moment + ($3::float8 + n) * interval '1 ms',
         s.fence, s.status,
         substring(sha256(s.key_head || digits) for 9)
           || substring(sha256(s.head || digits || s.tail) from 10),
         s.caller, s.operation, 'filled-' || lpad(n::text, 8, '0'), s.fingerprint,
         decode(md5(n::text), 'hex'), s.response, s.request_id, s.ip, s.user_agent
    from s, generate_series($1::integer, $2::integer) n,
         lateral (select decode(regexp_replace(lpad(n::text, 8, '0'), '(.)', '3\\100', 'g'), 'hex')
                           as digits offset 0) named`
