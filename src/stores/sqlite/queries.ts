/**
 * All SQL of the store, but for the migrations.
 *
 * @module
 */

import { COLUMN_NAMES } from './record.ts'

/** The database's time, in whole milliseconds. The same wherever it stands in one statement. */
const NOW = `cast(round(unixepoch('subsec') * 1000) as integer)`

/** `statusOf` of `core/record.ts`, said in SQL. */
const STATUS = `
  case when expires_at <= ${NOW}       then 'expired'
       when response_status is not null then 'finished'
       when lease_until > ${NOW}        then 'running'
       when recovery_point is null      then 'unknown'
       else 'suspended'
  end`

const COLUMNS = COLUMN_NAMES.join(', ')
const PLACEHOLDERS = COLUMN_NAMES.map(() => '?').join(', ')
const ASSIGNMENTS = COLUMN_NAMES.map((name) => `${name} = excluded.${name}`).join(', ')

/** The version of SQLite. */
export const VERSION = 'select sqlite_version() as version'

/** The statements for one prefix of table names. */
export interface Queries {
  readonly prefix: string
  readonly recordsTable: string
  /** The time, and the record if there is one. One row. (id) */
  readonly look: string
  /** Adds a record; fails if there is one. (values) */
  readonly insert: string
  /** Adds or replaces a record. (values) */
  readonly put: string
  /** Deletes a record. (id) */
  readonly remove: string
  /** Has a record count for so many milliseconds. (milliseconds, id) */
  readonly count: string
  /** Milliseconds until a fresh key has room; no row when there is. (caller, keys less one) */
  readonly room: string
  /** Changes nothing, and takes the write lock. */
  readonly lock: string
  /** What a listing filters by, in order of the id. (id to start after, limit) */
  readonly scan: string
  /** The same, of unfinished records only. */
  readonly scanUnfinished: string
  /** Deletes finished records past their retention. (limit) */
  readonly sweep: string
  /** Unfinished records by status. */
  readonly stats: string
  /** Whether there is a table of migrations. */
  readonly hasMigrations: string
  readonly createMigrations: string
  readonly applied: string
  /** (number, breaking) */
  readonly apply: string
}

/** Puts the prefix in. It is part of the SQL: check it first. */
export function queries(prefix: string): Queries {
  const records = `${prefix}records`
  const migrations = `${prefix}migrations`
  const scan = (where: string) => `
    select id, caller, operation, ${STATUS} as status
      from ${records} where id > ? ${where} order by id limit ?`
  const insert = `insert into ${records} (${COLUMNS}) values (${PLACEHOLDERS})`
  return {
    prefix,
    recordsTable: records,
    look: `
      select clock.now, record.*
        from (select ${NOW} as now) as clock left join ${records} as record on record.id = ?`,
    insert,
    put: `${insert} on conflict (id) do update set ${ASSIGNMENTS}`,
    remove: `delete from ${records} where id = ?`,
    count: `update ${records} set counts_until = ${NOW} + ? where id = ?`,
    room: `
      select counts_until - ${NOW} as ms
        from ${records} where caller = ? and counts_until > ${NOW}
       order by counts_until desc limit 1 offset ?`,
    lock: `delete from ${records} where false`,
    scan: scan(''),
    scanUnfinished: scan('and response_status is null'),
    sweep: `
      delete from ${records}
       where rowid in (select rowid from ${records}
                        where response_status is not null and expires_at <= ${NOW}
                        order by expires_at limit ?)`,
    stats: `
      select ${STATUS} as status, count(*) as count
        from ${records} where response_status is null group by 1`,
    hasMigrations: `select 1 from sqlite_master where type = 'table' and name = '${migrations}'`,
    createMigrations: `
      create table if not exists ${migrations} (
        number     integer primary key,
        breaking   integer not null,
        applied_at integer not null default (${NOW})
      ) strict`,
    applied: `select number, breaking from ${migrations} order by number`,
    apply: `insert into ${migrations} (number, breaking) values (?, ?)`,
  }
}
