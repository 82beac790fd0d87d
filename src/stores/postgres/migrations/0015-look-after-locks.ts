/**
 * A request looks for its record, finds none, and is refused the locks of its key. Whoever holds them may
 * be a replay: it looked before the record was committed and locked the key after that. So a request that is
 * refused looks once more before it is told that another one is running.
 *
 * @module
 */

import type { Migration } from '../../migration.ts'

const BEGIN = `
-- As in step 2, but who is refused the locks looks again.
create or replace function reprise.begin_transaction(
  p_id bytea, p_same bigint, p_any bigint, p_accepted text, p_takes_unknown boolean,
  p_fresh boolean, p_idle_ms integer
) returns reprise.answer language plpgsql as $$
declare
  answer  reprise.answer;
  removed reprise.records;
  refusal text;
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
        refusal := 'in_progress';
      elsif not pg_try_advisory_xact_lock(p_any) then
        refusal := 'mismatch';
      end if;
      if refusal is not null then
        -- A statement of its own: it sees what was committed since the last look, unless the
        -- transaction has a snapshot that stays.
        answer := reprise.look(p_id, p_accepted, p_takes_unknown);
        if answer.outcome in ('execute', 'recover') then
          answer.outcome := refusal;
        end if;
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

/** The fifteenth step. Versions before it do without, and get what it gives. */
export const lookAfterLocks: Migration = { number: 15, breaking: false, sql: BEGIN }
