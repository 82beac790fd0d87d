/**
 * Takes away two indexes that requests paid for. Ids begin with a digest of the key, so the primary
 * key finds what only the key is known of; and unfinished records need one index, not two.
 *
 * Workers get what they walk: staged jobs in the order in which they became due, and the settled dead
 * letters that still hold what they were sent.
 *
 * @module
 */

import type { Migration } from '../../migration.ts'

const SQL = `
drop index reprise.records_key;
drop index reprise.records_unfinished;

drop index reprise.staged_jobs_due;
create index staged_jobs_due on reprise.staged_jobs ((coalesce(run_at, staged_at)), number)
  where set_aside_at is null;
create index dead_letters_kept on reprise.dead_letters (number)
  where settled_at is not null and input is not null;
`

/** The seventh step. Versions before it make other ids, and would not see what was run under these. */
export const fewerIndexes: Migration = { number: 7, breaking: true, sql: SQL }
