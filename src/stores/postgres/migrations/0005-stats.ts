/**
 * Counters per hour, operation and caller.
 *
 * @module
 */

import type { Migration } from '../../migration.ts'

/** As of this step: what is counted later comes with a step of its own. */
const NAMES = [
  ...['miss', 'hit', 'in_progress', 'mismatch', 'resumed', 'rejected', 'bypassed'],
  ...['store_errors', 'dead_letters', 'completed', 'reaped', 'enqueued'],
]

const each = (text: (name: string) => string) => NAMES.map(text).join(', ')

const SQL = `
create table reprise.stats (
  hour      timestamptz not null,
  ${each((name) => `${name} bigint not null`)},
  operation text        not null,
  caller    text        not null,
  constraint stats_pkey primary key (hour, operation, caller)
);

-- The last batch of each process: one whose reply was lost is sent again, and must not count twice.
create table reprise.stats_writers (
  writer   text        primary key,
  number   bigint      not null,
  wrote_at timestamptz not null
);

-- Batches take turns, so that an hour has no more rows than it may: callers beyond p_rows_max are one,
-- and so are operations beyond twice as many.
create function reprise.add_counts(
  p_writer text, p_number bigint, p_rows jsonb, p_rows_max integer, p_lock bigint
) returns boolean language plpgsql as $$
declare
  this_hour timestamptz;
  present   integer;
begin
  perform pg_advisory_xact_lock(p_lock);
  this_hour := date_trunc('hour', clock_timestamp(), 'UTC');
  insert into reprise.stats_writers as w (writer, number, wrote_at)
  values (p_writer, p_number, clock_timestamp())
      on conflict (writer) do update set number = excluded.number, wrote_at = excluded.wrote_at
   where w.number < excluded.number;
  if not found then
    return false;
  end if;
  select count(*) into present from reprise.stats s where s.hour = this_hour;

    with given as
         (select r.*, exists (select from reprise.stats s
                               where s.hour = this_hour and s.operation = r.operation
                                 and s.caller = r.caller) as is_known
            from jsonb_to_recordset(p_rows)
              as r(operation text, caller text, ${each((name) => `${name} bigint`)})),
         numbered as
         (select g.*, present + row_number() over (
                   partition by g.is_known order by g.operation, g.caller) as place
            from given g),
         placed as
         (select case when n.is_known or n.place <= 2 * p_rows_max then n.operation else 'other' end
                   as at_operation,
                 case when n.is_known or n.caller = '' or n.place <= p_rows_max then n.caller
                      else 'other' end as at_caller,
                 n.*
            from numbered n)
  insert into reprise.stats as s (hour, operation, caller, ${each((name) => name)})
  select this_hour, p.at_operation, p.at_caller, ${each((name) => `coalesce(sum(p.${name}), 0)`)}
    from placed p
   group by p.at_operation, p.at_caller
      on conflict (hour, operation, caller) do update
     set ${each((name) => `${name} = s.${name} + excluded.${name}`)};
  return true;
end
$$;
`

/** The fifth step. */
export const stats: Migration = { number: 5, breaking: false, sql: SQL }
