import type { Migration } from '../../migration.ts'

/** Until when a record counts that was made under a quota; the index has these only. */
export function quota(prefix: string): Migration {
  return {
    number: 2,
    breaking: false,
    sql: `
      alter table ${prefix}records add column counts_until integer;

      create index ${prefix}records_counted on ${prefix}records (caller, counts_until)
       where counts_until is not null;`,
  }
}
