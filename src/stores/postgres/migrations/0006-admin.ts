/**
 * What operators need: lists by time, look-ups by key, who answered which duplicate, orders to
 * workers and batches.
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

const BATCHES = `
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

/** The sixth step. */
export const admin: Migration = {
  number: 6,
  breaking: false,
  sql: [RECORDS, NOTES, WORKERS, BATCHES].join(''),
}
