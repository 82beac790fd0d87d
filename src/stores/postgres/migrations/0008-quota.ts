/**
 * Quotas: how many fresh keys a caller may bring in which time.
 *
 * The records themselves are counted, by an index that has only those that were made under a quota.
 * A counter would be a row that every request of a caller waits for, in transaction mode until the
 * handler of the one before has ended; counting waits for nobody, and what is rolled back, forgotten
 * or swept no longer counts by itself. Requests at the same instant do not see each other, so that
 * a quota can be overshot by as many as are in flight at once.
 *
 * The index holds a digest of the caller, because a text as long as it likes fits into none.
 *
 * @module
 */

import type { Migration } from '../../migration.ts'

const COUNTING = `
alter table reprise.records add column counts_until timestamptz;
create index records_counted on reprise.records (hashtextextended(caller, 0), counts_until)
  where counts_until is not null;

-- Milliseconds until a fresh key of the caller has room; null when there is room now. Along the index
-- whatever is known of the rows: a plan that sorts would read all that the caller has.
create function reprise.room_in(p_caller text, p_keys integer)
  returns double precision language plpgsql
  set enable_sort = off set enable_seqscan = off set enable_bitmapscan = off as $$
declare
  moment timestamptz := clock_timestamp();
begin
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

/** As in step 1, but for what is said of quotas. */
const CLAIM = `
create function reprise.claim(
  p_id bytea, p_caller text, p_operation text, p_key text, p_fingerprint bytea, p_accepted text,
  p_owner bytea, p_lease_ms double precision, p_retention_ms double precision,
  p_recovery_point text, p_takes_unknown boolean, p_input bytea,
  p_request_id text, p_ip text, p_user_agent text,
  p_quota_keys integer, p_quota_ms double precision
) returns reprise.answer language plpgsql as $$
declare
  seen     reprise.records;
  answer   reprise.answer;
  moment   timestamptz;
  lease    interval := p_lease_ms * interval '1 millisecond';
  kept     interval := greatest(p_retention_ms, p_lease_ms) * interval '1 millisecond';
  counts   interval := p_quota_ms * interval '1 millisecond';
  accepted text[]   := string_to_array(p_accepted, ',');
begin
  for attempt in 1..100 loop
    select r.* into seen from reprise.records r where r.id = p_id;
    moment := clock_timestamp();
    answer := null;

    if seen.id is null or seen.expires_at <= moment then
      if p_quota_keys is not null then
        answer.left_ms := reprise.room_in(p_caller, p_quota_keys);
        if answer.left_ms is not null then
          answer.outcome := 'over_quota';
          return answer;
        end if;
      end if;
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
               owner, recovery_point, input, request_id, ip, user_agent, counts_until)
      values (moment, moment + kept, moment + lease, 1, p_id, p_caller, p_operation, p_key, p_fingerprint,
              p_owner, p_recovery_point, p_input, p_request_id, p_ip, p_user_agent, moment + counts)
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

-- For versions that know no quotas.
create or replace function reprise.claim(
  p_id bytea, p_caller text, p_operation text, p_key text, p_fingerprint bytea, p_accepted text,
  p_owner bytea, p_lease_ms double precision, p_retention_ms double precision,
  p_recovery_point text, p_takes_unknown boolean, p_input bytea,
  p_request_id text, p_ip text, p_user_agent text
) returns reprise.answer language plpgsql as $$
begin
  return reprise.claim(
    p_id, p_caller, p_operation, p_key, p_fingerprint, p_accepted, p_owner, p_lease_ms,
    p_retention_ms, p_recovery_point, p_takes_unknown, p_input, p_request_id, p_ip, p_user_agent,
    null, null);
end
$$;
`

const TRANSACTIONS = `
-- The same as look, and whether the quota has room for what would be fresh.
create function reprise.look_in_quota(
  p_id bytea, p_accepted text, p_takes_unknown boolean, p_caller text, p_quota_keys integer
) returns reprise.answer language plpgsql as $$
declare
  answer reprise.answer := reprise.look(p_id, p_accepted, p_takes_unknown);
begin
  if answer.outcome = 'execute' then
    answer := reprise.within_quota(answer, p_id, p_caller, p_quota_keys);
  end if;
  return answer;
end
$$;

-- p_fresh: the caller has looked already, also at the quota; a look of its own would make
-- transactions of the same caller conflict that are serializable.
create function reprise.begin_in_quota(
  p_id bytea, p_same bigint, p_any bigint, p_accepted text, p_takes_unknown boolean,
  p_fresh boolean, p_idle_ms integer, p_caller text, p_quota_keys integer
) returns reprise.answer language plpgsql as $$
declare
  over   reprise.answer;
  answer reprise.answer;
begin
  -- Before the record makes way, and told only to who would execute: a duplicate of a transaction
  -- that is open is told of that.
  if not p_fresh then
    over := reprise.within_quota(null, p_id, p_caller, p_quota_keys);
  end if;
  answer := reprise.begin_transaction(
    p_id, p_same, p_any, p_accepted, p_takes_unknown, p_fresh, p_idle_ms);
  if over.outcome is not null and answer.outcome = 'execute' then
    return over;
  end if;
  return answer;
end
$$;
`

const WITHIN = `
-- The answer as it is, or that the quota has no room; what has a record needs none.
create function reprise.within_quota(
  p_answer reprise.answer, p_id bytea, p_caller text, p_quota_keys integer
) returns reprise.answer language plpgsql as $$
declare
  over reprise.answer;
begin
  if exists (select from reprise.records r
              where r.id = p_id and r.expires_at > (select clock_timestamp())) then
    return p_answer;
  end if;
  over.left_ms := reprise.room_in(p_caller, p_quota_keys);
  if over.left_ms is null then
    return p_answer;
  end if;
  over.outcome := 'over_quota';
  return over;
end
$$;
`

/** The eighth step. Versions before it count nothing, and know the answers that they can get. */
export const quota: Migration = {
  number: 8,
  breaking: false,
  sql: [COUNTING, CLAIM, WITHIN, TRANSACTIONS].join(''),
}
