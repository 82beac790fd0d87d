/**
 * A refusal in a text that is no JSON. Plugins of query builders parse every text that is, and the
 * store then found an array where it looks for a text.
 *
 * @module
 */

import type { Migration } from '../../migration.ts'

const TOLD = `
-- As in step 10, with a dash in the place of a response that there is none of.
create or replace function reprise.told(answer reprise.answer)
returns text language plpgsql stable as $$
begin
  if answer.outcome = 'execute' and answer.fresh then
    return 'fresh';
  elsif answer.outcome in ('execute', 'recover') then
    return answer.outcome;
  end if;
  return json_build_array(
    answer.outcome, answer.status, answer.resource_type, answer.resource_id,
    encode(answer.owner, 'hex'), answer.request_id, answer.left_ms, answer.age_ms
  ) || E'\\n' || coalesce(encode(answer.response, 'hex'), '-');
end
$$;
`

/** The sixteenth step. Versions before it do without, and get what it gives. */
export const noJson: Migration = { number: 16, breaking: false, sql: TOLD }
