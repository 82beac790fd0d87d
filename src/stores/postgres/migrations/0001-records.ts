/**
 * The records, who waits for them, and the verbs that take more than one statement.
 *
 * The functions run each statement on a fresh snapshot (under read committed), which is what lets
 * them look, act on what they saw only if it still stands, and otherwise look again.
 *
 * Written for the schema `reprise`; `migrations/index.ts` puts other names in its place.
 *
 * @module
 */

import type { Migration } from '../../migration.ts'

/** Columns stand by alignment, widest first: it saves the padding. */
const TABLES = `
create table reprise.records (
  created_at     timestamptz not null,
  expires_at     timestamptz not null,
  finished_at    timestamptz,
  lease_until    timestamptz,
  tried_at       timestamptz,
  fence          integer     not null,
  tries          integer,
  status         smallint,
  id             bytea       not null,
  caller         text        not null,
  operation      text        not null,
  key            text        not null,
  fingerprint    bytea       not null,
  owner          bytea,
  recovery_point text,
  state          bytea,
  input          bytea,
  response       bytea,
  resource_type  text,
  resource_id    text,
  request_id     text,
  ip             text,
  user_agent     text,
  constraint records_pkey primary key (id),
  constraint records_finished check ((status is null) = (response is null)
                                 and (status is null) = (finished_at is null))
);
create index records_expired    on reprise.records (expires_at) where status is not null;
create index records_unfinished on reprise.records (id)         where status is null;
`

const WAITING = `
-- Lost in a crash, and no harm done: who waits also polls.
create unlogged table reprise.waiters (
  id    bytea       primary key,
  until timestamptz not null
);

-- A notification makes commits wait for each other, so it is sent only where somebody waits.
create function reprise.notify_waiters(record_id bytea) returns void language plpgsql as $$
begin
  perform pg_notify('reprise_channel', encode(w.id, 'hex'))
     from reprise.waiters w
    where w.id = record_id and w.until > (select clock_timestamp());
end
$$;
`

const ANSWERS = `
create type reprise.answer as (
  outcome        text,
  fence          integer,
  fresh          boolean,
  abandoned      boolean,
  recovery_point text,
  state          bytea,
  input          bytea,
  status         smallint,
  response       bytea,
  resource_type  text,
  resource_id    text,
  owner          bytea,
  request_id     text,
  left_ms        double precision,
  age_ms         double precision
);

create function reprise.ms_between(earlier timestamptz, later timestamptz)
  returns double precision language sql immutable as
$$ select extract(epoch from later - earlier)::double precision * 1000 $$;

create function reprise.answer_to(why text, seen reprise.records, moment timestamptz)
  returns reprise.answer language plpgsql immutable as $$
declare
  answer reprise.answer;
begin
  answer.outcome := why;
  if why = 'replay' then
    answer.status        := seen.status;
    answer.response      := seen.response;
    answer.resource_type := seen.resource_type;
    answer.resource_id   := seen.resource_id;
    answer.owner         := seen.owner;
    answer.request_id    := seen.request_id;
    answer.left_ms       := reprise.ms_between(moment, seen.expires_at);
  elsif why = 'in_progress' then
    answer.left_ms       := reprise.ms_between(moment, seen.lease_until);
    answer.age_ms        := reprise.ms_between(seen.created_at, moment);
  end if;
  return answer;
end
$$;
`

const CLAIM = `
create function reprise.claim(
  p_id bytea, p_caller text, p_operation text, p_key text, p_fingerprint bytea, p_accepted text,
  p_owner bytea, p_lease_ms double precision, p_retention_ms double precision,
  p_recovery_point text, p_takes_unknown boolean, p_input bytea,
  p_request_id text, p_ip text, p_user_agent text
) returns reprise.answer language plpgsql as $$
declare
  seen     reprise.records;
  answer   reprise.answer;
  moment   timestamptz;
  lease    interval := p_lease_ms * interval '1 millisecond';
  kept     interval := greatest(p_retention_ms, p_lease_ms) * interval '1 millisecond';
  accepted text[]   := string_to_array(p_accepted, ',');
begin
  for attempt in 1..100 loop
    select r.* into seen from reprise.records r where r.id = p_id;
    moment := clock_timestamp();
    answer := null;

    if seen.id is null or seen.expires_at <= moment then
      if seen.id is not null then
        delete from reprise.records r where r.id = p_id and r is not distinct from seen;
        continue when not found;
        if seen.status is null then
          perform reprise.bury_record(seen, 'abandoned', null, true);
        end if;
        delete from reprise.attempts a where a.record_id = p_id;
      end if;
      insert into reprise.records (
               created_at, expires_at, lease_until, fence, id, caller, operation, key, fingerprint,
               owner, recovery_point, input, request_id, ip, user_agent)
      values (moment, moment + kept, moment + lease, 1, p_id, p_caller, p_operation, p_key, p_fingerprint,
              p_owner, p_recovery_point, p_input, p_request_id, p_ip, p_user_agent)
          on conflict (id) do nothing;
      continue when not found;
      answer.outcome   := 'execute';
      answer.fence     := 1;
      answer.fresh     := true;
      answer.abandoned := seen.id is not null and seen.status is null;
      return answer;
    end if;

    answer.outcome := case
      when encode(seen.fingerprint, 'hex') <> all (accepted)
                                                   then 'mismatch'
      when seen.status is not null                 then 'replay'
      when seen.owner = p_owner and seen.fence = 1 then 'execute'
      when seen.owner is distinct from p_owner
       and seen.lease_until > moment               then 'in_progress'
      when seen.recovery_point is not null         then 'resume'
      when seen.owner = p_owner or p_takes_unknown then 'recover'
      else                                              'unknown'
    end;
    if answer.outcome not in ('execute', 'resume', 'recover') then
      return reprise.answer_to(answer.outcome, seen, moment);
    end if;

    answer.fence          := seen.fence + (seen.owner is distinct from p_owner)::integer;
    answer.recovery_point := seen.recovery_point;
    answer.state          := seen.state;
    answer.input          := seen.input;
    update reprise.records r
       set fence       = answer.fence,
           owner       = p_owner,
           lease_until = moment + lease,
           tried_at    = moment,
           expires_at  = greatest(r.expires_at, moment + kept)
     where r.id = p_id and r is not distinct from seen;
    if found then
      if answer.outcome = 'recover' then
        perform reprise.withdraw_letter(p_id, seen.created_at, 'A later request took it up.');
      end if;
      return answer;
    end if;
  end loop;
  raise exception 'reprise: the record changed with every look' using errcode = '40001';
end
$$;
`

const ENDS = `
create function reprise.finish(
  p_id bytea, p_owner bytea, p_fence integer, p_status smallint, p_response bytea,
  p_resource_type text, p_resource_id text, p_retention_ms double precision
) returns boolean language plpgsql as $$
declare
  moment timestamptz := clock_timestamp();
  made   timestamptz;
begin
  update reprise.records r
     set status        = p_status,
         response      = p_response,
         resource_type = p_resource_type,
         resource_id   = p_resource_id,
         lease_until   = null,
         input         = null,
         state         = null,
         finished_at   = moment,
         expires_at    = moment + p_retention_ms * interval '1 millisecond'
   where r.id = p_id and r.owner = p_owner and r.fence = p_fence and r.status is null
  returning r.created_at into made;
  if found then
    -- A run that was taken for dead, and put before a person, has come back.
    perform reprise.withdraw_letter(p_id, made, 'It finished after all.');
    perform reprise.notify_waiters(p_id);
    return true;
  end if;
  return exists (select from reprise.records r
                  where r.id = p_id and r.owner = p_owner and r.fence = p_fence
                    and r.status is not null);
end
$$;

create function reprise.release(p_id bytea, p_owner bytea, p_fence integer, p_forget boolean)
  returns boolean language plpgsql as $$
begin
  if p_forget then
    delete from reprise.records r
     where r.id = p_id and r.owner = p_owner and r.fence = p_fence and r.status is null;
  else
    update reprise.records r
       set owner = null, lease_until = null
     where r.id = p_id and r.owner = p_owner and r.fence = p_fence and r.status is null;
  end if;
  if found then
    perform reprise.notify_waiters(p_id);
    return true;
  end if;
  return false;
end
$$;
`

/** The first step. */
export const records: Migration = {
  number: 1,
  breaking: true,
  sql: [TABLES, WAITING, ANSWERS, CLAIM, ENDS].join(''),
}
