/**
 * Every statement of phases, staged jobs, dead letters and workers.
 *
 * @module
 */

import { COUNT_NAMES, type CountQuery } from '../../../engine/counts.ts'
import type { Statement } from '../client.ts'
import { named, quoted, TRANSACTION, textual } from '../queries.ts'
import { JOBS } from './queries/jobs.ts'
import { LETTERS } from './queries/letters.ts'
import { MS, ms, type Texts, take } from './queries/text.ts'

/** The statements of one schema. */
export type WorkQueries = Readonly<Record<Verb, Statement>>

type Verb =
  | keyof typeof JOBS
  | keyof typeof LETTERS
  | 'begin_phase'
  | 'is_committed'
  | 'advance_phase'
  | 'finish_phase'
  | 'begin_call'
  | 'begun_call'
  | 'stop_phase'
  | 'leave_phase'
  | 'take_unfinished'
  | 'history'
  | 'sweep_history'
  | 'beat'
  | 'workers'
  | 'add_counts'
  | 'counts_by_hour'
  | 'counts_by_operation'
  | 'counts_by_caller'
  | 'sweep_counts'

/** The statements on `schema`. */
export function workQueries(schema: string): WorkQueries {
  const statements = Object.entries(TEXTS).map(([name, text]) => {
    const make = TEXTUAL.has(name) ? textual : named
    return [name, make(name, text(quoted(schema)))] as const
  })
  // The names are those of TEXTS.
  return Object.fromEntries(statements) as WorkQueries
}

/** What begins and ends each phase, and so travels with `begin` and `commit`. */
const TEXTUAL: ReadonlySet<string> = new Set(['begin_phase', 'advance_phase', 'finish_phase'])

/** How long a completer leaves alone at least what it did not understand, in milliseconds. */
const LEFT_MS_MIN = 60_000

const TEXTS: Texts<Verb> = {
  ...JOBS,
  ...LETTERS,

  begin_phase: (schema) => `
    select ${schema}.begin_phase($1, $2, $3, $4, $5)::text as held, ${TRANSACTION} as transaction,
           pg_current_xact_id()::text as number`,

  /** Null while it is open. */
  is_committed: () => `
    select nullif(pg_xact_status($1::text::xid8), 'in progress') = 'committed'`,

  advance_phase: (schema) => `
    select ${schema}.advance_phase($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)::text`,

  finish_phase: (schema) => `
    select ${schema}.finish_phase($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)::text`,

  /** $8: whether the provider knows nothing of the calls of earlier runs. */
  begin_call: (schema) => `
    with denied as
         (update ${schema}.attempts a
             set ended_at = clock_timestamp(), ending = 'denied'
            from ${schema}.records r
           where $8::boolean
             and r.id = $1 and r.owner = $2 and r.fence = $3 and r.status is null
             and a.record_id = r.id and a.call_key = $7 and a.fence < r.fence
             and a.ended_at is null)
    select ${schema}.begin_call($1, $2, $3, $4, $5, $6, $7)`,

  /** Whether one of them is open; null without any. What was denied once may have been on its way. */
  begun_call: (schema) => `
    select bool_or(a.ended_at is null)
      from ${schema}.attempts a
     where a.record_id = $1 and a.call_key = $2 and (a.ended_at is null or a.ending = 'denied')`,

  stop_phase: (schema) => `
    select ${schema}.stop_phase($1, $2, $3, $4, $5, $6, $7, $8, $9)`,

  leave_phase: (schema) => `
    select ${schema}.leave_phase($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)`,

  /**
   * $4 operation, $5 grace, $6 first pause, $7 longest pause, $8 version, $9 how long other versions are
   * waited for. What this version has left, and nobody has taken up since, it looks at again after the
   * longest pause, and when the time of the others is over.
   */
  take_unfinished: (schema) =>
    take(
      schema,
      `u.recovery_point is not null
         and u.operation = $4
         and u.expires_at > (select moment from clock)
         and (u.resume_at is not null
              or u.created_at <= (select moment from clock) - $5::double precision * ${MS}
             and coalesce(u.tried_at, u.created_at) <= (select moment from clock)
                 - least($6::double precision * power(2, least(coalesce(u.tries, 0), 30)),
                         $7::double precision) * ${MS})
         and (u.left_fence is distinct from u.fence
              or $8::text <> all (string_to_array(u.left_by, ','))
              or u.left_since <= (select moment from clock) - $9::double precision * ${MS}
              or u.tried_at <= (select moment from clock)
                 - greatest($7::double precision, ${LEFT_MS_MIN}) * ${MS})`,
    ),

  history: (schema) => `
    select ${schema}.history_of($1, '-infinity')::text`,

  /** Also what processes that are long gone have said of their workers. */
  sweep_history: (schema) => `
    with gone as
         (delete from ${schema}.workers
           where ran_at < (select clock_timestamp()) - interval '30 days'),
         swept as
         (delete from ${schema}.attempts
           where (record_id, number) in (
                 select a.record_id, a.number
                   from ${schema}.attempts a
                  where not exists (select
                                      from ${schema}.records r
                                     where r.id = a.record_id and r.created_at = a.made)
                  limit $1)
          returning 1)
  select count(*)::integer from swept`,

  beat: (schema) => `
    insert into ${schema}.workers as w (
           worker, node, started_at, ran_at, took_ms, done, runs, error, every_ms)
    values ($1, $2, clock_timestamp(), clock_timestamp(), $3, $4, 1, $5, $6)
        on conflict (worker, node) do update
       set ran_at = excluded.ran_at, every_ms = excluded.every_ms, took_ms = excluded.took_ms, error = excluded.error,
           done = w.done + excluded.done, runs = w.runs + 1`,

  workers: (schema) => `
    select w.worker, w.node, w.took_ms, w.done, w.error,
           ${ms(`clock_timestamp() - w.ran_at`)}
      from ${schema}.workers w
     order by w.worker, w.node`,

  add_counts: (schema) => `
    select ${schema}.add_counts($1, $2, $3, $4, $5)`,

  counts_by_hour: (schema) => countsBy(schema, 'hour'),
  counts_by_operation: (schema) => countsBy(schema, 'operation'),
  counts_by_caller: (schema) => countsBy(schema, 'caller'),

  sweep_counts: (schema) => `
    with moment as materialized
         (select clock_timestamp() - $2::double precision * ${MS} as past),
         silent as
         (delete from ${schema}.stats_writers w using moment where w.wrote_at < moment.past),
         swept as
         (delete from ${schema}.stats
           where (hour, operation, caller) in (
                 select s.hour, s.operation, s.caller
                   from ${schema}.stats s
                  where s.hour < (select past from moment) - interval '1 hour'
                  limit $1)
          returning 1)
  select count(*)::integer from swept`,
}

/**
 * Sums over the last $1 milliseconds; $2 operation, $3 caller, null for any. A statement for each: what
 * to group by is no parameter, because then the database could not hash by a column alone.
 */
function countsBy(schema: string, by: CountQuery['by']): string {
  const column = (name: CountQuery['by']) => (name === by ? `s.${name}` : 'null')
  return `
    select ${ms(`${column('hour')}::timestamptz`)}, ${column('operation')}, ${column('caller')},
           ${COUNT_NAMES.map((name) => `sum(s.${name})::bigint`).join(', ')}
      from ${schema}.stats s
     where s.hour > (select clock_timestamp()) - $1::double precision * ${MS} - interval '1 hour'
       and ($2::text is null or $2::text = s.operation)
       and ($3::text is null or $3::text = s.caller)
     group by s.${by}
     order by ${by === 'hour' ? '' : 'sum(s.hit + s.miss + s.in_progress + s.mismatch) desc, '}
              s.${by} ${by === 'hour' ? 'desc' : 'asc'}
     limit $4`
}
