/**
 * How transaction mode claims together with the handler's first statement.
 *
 * @module
 */

import type { Migration } from '../../migration.ts'

const SQL = `
-- As begin_transaction, but it fails unless it grants: what was sent behind it is then not executed,
-- and the transaction has let go of every lock. Gives the outcome.
create function reprise.begin_transaction_or_fail(
  p_id bytea, p_same bigint, p_any bigint, p_accepted text, p_takes_unknown boolean,
  p_fresh boolean, p_idle_ms integer
) returns text language plpgsql as $$
declare
  answer reprise.answer;
begin
  answer := reprise.begin_transaction(
    p_id, p_same, p_any, p_accepted, p_takes_unknown, p_fresh, p_idle_ms);
  if answer.outcome not in ('execute', 'recover') then
    raise exception 'reprise: the request is refused' using errcode = 'RP101';
  end if;
  return answer.outcome;
end
$$;
`

/** The ninth step. Versions before it do without. */
export const firstStatement: Migration = { number: 9, breaking: false, sql: SQL }
