/**
 * What operators need: lists by time, look-ups by key, who answered which duplicate, orders to
 * workers, batches, and more in each line of the audit.
 *
 * @module
 */

import type { Migration } from '../../migration.ts'

/**
 * Every index on records is paid for by every request. Two are for all of them: the time, which grows,
 * and a digest of the key, because a key as such would take three times as much.
 */
const RECORDS = `
alter table reprise.records
  add column resume_at    timestamptz,
  add column driven_fence integer;
create index records_created on reprise.records (created_at);
create index records_key     on reprise.records (hashtextextended(key, 0));
create index records_open    on reprise.records (created_at) where status is null;
create index records_failed  on reprise.records (created_at) where status >= 400;

create index staged_jobs_record    on reprise.staged_jobs (record_id);
create index staged_jobs_set_aside on reprise.staged_jobs (number) where set_aside_at is not null;
create index staged_jobs_set_aside_id on reprise.staged_jobs (job_id)
  where set_aside_at is not null;
create index dead_letters_unsettled on reprise.dead_letters (number) where settled_at is null;
create index dead_letters_created   on reprise.dead_letters (created_at) where settled_at is null;
`

const NOTES = `
create table reprise.duplicates (
  number      bigint      generated always as identity primary key,
  at          timestamptz not null,
  record_id   bytea       not null,
  operation   text        not null,
  caller      text        not null,
  result      text        not null,
  request_id  text,
  ip          text,
  user_agent  text,
  fingerprint text
);
create index duplicates_record    on reprise.duplicates (record_id, number);
create index duplicates_conflicts on reprise.duplicates (number) where result <> 'replayed';

create table reprise.duplicate_counts (
  record_id bytea       primary key,
  count     integer     not null,
  last_at   timestamptz not null
);
create index duplicate_counts_last on reprise.duplicate_counts (last_at);

-- p_kept: of one record only the newest so many are kept.
create function reprise.add_notes(p_notes jsonb, p_counts jsonb, p_kept integer)
  returns void language plpgsql as $$
declare
  moment timestamptz := clock_timestamp();
begin
  insert into reprise.duplicates (at, record_id, operation, caller, result, request_id, ip,
                                  user_agent, fingerprint)
  select moment - n.ago_ms * interval '1 millisecond', decode(n.id, 'hex'), n.operation, n.caller,
         n.result, n.request_id, n.ip, n.user_agent, n.fingerprint
    from jsonb_to_recordset(p_notes)
      as n(id text, operation text, caller text, result text, request_id text, ip text,
           user_agent text, fingerprint text, ago_ms double precision);
  -- In one order, so that two processes do not wait for each other.
  insert into reprise.duplicate_counts as c (record_id, count, last_at)
  select decode(n.id, 'hex'), n.count, moment
    from jsonb_to_recordset(p_counts) as n(id text, count integer)
   order by 1
      on conflict (record_id) do update
     set count = c.count + excluded.count, last_at = excluded.last_at;
  delete from reprise.duplicates d
   using (select n.id,
                 (select k.number
                    from reprise.duplicates k
                   where k.record_id = decode(n.id, 'hex')
                   order by k.number desc
                  offset p_kept
                   limit 1) as oldest
            from jsonb_to_recordset(p_counts) as n(id text)) many
   where d.record_id = decode(many.id, 'hex') and d.number <= many.oldest;
end
$$;
`

const WORKERS = `
alter table reprise.workers add column every_ms double precision;

create table reprise.worker_orders (
  worker     text        primary key,
  is_paused  boolean     not null,
  runs       bigint      not null,
  ordered_at timestamptz not null
);
`

const AUDIT = `
alter table reprise.audit
  add column result    text not null default 'done',
  add column answer    text not null default '',
  add column caller    text,
  add column ip        text,
  add column order_key text;
create unique index audit_order_key on reprise.audit (order_key) where order_key is not null;

create table reprise.batches (
  batch        text        primary key,
  begun_at     timestamptz not null,
  action       text        not null,
  author       text        not null,
  note         text        not null,
  ip           text,
  order_key    text        unique,
  is_confirmed boolean     not null,
  is_cancelled boolean     not null default false,
  is_over      boolean     not null default false
);
create index batches_unfinished on reprise.batches (begun_at) where not is_over;

create table reprise.batch_items (
  batch     text    not null references reprise.batches on delete cascade,
  place     integer not null,
  record_id bytea   not null,
  version   text,
  result    text,
  constraint batch_items_pkey primary key (batch, place)
);
create index batch_items_pending on reprise.batch_items (batch, place) where result is null;
`

/** Settling says in the audit what else is known of the order. The body is that of step 4. */
const SETTLE = `
create function reprise.settle_letter(
  p_number bigint, p_way text, p_author text, p_note text, p_retention_ms double precision,
  p_status smallint, p_response bytea, p_ip text, p_order_key text, p_answer text
) returns boolean language plpgsql as $$
declare
  letter reprise.dead_letters;
  moment timestamptz := clock_timestamp();
begin
  update reprise.dead_letters d
     set settled_at = moment, settlement = p_way, author = p_author, note = p_note
   where d.number = p_number and d.settled_at is null
  returning d.* into letter;
  if letter.number is null then
    return false;
  end if;
  insert into reprise.audit (at, action, subject, author, note, answer, caller, ip, order_key)
  values (moment, 'settle ' || p_way, 'dead letter ' || p_number, p_author, p_note, p_answer,
          letter.caller, p_ip, p_order_key);

  -- What nobody has finished since makes way; what somebody has done with the key stays.
  delete from reprise.records r
   where r.id = letter.record_id and r.status is null and r.created_at = letter.created_at;
  -- A call that was never heard of again is settled with it.
  update reprise.attempts a
     set ended_at = moment, ending = 'settled'
   where a.record_id = letter.record_id and a.ended_at is null
     and a.began_at <= letter.buried_at;
  if p_way = 'resume' and letter.point is null then
    return true;
  end if;
  insert into reprise.records (
           created_at, expires_at, finished_at, fence, status, id, caller, operation, key,
           fingerprint, recovery_point, state, input, response, request_id, ip, user_agent)
  values (letter.created_at, moment + p_retention_ms * interval '1 millisecond',
          case when p_way <> 'resume' then moment end, letter.fence + 1, p_status,
          letter.record_id, letter.caller, letter.operation, letter.key, letter.fingerprint,
          case when p_way = 'resume' then letter.point end,
          case when p_way = 'resume' then letter.state end,
          case when p_way = 'resume' then letter.input end,
          p_response, letter.request_id, letter.ip, letter.user_agent)
      on conflict (id) do nothing;
  perform reprise.notify_waiters(letter.record_id);
  return true;
end
$$;

create or replace function reprise.settle_letter(
  p_number bigint, p_way text, p_author text, p_note text, p_retention_ms double precision,
  p_status smallint, p_response bytea
) returns boolean language sql as $$
  select reprise.settle_letter(p_number, p_way, p_author, p_note, p_retention_ms, p_status,
                               p_response, null, null, '')
$$;
`

/** The sixth step. */
export const admin: Migration = {
  number: 6,
  breaking: false,
  sql: [RECORDS, NOTES, WORKERS, AUDIT, SETTLE].join(''),
}
