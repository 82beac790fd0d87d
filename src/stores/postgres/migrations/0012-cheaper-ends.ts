/**
 * Cheaper ends, and a cheaper way in once more. What PostgreSQL does for each statement before it does
 * anything costs more than the rows that are written:
 *
 * - A check of a table is parsed and planned anew by each statement that writes to it. This one was a
 *   fifth of the time in which a record is stored, and nothing but the statements here writes records.
 * - A function in SQL that writes is planned anew by each call: nearly three quarters of the time of
 *   `finish`, for a letter that hardly any record has.
 * - What is looked for with `perform` needs no plan around it that gives a value.
 *
 * @module
 */

import type { Migration } from '../../migration.ts'

const RECORDS = `
alter table reprise.records drop constraint records_finished;

-- It gives nothing. As a volatile one it kept the planner from storing a record without a subquery.
alter function reprise.refuse_outlasted() stable;
`

const BEGIN = `
-- As in step 10.
create or replace function reprise.open_transaction(
  p_id bytea, p_same bigint, p_any bigint, p_accepted text, p_takes_unknown boolean,
  p_fresh boolean, p_idle_ms integer, p_fails boolean
) returns text language plpgsql as $$
declare
  told text;
begin
  if p_idle_ms is not null then
    told := set_config('idle_in_transaction_session_timeout', p_idle_ms::text, true);
  end if;
  if not p_fresh then
    perform from reprise.records r where r.id = p_id;
  end if;
  -- Nothing was found either where nothing was looked for.
  if not found and pg_try_advisory_xact_lock(p_same) and pg_try_advisory_xact_lock(p_any) then
    if p_fresh then
      return 'fresh';
    end if;
    -- A statement of its own: it sees what the last holder has committed.
    perform from reprise.records r where r.id = p_id;
    if not found then
      return 'fresh';
    end if;
  end if;
  told := reprise.told(reprise.begin_transaction(
    p_id, p_same, p_any, p_accepted, p_takes_unknown, p_fresh, p_idle_ms));
  if p_fails and told not in ('fresh', 'execute', 'recover') then
    raise exception 'reprise: the request is refused' using errcode = 'RP101';
  end if;
  return told;
end
$$;
`

const FINISH = `
-- As in step 1, but letters and who waits are looked for before anything is done about them.
create or replace function reprise.finish(
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
  if not found then
    return exists (select from reprise.records r
                    where r.id = p_id and r.owner = p_owner and r.fence = p_fence
                      and r.status is not null);
  end if;
  perform from reprise.dead_letters d where d.record_id = p_id and d.settled_at is null;
  if found then
    -- A run that was taken for dead, and put before a person, has come back.
    perform reprise.withdraw_letter(p_id, made, 'It finished after all.');
  end if;
  perform from reprise.waiters w where w.id = p_id;
  if found then
    perform reprise.notify_waiters(p_id);
  end if;
  return true;
end
$$;
`

/** The twelfth step. Versions before it do without, and get what it gives. */
export const cheaperEnds: Migration = {
  number: 12,
  breaking: false,
  sql: [RECORDS, BEGIN, FINISH].join(''),
}
