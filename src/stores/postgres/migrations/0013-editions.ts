/**
 * Records that outlive clocks and deploys:
 *
 * - A line of history says by `made` which making of a record it belongs to, and a foreign call is known
 *   by its key. Before this step both were told apart by the order of times, which a clock that steps
 *   turns around.
 * - A run that does not understand a record, because another version of the operation has moved it,
 *   leaves it to the nodes of that version.
 * - A phase that hangs in a statement is ended by the database.
 *
 * @module
 */

import type { Migration } from '../../migration.ts'

const TABLES = `
alter table reprise.attempts add column made timestamptz;
update reprise.attempts a set made = r.created_at
  from reprise.records r where r.id = a.record_id;

-- Since when, by which versions and at which fence the record was left last.
alter table reprise.records
  add column left_since timestamptz,
  add column left_by    text,
  add column left_fence integer;
`

const HISTORY = `
-- One more line of history, or the end of the call that was begun.
create or replace function reprise.end_attempt(
  p_id bytea, p_fence integer, p_point text, p_actor text, p_took_ms double precision,
  p_call_key text, p_ending text, p_reached text, p_error text
) returns void language plpgsql as $$
declare
  moment timestamptz := clock_timestamp();
begin
  if p_call_key is not null then
    update reprise.attempts a
       set ended_at = moment, ending = p_ending, reached = p_reached, error = p_error
     where a.record_id = p_id and a.fence = p_fence and a.call_key = p_call_key
       and a.ended_at is null;
    if found then
      return;
    end if;
  end if;
  insert into reprise.attempts (
           began_at, ended_at, fence, record_id, point, actor, ending, reached, call_key, error,
           made)
  select moment - p_took_ms * interval '1 millisecond', moment, p_fence, p_id, p_point, p_actor,
         p_ending, p_reached, p_call_key, p_error, r.created_at
    from reprise.records r
   where r.id = p_id;
end
$$;

create or replace function reprise.begin_call(
  p_id bytea, p_owner bytea, p_fence integer, p_point text, p_actor text,
  p_took_ms double precision, p_call_key text
) returns boolean language plpgsql as $$
declare
  made timestamptz;
begin
  -- Locked, so that nobody takes over between the look and the entry.
  select r.created_at into made
    from reprise.records r
   where r.id = p_id and r.owner = p_owner and r.fence = p_fence and r.status is null
     for update;
  if made is null then
    return false;
  end if;
  insert into reprise.attempts (began_at, fence, record_id, point, actor, call_key, made)
  values (clock_timestamp(), p_fence, p_id, p_point, p_actor, p_call_key, made);
  return true;
end
$$;

-- p_made: of this making of the record; of all of them for '-infinity'.
drop function reprise.history_of(bytea, timestamptz);
create function reprise.history_of(p_id bytea, p_made timestamptz) returns jsonb
  language sql stable as $$
  select coalesce(jsonb_agg(jsonb_build_object(
           'fence', a.fence, 'point', a.point, 'actor', a.actor, 'ending', a.ending,
           'reached', a.reached, 'callKey', a.call_key, 'error', a.error,
           'beganAt', extract(epoch from a.began_at)::double precision * 1000,
           'endedAt', extract(epoch from a.ended_at)::double precision * 1000)
         order by a.number), '[]')
    from reprise.attempts a
   where a.record_id = p_id and (p_made = '-infinity' or a.made = p_made)
$$;

-- A person has decided about the calls that nobody heard of, or that the provider only denied.
create function reprise.settle_calls(letter reprise.dead_letters, moment timestamptz)
  returns void language plpgsql as $$
begin
  update reprise.attempts a
     set ended_at = moment, ending = 'settled'
   where a.record_id = letter.record_id and a.made = letter.created_at
     and a.fence <= letter.fence and (a.ended_at is null or a.ending = 'denied');
end
$$;

-- As in step 4, but for the calls.
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
  values (letter.created_at, moment + p_retention_ms * interval '1 millisecond',
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

const LEAVING = `
-- This version of the operation does not understand the record: gives the lease up, for other versions.
-- 'over', with nothing done, when no other version came within p_other_ms. A run in between, which has
-- understood it or died, begins that time anew: the fence tells. It was no try, and is one line of
-- history for each version, however often clients ask.
create function reprise.leave_phase(
  p_id bytea, p_owner bytea, p_fence integer, p_point text, p_actor text,
  p_took_ms double precision, p_call_key text, p_version text, p_other_ms double precision,
  p_error text
) returns text language plpgsql as $$
declare
  seen     reprise.records;
  moment   timestamptz := clock_timestamp();
  since    timestamptz := moment;
  versions text[]      := '{}';
  is_new   boolean;
begin
  select r.* into seen
    from reprise.records r
   where r.id = p_id and r.owner = p_owner and r.fence = p_fence and r.status is null
     for update;
  if seen.id is null then
    return 'lost';
  end if;
  if seen.left_fence = p_fence - 1 then
    since    := seen.left_since;
    versions := string_to_array(seen.left_by, ',');
  end if;
  if since <= moment - p_other_ms * interval '1 millisecond' then
    return 'over';
  end if;
  is_new := p_version <> all (versions);
  update reprise.records r
     set owner = null, lease_until = null, resume_at = moment,
         tries = case when r.driven_fence = p_fence then r.tries - 1 else r.tries end,
         left_since = since, left_fence = p_fence,
         left_by = array_to_string(versions || case when is_new then p_version end, ',')
   where r.id = p_id;
  if is_new then
    perform reprise.end_attempt(p_id, p_fence, p_point, p_actor, p_took_ms, p_call_key,
                                'retry_later', null, p_error);
  end if;
  perform reprise.notify_waiters(p_id);
  return 'left';
end
$$;
`

const PHASES = `
-- As in step 3. p_statement_ms: how long one statement of the phase may take, unless the user allows it
-- less. Without this a statement would go on, and keep its locks, when nobody waits for the phase.
create function reprise.begin_phase(
  p_id bytea, p_owner bytea, p_fence integer, p_idle_ms integer, p_statement_ms integer
) returns boolean language plpgsql as $$
declare
  given double precision :=
    extract(epoch from current_setting('statement_timeout')::interval) * 1000;
begin
  if p_statement_ms is not null and (given = 0 or given > p_statement_ms) then
    perform set_config('statement_timeout', p_statement_ms::text, true);
  end if;
  return reprise.begin_phase(p_id, p_owner, p_fence, p_idle_ms);
end
$$;
`

/** The thirteenth step. Versions before it do without. */
export const editions: Migration = {
  number: 13,
  breaking: false,
  sql: [TABLES, HISTORY, LEAVING, PHASES].join(''),
}
