/**
 * Dead letters: how a record is put before a person, and what becomes of what the person decides.
 *
 * @module
 */

import type { Migration } from '../../migration.ts'

const SQL = `
create function reprise.history_of(p_id bytea, since timestamptz) returns jsonb
  language sql stable as $$
  select coalesce(jsonb_agg(jsonb_build_object(
           'fence', a.fence, 'point', a.point, 'actor', a.actor, 'ending', a.ending,
           'reached', a.reached, 'callKey', a.call_key, 'error', a.error,
           'beganAt', extract(epoch from a.began_at)::double precision * 1000,
           'endedAt', extract(epoch from a.ended_at)::double precision * 1000)
         order by a.number), '[]')
    from reprise.attempts a
   where a.record_id = p_id and a.began_at >= since - interval '1 minute'
$$;

-- Once: what lies before a person already stays the one letter there is. p_untold: the app has not
-- been told; what was no operation of phases it need not be.
create function reprise.bury_record(
  seen reprise.records, p_cause text, p_error text, p_untold boolean
) returns void language plpgsql as $$
declare
  tell timestamptz := case when p_untold and seen.input is not null then clock_timestamp() end;
begin
  update reprise.dead_letters d
     set tell_after = coalesce(tell, d.tell_after)
   where d.record_id = seen.id and d.created_at = seen.created_at and d.settled_at is null;
  if found then
    return;
  end if;
  insert into reprise.dead_letters (
           created_at, buried_at, tell_after, fence, tries, record_id, caller, operation, key,
           fingerprint, cause, point, error, state, input, request_id, ip, user_agent, history)
  values (seen.created_at, clock_timestamp(), tell, seen.fence, coalesce(seen.tries, 0), seen.id,
          seen.caller, seen.operation, seen.key, seen.fingerprint, p_cause, seen.recovery_point,
          p_error, seen.state, seen.input, seen.request_id, seen.ip, seen.user_agent,
          reprise.history_of(seen.id, seen.created_at));
end
$$;

-- A run has taken the record up after all, or come back: nobody need look.
create function reprise.withdraw_letter(p_id bytea, made timestamptz, p_note text)
  returns void language sql as $$
  update reprise.dead_letters d
     set settled_at = clock_timestamp(), settlement = 'withdrawn', author = 'reprise',
         note = p_note
   where d.record_id = p_id and d.created_at = made and d.settled_at is null
$$;

-- From here on nobody can say what took effect, until a person does.
create function reprise.bury(
  p_id bytea, p_owner bytea, p_fence integer, p_cause text, p_error text, p_untold boolean,
  p_retention_ms double precision
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
  perform reprise.bury_record(seen, p_cause, p_error, p_untold);
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

create function reprise.bury_unknown(
  p_limit integer, p_grace_ms double precision, p_retention_ms double precision
)
  returns integer language plpgsql as $$
declare
  seen   reprise.records;
  buried integer := 0;
begin
  for seen in
    select r.*
      from reprise.records r
     where r.status is null and r.recovery_point is null
       and coalesce(r.lease_until, r.tried_at, r.created_at)
           <= (select clock_timestamp()) - p_grace_ms * interval '1 millisecond'
       and r.expires_at > (select clock_timestamp())
       and not exists (select from reprise.dead_letters d
                        where d.record_id = r.id and d.created_at = r.created_at
                          and d.settled_at is null)
     limit p_limit
       for update of r skip locked
  loop
    perform reprise.bury_record(seen, 'outcome_unknown', null, false);
    update reprise.records r
       set expires_at = greatest(r.expires_at,
                                 clock_timestamp() + p_retention_ms * interval '1 millisecond')
     where r.id = seen.id;
    buried := buried + 1;
  end loop;
  return buried;
end
$$;

-- p_way: happened and give_up store an answer; resume takes the work up where it stopped, or, where
-- no recovery point is known, frees the key. What a later request has done with the key stays, and
-- nothing is resumed over it.
create function reprise.settle_letter(
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

/** The fourth step. */
export const letters: Migration = { number: 4, breaking: true, sql: SQL }
