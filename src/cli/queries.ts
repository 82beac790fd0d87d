/**
 * Every statement that the CLI itself sends; the rest is the store's.
 *
 * @module
 */

import { quoted } from '../stores/postgres/queries.ts'

/** Whether the database answers. */
export const PING = 'select 1'

/** What kind of server it is, and how its clock stands. */
export const SERVER = `
  select current_setting('server_version_num')::integer, current_setting('server_version'),
         pg_is_in_recovery(), current_setting('default_transaction_read_only') = 'on',
         current_setting('default_transaction_isolation'), current_user::text,
         current_setting('is_superuser') = 'on'`

/** The database's clock, in milliseconds since 1970. */
export const CLOCK = 'select extract(epoch from clock_timestamp())::double precision * 1000'

/** Names are then shown with their schema, whatever the role's own path says. */
export const PLAIN_PATH = `select set_config('search_path', 'pg_catalog', true)`

/** A notification to whoever listens. */
export const NOTIFY = 'select pg_notify($1, $2)'

/** Whether advisory locks of a transaction are to be had. */
export const TRY_LOCK = 'select pg_try_advisory_xact_lock($1)'

/** A schema to compare with; it never outlives its transaction. */
export function makeSchema(schema: string): string {
  return `create schema ${quoted(schema)}`
}

/** Everything in a schema: kind, what it belongs to, name, definition. */
export const CATALOGUE = `
  select 'table', '', c.relname::text, case c.relpersistence when 'u' then 'unlogged' else '' end
    from pg_class c
   where c.relnamespace = to_regnamespace($1) and c.relkind in ('r', 'p')
   union all
  select case c.relkind when 'c' then 'attribute' else 'column' end, c.relname::text,
         a.attname::text,
         json_build_object(
           'type', format_type(a.atttypid, a.atttypmod), 'isNeeded', a.attnotnull,
           'default', pg_get_expr(d.adbin, d.adrelid),
           'identity', case a.attidentity when 'a' then 'always' when 'd' then 'by default' end)::text
    from pg_class c
    join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
    left join pg_attrdef d on d.adrelid = c.oid and d.adnum = a.attnum
   where c.relnamespace = to_regnamespace($1) and c.relkind in ('r', 'p', 'c')
   union all
  select 'type', '', c.relname::text, ''
    from pg_class c
   where c.relnamespace = to_regnamespace($1) and c.relkind = 'c'
   union all
  select 'constraint', t.relname::text, c.conname::text, pg_get_constraintdef(c.oid)
    from pg_constraint c
    join pg_class t on t.oid = c.conrelid
   where c.connamespace = to_regnamespace($1) and c.contype in ('p', 'u', 'c', 'f', 'x')
   union all
  select 'index', t.relname::text, i.relname::text,
         pg_get_indexdef(x.indexrelid) || case when x.indisvalid then '' else ' -- not valid' end
    from pg_index x
    join pg_class i on i.oid = x.indexrelid
    join pg_class t on t.oid = x.indrelid
   where i.relnamespace = to_regnamespace($1)
     and not exists (select from pg_constraint c where c.conindid = x.indexrelid)
   union all
  select 'function', '', p.proname || '(' || pg_get_function_identity_arguments(p.oid) || ')',
         pg_get_functiondef(p.oid)
    from pg_proc p
   where p.pronamespace = to_regnamespace($1) and p.prokind in ('f', 'p')
   union all
  select 'trigger', t.relname::text, g.tgname::text, pg_get_triggerdef(g.oid)
    from pg_trigger g
    join pg_class t on t.oid = g.tgrelid
   where t.relnamespace = to_regnamespace($1) and not g.tgisinternal`

/** What a role lacks: one statement for each privilege that would give it. */
export const LACKING = `
  select 'grant usage on schema ' || quote_ident($1) || ' to ' || quote_ident($2)
   where not has_schema_privilege($2::name, to_regnamespace(quote_ident($1)), 'usage')
   union all
  select 'grant ' || lower(p.privilege) || ' on ' || c.oid::regclass || ' to ' || quote_ident($2)
    from pg_class c
   cross join (values ('SELECT'), ('INSERT'), ('UPDATE'), ('DELETE')) p(privilege)
   where c.relnamespace = to_regnamespace(quote_ident($1)) and c.relkind in ('r', 'p')
     and not (c.relname = 'migrations' and p.privilege <> 'SELECT')
     and not (c.relname = 'audit' and p.privilege in ('UPDATE', 'DELETE'))
     and not has_table_privilege($2::name, c.oid, p.privilege)
   union all
  select 'grant execute on function ' || f.oid::regprocedure || ' to ' || quote_ident($2)
    from pg_proc f
   where f.pronamespace = to_regnamespace(quote_ident($1))
     and not has_function_privilege($2::name, f.oid, 'execute')`

/** Whether there is such a role. */
export const ROLE = 'select 1 from pg_roles r where r.rolname = $1'

/** How the workers stand: name, node, milliseconds since the last run, its error. */
export function workersOf(schema: string): string {
  return `
    select w.worker, w.node,
           extract(epoch from clock_timestamp() - w.ran_at)::double precision * 1000, w.error,
           (to_jsonb(w) ->> 'every_ms')::double precision
      from ${quoted(schema)}.workers w
     order by w.ran_at desc
     limit 100`
}

/** Whether somebody has to settle the record `r`. */
const HAS_LETTER = (at: string) => `exists (select from ${at}.dead_letters d
                                 where d.record_id = r.id and d.created_at = r.created_at
                                   and d.settled_at is null)`

/**
 * What waits: records that nobody finishes, dead letters that are open, staged jobs that are due, jobs
 * that were set aside, each counted up to 10000; and how long, in milliseconds, the oldest finished
 * record is past its retention.
 */
export function waitingIn(schema: string): string {
  const at = quoted(schema)
  return `
    select (select count(*) from (
              select from ${at}.records r
               where r.status is null and coalesce(r.lease_until <= clock_timestamp(), true)
                 and r.recovery_point is not null
                 and r.created_at < clock_timestamp() - $1 * interval '1 millisecond'
                 and not ${HAS_LETTER(at)}
               limit 10000) s)::integer,
           (select count(*) from (
              select from ${at}.dead_letters d where d.settled_at is null limit 10000) d)::integer,
           (select count(*) from (
              select from ${at}.staged_jobs j
               where j.set_aside_at is null
                 and j.staged_at < clock_timestamp() - interval '1 minute'
                 and coalesce(j.run_at <= clock_timestamp(), true)
               limit 10000) j)::integer,
           (select count(*) from (
              select from ${at}.staged_jobs j where j.set_aside_at is not null
               limit 10000) j)::integer,
           (select extract(epoch from clock_timestamp() - min(r.expires_at))::double precision * 1000
              from ${at}.records r where r.status is not null)`
}

/**
 * Records that a stopped run has left with an unknown outcome, counted up to 10000, and how long ago,
 * in milliseconds, the first of their leases lapsed.
 */
export function unknownIn(schema: string): string {
  const at = quoted(schema)
  return `
    select count(*)::integer,
           max(extract(epoch from clock_timestamp() - u.since))::double precision * 1000
      from (select coalesce(r.lease_until, r.tried_at, r.created_at) as since
              from ${at}.records r
             where r.status is null and r.recovery_point is null
               and coalesce(r.lease_until <= clock_timestamp(), true)
               and r.expires_at > clock_timestamp()
               and not ${HAS_LETTER(at)}
             limit 10000) u`
}

/** Whether anything was ever there for the enqueuer, the completer and the reaper. */
export function usesOf(schema: string): string {
  const at = quoted(schema)
  return `
    select exists (select from ${at}.staged_jobs),
           exists (select from ${at}.attempts)
        or exists (select from ${at}.records r
                    where r.status is null and r.recovery_point is not null),
           exists (select from ${at}.records)`
}

/** Rows that are dead but not yet cleared away: table, live, dead, bytes in all. */
export const BLOAT = `
  select s.relname::text, s.n_live_tup::double precision, s.n_dead_tup::double precision,
         pg_total_relation_size(s.relid)::double precision
    from pg_stat_user_tables s
   where s.schemaname = $1
   order by s.n_dead_tup desc`

/** Longest phase in the history, in milliseconds, and how many there are. */
export function phasesOf(schema: string): string {
  return `
    select max(extract(epoch from a.ended_at - a.began_at)::double precision * 1000),
           count(*)::integer
      from (select * from ${quoted(schema)}.attempts limit 10000) a`
}

/** How many callers there are among some records. */
export function callersOf(schema: string): string {
  return `
    select count(distinct r.caller)::integer, count(*)::integer
      from (select * from ${quoted(schema)}.records limit 1000) r`
}

/** Clears dead rows away and looks at the rest anew. */
export function vacuum(schema: string, table: string): string {
  return `vacuum (analyze) ${quoted(schema)}.${quoted(table)}`
}

/** Statements that give a column what it lacks. */
export function alterColumn(
  { table, column }: { readonly table: string; readonly column: string },
  change: string,
): string {
  return `alter table §.${quoted(table)} ${change.replace('§column', quoted(column))}`
}

/** Statements that make room for a definition, or put it in place. */
export const REPAIRS = {
  dropIndex: (name: string): string => `drop index §.${quoted(name)}`,
  dropTrigger: (name: string, table: string): string =>
    `drop trigger ${quoted(name)} on §.${quoted(table)}`,
  dropConstraint: (name: string, table: string): string =>
    `alter table §.${quoted(table)} drop constraint ${quoted(name)}`,
  addConstraint: (name: string, table: string, definition: string): string =>
    `alter table §.${quoted(table)} add constraint ${quoted(name)} ${definition}`,
} as const
