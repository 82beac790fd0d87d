/**
 * A dead letter knows how long its request was to be kept. Whoever settles it, on the command line or
 * in the dashboard, need not know the operation for its answer to be kept as long.
 *
 * And a claim may bring a quota of no keys: it takes up what is there and makes nothing.
 *
 * @module
 */

import type { Migration } from '../../migration.ts'

const LETTERS = `
-- How long the answer that settles it is kept at least.
alter table reprise.dead_letters add column retention_ms double precision not null default 0;

-- How long the record was to be kept when an operator ended its retention.
alter table reprise.records add column retention interval;

drop function reprise.bury_record(reprise.records, text, text, boolean);

-- As in step 4. A record is kept for its retention from its making at least, so what lies between its
-- making and its end is as long or longer.
create function reprise.bury_record(
  seen reprise.records, p_cause text, p_error text, p_untold boolean,
  p_answer_ms double precision default 0
) returns void language plpgsql as $$
declare
  tell timestamptz := case when p_untold and seen.input is not null then clock_timestamp() end;
  kept double precision := greatest(
    p_answer_ms,
    case when isfinite(seen.expires_at)
         then reprise.ms_between(seen.created_at, seen.expires_at) end,
    extract(epoch from seen.retention)::double precision * 1000);
begin
  update reprise.dead_letters d
     set tell_after = coalesce(tell, d.tell_after), retention_ms = greatest(d.retention_ms, kept)
   where d.record_id = seen.id and d.created_at = seen.created_at and d.settled_at is null;
  if found then
    return;
  end if;
  insert into reprise.dead_letters (
           created_at, buried_at, tell_after, fence, tries, record_id, caller, operation, key,
           fingerprint, cause, point, error, state, input, request_id, ip, user_agent, history,
           retention_ms)
  values (seen.created_at, clock_timestamp(), tell, seen.fence, coalesce(seen.tries, 0), seen.id,
          seen.caller, seen.operation, seen.key, seen.fingerprint, p_cause, seen.recovery_point,
          p_error, seen.state, seen.input, seen.request_id, seen.ip, seen.user_agent,
          reprise.history_of(seen.id, seen.created_at), kept);
end
$$;

drop function reprise.bury(bytea, bytea, integer, text, text, boolean, double precision);

-- As in step 4. p_retention_ms: how long the record waits for its settlement; p_answer_ms: how long
-- the answer is kept that settles it.
create function reprise.bury(
  p_id bytea, p_owner bytea, p_fence integer, p_cause text, p_error text, p_untold boolean,
  p_retention_ms double precision, p_answer_ms double precision
) returns boolean language plpgsql as $$
declare
  seen reprise.records;
begin
  select r.* into seen
    from reprise.records r
   where r.id = p_id and r.owner = p_owner and r.fence = p_fence and r.status is null
     for update;
  if seen.id is null then
    return false;
  end if;
  perform reprise.bury_record(seen, p_cause, p_error, p_untold, p_answer_ms);
  if p_cause = 'abandoned' then
    delete from reprise.records r where r.id = p_id;
    delete from reprise.attempts a where a.record_id = p_id;
  else
    update reprise.records r
       set recovery_point = null, owner = null, lease_until = null,
           expires_at = greatest(r.expires_at,
                                 clock_timestamp() + p_retention_ms * interval '1 millisecond')
     where r.id = p_id;
  end if;
  perform reprise.notify_waiters(p_id);
  return true;
end
$$;

-- As in step 13, but what is settled is kept for the longer of p_retention_ms and what the letter says.
create or replace function reprise.settle_letter(
  p_number bigint, p_way text, p_author text, p_note text, p_retention_ms double precision,
  p_status smallint, p_response bytea, p_resource_type text, p_resource_id text, p_ip text,
  p_order_key text, p_answer text
) returns boolean language plpgsql as $$
declare
  letter reprise.dead_letters;
  moment timestamptz := clock_timestamp();
begin
  update reprise.dead_letters d
     set settled_at = moment, tell_after = null, settlement = p_way, author = p_author,
         note = p_note
   where d.number = p_number and d.settled_at is null
  returning d.* into letter;
  if letter.number is null then
    return false;
  end if;
  insert into reprise.audit (at, action, subject, author, note, answer, caller, ip, order_key)
  values (moment, 'settle ' || p_way, 'dead letter ' || p_number, p_author, p_note, p_answer,
          letter.caller, p_ip, p_order_key);

  delete from reprise.records r
   where r.id = letter.record_id
     and case when r.status is null then r.created_at = letter.created_at
              else r.expires_at <= moment
         end;
  perform reprise.settle_calls(letter, moment);
  if p_way = 'resume' and letter.point is null then
    return true;
  end if;
  insert into reprise.records (
           created_at, expires_at, finished_at, fence, status, id, caller, operation, key,
           fingerprint, recovery_point, state, input, response, resource_type, resource_id,
           request_id, ip, user_agent)
  values (letter.created_at,
          moment + greatest(p_retention_ms, letter.retention_ms) * interval '1 millisecond',
          case when p_way <> 'resume' then moment end, letter.fence + 1, p_status,
          letter.record_id, letter.caller, letter.operation, letter.key, letter.fingerprint,
          case when p_way = 'resume' then letter.point end,
          case when p_way = 'resume' then letter.state end,
          case when p_way = 'resume' then letter.input end,
          p_response, p_resource_type, p_resource_id, letter.request_id, letter.ip,
          letter.user_agent)
      on conflict (id) do nothing;
  if not found and p_way = 'resume' then
    raise exception 'reprise: a later request has the key' using errcode = 'RP003';
  end if;
  perform reprise.notify_waiters(letter.record_id);
  return true;
exception when sqlstate 'RP003' then
  return false;
end
$$;
`

const QUOTAS = `
-- As in step 8, but there is never room in a quota of no keys; for how long is not asked.
create or replace function reprise.room_in(p_caller text, p_keys integer)
  returns double precision language plpgsql
  set enable_sort = off set enable_seqscan = off set enable_bitmapscan = off as $$
declare
  moment timestamptz := clock_timestamp();
begin
  if p_keys < 1 then
    return 1;
  end if;
  return (select reprise.ms_between(moment, r.counts_until)
            from reprise.records r
           where hashtextextended(r.caller, 0) = hashtextextended(p_caller, 0)
             and r.caller = p_caller and r.counts_until > moment
           order by r.counts_until desc
          offset p_keys - 1
           limit 1);
end
$$;
`

/** The fourteenth step. Versions before it cannot put a record before a person with it. */
export const keptAnswers: Migration = {
  number: 14,
  breaking: true,
  sql: [LETTERS, QUOTAS].join(''),
}
