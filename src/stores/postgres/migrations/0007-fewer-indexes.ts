/**
 * Takes away two indexes that requests paid for. Ids begin with a digest of the key, so the primary
 * key finds what only the key is known of; and unfinished records need one index, not two.
 *
 * @module
 */

import type { Migration } from '../../migration.ts'

const SQL = `
drop index reprise.records_key;
drop index reprise.records_unfinished;
`

/** The seventh step. Versions before it make other ids, and would not see what was run under these. */
export const fewerIndexes: Migration = { number: 7, breaking: true, sql: SQL }
