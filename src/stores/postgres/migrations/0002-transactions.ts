/**
 * How transaction mode looks and takes the key.
 *
 * @module
 */

import type { Migration } from '../../migration.ts'

const SQL = `
-- What transaction mode makes of the record; fresh says that there is none.
create function reprise.look(p_id bytea, p_accepted text, p_takes_unknown boolean)
  returns reprise.answer language plpgsql as $$
declare
  seen   reprise.records;
  answer reprise.answer;
  moment timestamptz;
begin
  select r.* into seen from reprise.records r where r.id = p_id;
  moment := clock_timestamp();
  answer := reprise.answer_to(case
    when seen.id is null           then 'execute'
    when seen.expires_at <= moment then 'execute'
    when encode(seen.fingerprint, 'hex') <> all (string_to_array(p_accepted, ','))
                                   then 'mismatch'
    when seen.status is not null   then 'replay'
    when seen.lease_until > moment then 'in_progress'
    when seen.recovery_point = 'started'
                                   then 'execute'
    when p_takes_unknown           then 'recover'
    else                                'unknown'
  end, seen, moment);
  answer.fresh := seen.id is null;
  return answer;
end
$$;

-- p_same: lock on identity and fingerprint; p_any: lock on the identity. Both are tried, never
-- waited for, and held until the transaction ends. p_fresh: the caller has looked already.
create function reprise.begin_transaction(
  p_id bytea, p_same bigint, p_any bigint, p_accepted text, p_takes_unknown boolean,
  p_fresh boolean, p_idle_ms integer
) returns reprise.answer language plpgsql as $$
declare
  answer  reprise.answer;
  removed reprise.records;
  locked  boolean := false;
begin
  for attempt in 1..100 loop
    if p_fresh then
      answer.outcome := 'execute';
      answer.fresh   := true;
    else
      answer := reprise.look(p_id, p_accepted, p_takes_unknown);
      if answer.outcome not in ('execute', 'recover') then
        return answer;
      end if;
    end if;

    if not locked then
      -- In this order: whoever holds p_any holds the p_same of its own request, so that p_any can
      -- only be refused to another request.
      if not pg_try_advisory_xact_lock(p_same) then
        answer.outcome := 'in_progress';
        return answer;
      elsif not pg_try_advisory_xact_lock(p_any) then
        answer.outcome := 'mismatch';
        return answer;
      end if;
      -- Look again: the last holder may have committed between the look and the lock.
      locked := true;
      continue;
    end if;

    if not answer.fresh then
      delete from reprise.records r
       where r.id = p_id
         and (r.expires_at <= (select clock_timestamp())
              or (p_takes_unknown or r.recovery_point = 'started')
             and r.status is null
             and coalesce(r.lease_until <= (select clock_timestamp()), true))
      returning r.* into removed;
      continue when not found;
      if removed.status is null then
        if removed.expires_at > clock_timestamp() then
          perform reprise.withdraw_letter(p_id, removed.created_at, 'A later request took it up.');
        else
          perform reprise.bury_record(removed, 'abandoned', null, true);
        end if;
      end if;
    end if;
    if p_idle_ms is not null then
      perform set_config('idle_in_transaction_session_timeout', p_idle_ms::text, true);
    end if;
    return answer;
  end loop;
  raise exception 'reprise: the record changed with every look' using errcode = '40001';
end
$$;
`

/** The second step. */
export const transactions: Migration = { number: 2, breaking: true, sql: SQL }
