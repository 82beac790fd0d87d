/**
 * Phases, staged jobs and workers: their tables, and the verbs of phases.
 *
 * @module
 */

import type { Migration } from '../../migration.ts'

const TABLES = `
-- What was tried on each record. An entry without an end is a foreign call under way.
create table reprise.attempts (
  number    bigint      generated always as identity,
  began_at  timestamptz not null,
  ended_at  timestamptz,
  fence     integer     not null,
  record_id bytea       not null,
  point     text        not null,
  actor     text        not null,
  ending    text,
  reached   text,
  call_key  text,
  error     text,
  constraint attempts_pkey primary key (record_id, number)
);

create table reprise.staged_jobs (
  number       bigint      generated always as identity primary key,
  staged_at    timestamptz not null,
  run_at       timestamptz,
  set_aside_at timestamptz,
  attempts     integer     not null default 0,
  job_id       uuid        not null,
  record_id    bytea       not null,
  name         text        not null,
  args         text        not null,
  dedupe_key   text,
  last_error   text
);
create index staged_jobs_due on reprise.staged_jobs ((coalesce(run_at, '-infinity')), number)
  where set_aside_at is null;
create unique index staged_jobs_dedupe on reprise.staged_jobs (name, dedupe_key)
  where dedupe_key is not null and set_aside_at is null;

create table reprise.dead_letters (
  number      bigint      generated always as identity primary key,
  created_at  timestamptz not null,
  buried_at   timestamptz not null,
  settled_at  timestamptz,
  -- From when on the app is to be told of it; null when it was, or need not be.
  tell_after  timestamptz,
  fence       integer     not null,
  tries       integer     not null,
  record_id   bytea       not null,
  caller      text        not null,
  operation   text        not null,
  key         text        not null,
  fingerprint bytea       not null,
  cause       text        not null,
  point       text,
  error       text,
  state       bytea,
  input       bytea,
  request_id  text,
  ip          text,
  user_agent  text,
  history     jsonb       not null,
  settlement  text,
  author      text,
  note        text
);
create index dead_letters_open on reprise.dead_letters (record_id) where settled_at is null;
create index dead_letters_untold on reprise.dead_letters (number) where tell_after is not null;

create table reprise.audit (
  number    bigint      generated always as identity primary key,
  at        timestamptz not null,
  action    text        not null,
  subject   text        not null,
  author    text        not null,
  note      text        not null,
  result    text        not null default 'done',
  answer    text        not null default '',
  caller    text,
  ip        text,
  order_key text
);
create unique index audit_order_key on reprise.audit (order_key) where order_key is not null;

create function reprise.keep_audit() returns trigger language plpgsql as $$
begin
  raise exception 'reprise: what was audited stays as it is';
end
$$;
create trigger keep_audit before update or delete or truncate on reprise.audit
  for each statement execute function reprise.keep_audit();

create table reprise.workers (
  worker     text             not null,
  node       text             not null,
  started_at timestamptz      not null,
  ran_at     timestamptz      not null,
  took_ms    double precision not null,
  done       bigint           not null,
  runs       bigint           not null,
  error      text,
  constraint workers_pkey primary key (worker, node)
);
`

const PHASES = `
-- The transaction of a phase; p_idle_ms: how long a process that froze may keep it open.
create function reprise.begin_phase(p_id bytea, p_owner bytea, p_fence integer, p_idle_ms integer)
  returns boolean language plpgsql as $$
begin
  if p_idle_ms is not null then
    perform set_config('idle_in_transaction_session_timeout', p_idle_ms::text, true);
  end if;
  return exists (select from reprise.records r
                  where r.id = p_id and r.owner = p_owner and r.fence = p_fence
                    and r.status is null);
end
$$;

create function reprise.lose_lease() returns void language plpgsql as $$
begin
  raise exception 'reprise: another run has taken over' using errcode = 'RP001';
end
$$;

-- The app's code ended the transaction that was begun as p_transaction: this is another, or none.
create function reprise.stay_in(p_transaction text) returns void language plpgsql as $$
begin
  if p_transaction <> extract(epoch from transaction_timestamp())::text then
    raise exception 'reprise: the transaction was ended by others' using errcode = 'RP002';
  end if;
end
$$;

-- One more line of history, or the end of the call that was begun.
create function reprise.end_attempt(
  p_id bytea, p_fence integer, p_point text, p_actor text, p_took_ms double precision,
  p_call_key text, p_ending text, p_reached text, p_error text
) returns void language plpgsql as $$
declare
  moment timestamptz := clock_timestamp();
begin
  if p_call_key is not null then
    update reprise.attempts a
       set ended_at = moment, ending = p_ending, reached = p_reached, error = p_error
     where a.record_id = p_id and a.fence = p_fence and a.point = p_point and a.ended_at is null;
    if found then
      return;
    end if;
  end if;
  insert into reprise.attempts (
           began_at, ended_at, fence, record_id, point, actor, ending, reached, call_key, error)
  values (moment - p_took_ms * interval '1 millisecond', moment, p_fence, p_id, p_point, p_actor,
          p_ending, p_reached, p_call_key, p_error);
end
$$;

create function reprise.advance_phase(
  p_transaction text, p_id bytea, p_owner bytea, p_fence integer, p_point text, p_actor text,
  p_took_ms double precision, p_call_key text, p_lease_ms double precision, p_reached text,
  p_state bytea
) returns void language plpgsql as $$
declare
  until timestamptz := clock_timestamp() + p_lease_ms * interval '1 millisecond';
begin
  perform reprise.stay_in(p_transaction);
  update reprise.records r
     set lease_until    = until,
         expires_at     = greatest(r.expires_at, until),
         recovery_point = p_reached,
         state          = p_state
   where r.id = p_id and r.owner = p_owner and r.fence = p_fence and r.status is null;
  if not found then
    perform reprise.lose_lease();
  end if;
  perform reprise.end_attempt(
    p_id, p_fence, p_point, p_actor, p_took_ms, p_call_key, 'advanced', p_reached, null);
end
$$;

create function reprise.finish_phase(
  p_transaction text, p_id bytea, p_owner bytea, p_fence integer, p_point text, p_actor text,
  p_took_ms double precision, p_call_key text, p_status smallint, p_response bytea,
  p_resource_type text, p_resource_id text, p_retention_ms double precision
) returns void language plpgsql as $$
begin
  perform reprise.stay_in(p_transaction);
  if not exists (select from reprise.records r
                  where r.id = p_id and r.owner = p_owner and r.fence = p_fence
                    and r.status is null)
     or not reprise.finish(p_id, p_owner, p_fence, p_status, p_response, p_resource_type,
                           p_resource_id, p_retention_ms)
  then
    perform reprise.lose_lease();
  end if;
  perform reprise.end_attempt(
    p_id, p_fence, p_point, p_actor, p_took_ms, p_call_key, 'responded', null, null);
end
$$;

create function reprise.begin_call(
  p_id bytea, p_owner bytea, p_fence integer, p_point text, p_actor text,
  p_took_ms double precision, p_call_key text
) returns boolean language plpgsql as $$
begin
  -- Locked, so that nobody takes over between the look and the entry.
  perform from reprise.records r
    where r.id = p_id and r.owner = p_owner and r.fence = p_fence and r.status is null
      for update;
  if not found then
    return false;
  end if;
  insert into reprise.attempts (began_at, fence, record_id, point, actor, call_key)
  values (clock_timestamp(), p_fence, p_id, p_point, p_actor, p_call_key);
  return true;
end
$$;

create function reprise.stop_phase(
  p_id bytea, p_owner bytea, p_fence integer, p_point text, p_actor text,
  p_took_ms double precision, p_call_key text, p_ending text, p_error text
) returns boolean language plpgsql as $$
begin
  if not reprise.release(p_id, p_owner, p_fence, false) then
    return false;
  end if;
  perform reprise.end_attempt(
    p_id, p_fence, p_point, p_actor, p_took_ms, p_call_key, p_ending, null, p_error);
  return true;
end
$$;
`

/** The third step. */
export const work: Migration = { number: 3, breaking: true, sql: [TABLES, PHASES].join('') }
