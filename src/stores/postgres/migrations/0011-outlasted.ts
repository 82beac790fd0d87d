/**
 * An end to transactions that outlast the retention. Leases do not see the locks of a transaction, so
 * while a route is moved from one mode to the other, a request in lease mode can take effect beside one.
 * Its record has the later commit fail, but only for as long as it stands.
 *
 * @module
 */

import type { Migration } from '../../migration.ts'

const SQL = `
create function reprise.refuse_outlasted() returns timestamptz language plpgsql as $$
begin
  raise exception 'reprise: the transaction was open for longer than the retention'
    using errcode = 'RP004';
end
$$;
`

/** The eleventh step. Versions before it do without. */
export const outlasted: Migration = { number: 11, breaking: false, sql: SQL }
