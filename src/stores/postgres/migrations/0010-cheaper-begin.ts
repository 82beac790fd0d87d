/**
 * A cheaper way into transaction mode. Most keys are fresh, and for these step 2 looked twice, into
 * whole rows, and answered with a row of fifteen columns: more than half of the time that the request
 * cost the database before its end.
 *
 * @module
 */

import type { Migration } from '../../migration.ts'

const SQL = `
-- An answer in one text: how to run, or a JSON array of what stands in the way, then on a line of its
-- own the response.
create function reprise.told(answer reprise.answer) returns text language plpgsql stable as $$
begin
  if answer.outcome = 'execute' and answer.fresh then
    return 'fresh';
  elsif answer.outcome in ('execute', 'recover') then
    return answer.outcome;
  end if;
  return json_build_array(
    answer.outcome, answer.status, answer.resource_type, answer.resource_id,
    encode(answer.owner, 'hex'), answer.request_id, answer.left_ms, answer.age_ms
  ) || E'\\n' || coalesce(encode(answer.response, 'hex'), '');
end
$$;

-- As begin_transaction, but where there is no record it looks for nothing but that, before the locks and
-- behind them. Who finds one there takes no lock before he knows whether it is his: it would keep others
-- away until his rollback. The timeout comes before the locks: a process that froze keeps neither a key that was
-- granted to it nor one that was not. p_fails: it fails unless it grants; what was sent behind it is
-- then not executed, and the transaction has let go of every lock.
create function reprise.open_transaction(
  p_id bytea, p_same bigint, p_any bigint, p_accepted text, p_takes_unknown boolean,
  p_fresh boolean, p_idle_ms integer, p_fails boolean
) returns text language plpgsql as $$
declare
  is_fresh boolean := p_fresh;
  told text;
begin
  if p_idle_ms is not null then
    perform set_config('idle_in_transaction_session_timeout', p_idle_ms::text, true);
  end if;
  if not is_fresh then
    is_fresh := not exists (select from reprise.records r where r.id = p_id);
  end if;
  if is_fresh and pg_try_advisory_xact_lock(p_same) and pg_try_advisory_xact_lock(p_any) then
    -- A statement of its own: it sees what the last holder has committed.
    if p_fresh or not exists (select from reprise.records r where r.id = p_id) then
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

/** The tenth step. Versions before it do without. */
export const cheaperBegin: Migration = { number: 10, breaking: false, sql: SQL }
