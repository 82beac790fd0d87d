/**
 * Every statement of phases, staged jobs, dead letters and workers.
 *
 * @module
 */

import { COUNT_NAMES } from '../../../engine/counts.ts'
import type { Statement } from '../client.ts'
import { named, quoted } from '../queries.ts'

/** What is sent. */
type Verb =
  | 'begin_phase'
  | 'advance_phase'
  | 'finish_phase'
  | 'begin_call'
  | 'has_open_call'
  | 'stop_phase'
  | 'take_unfinished'
  | 'take_abandoned'
  | 'stage'
  | 'take_jobs'
  | 'settle_jobs'
  | 'next_due'
  | 'bury'
  | 'bury_unknown'
  | 'find_letter'
  | 'list_letters'
  | 'settle_letter'
  | 'history'
  | 'sweep_history'
  | 'beat'
  | 'workers'
  | 'add_counts'
  | 'read_counts'
  | 'sweep_counts'

/** The statements of one schema. */
export type WorkQueries = Readonly<Record<Verb, Statement>>

/** The statements on `schema`. */
export function workQueries(schema: string): WorkQueries {
  const statements = Object.entries(TEXTS).map(([name, text]) => {
    return [name, named(name, text(quoted(schema)))] as const
  })
  // The names are those of TEXTS.
  return Object.fromEntries(statements) as WorkQueries
}

const MS = `interval '1 millisecond'`

function ms(instant: string): string {
  return `extract(epoch from ${instant})::double precision * 1000`
}

const TAKEN = `
  r.id, r.caller, r.operation, r.key, r.fingerprint, r.fence, r.recovery_point, r.state, r.input,
  r.request_id, r.ip, r.user_agent, r.tries`

/** A dead letter's columns, of the table that is called `d`. */
export function letter(d: string): string {
  return `
  ${d}.number::text, ${d}.record_id, ${d}.caller, ${d}.operation, ${d}.key, ${d}.cause, ${d}.point,
  ${d}.error, ${d}.fence, ${d}.tries, ${d}.input, ${d}.state, ${d}.request_id, ${d}.ip,
  ${d}.user_agent, ${d}.history::text, ${ms(`${d}.created_at`)} as created,
  ${ms(`${d}.buried_at`)} as buried, ${ms(`${d}.settled_at`)} as settled, ${d}.settlement,
  ${d}.author, ${d}.note`
}

/** Takes the record that `chosen` selects as its next holder; $1 owner, $2 lease, $3 retention. */
function take(schema: string, chosen: string): string {
  return `
    with clock as materialized (select clock_timestamp() as moment)
  update ${schema}.records r
     set fence       = r.fence + 1,
         owner       = $1,
         lease_until = clock.moment + $2::double precision * ${MS},
         expires_at  = greatest(r.expires_at, clock.moment + $3::double precision * ${MS}),
         tried_at    = clock.moment,
         tries       = coalesce(r.tries, 0) + 1,
         driven_fence = r.fence + 1,
         resume_at   = null
    from clock
   where r.id = (select u.id
                   from ${schema}.records u
                  where u.status is null
                    and (u.lease_until is null or u.lease_until <= (select moment from clock))
                    and ${chosen}
                  order by u.created_at
                  limit 1
                    for update skip locked)
  returning ${TAKEN}`
}

const TEXTS: Readonly<Record<Verb, (schema: string) => string>> = {
  begin_phase: (schema) => `
    select ${schema}.begin_phase($1, $2, $3, $4)`,

  advance_phase: (schema) => `
    select ${schema}.advance_phase($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)::text`,

  finish_phase: (schema) => `
    select ${schema}.finish_phase($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)::text`,

  begin_call: (schema) => `
    select ${schema}.begin_call($1, $2, $3, $4, $5, $6, $7)`,

  has_open_call: (schema) => `
    select exists (select
                     from ${schema}.attempts a
                     join ${schema}.records r on r.id = a.record_id
                    where a.record_id = $1 and a.point = $2 and a.ended_at is null
                      and a.began_at >= r.created_at)`,

  stop_phase: (schema) => `
    select ${schema}.stop_phase($1, $2, $3, $4, $5, $6, $7, $8, $9)`,

  /** $4 operation, $5 grace, $6 first pause, $7 longest pause. */
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
                         $7::double precision) * ${MS})`,
    ),

  take_abandoned: (schema) => take(schema, `u.expires_at <= (select moment from clock)`),

  /**
   * The job of a deduplication key has an id made of it: handed over twice, it is the same job. One
   * that waits already is locked, so that it is not handed over before this commit. $6 is who is
   * woken.
   */
  stage: (schema) => `
    with staged as
         (insert into ${schema}.staged_jobs as j (
                 staged_at, run_at, job_id, record_id, name, args, dedupe_key)
          values (clock_timestamp(), to_timestamp($1::double precision / 1000),
                  case when $5::text is null then gen_random_uuid()
                       else md5(jsonb_build_array($3::text, $5::text)::text)::uuid
                  end, $2, $3, $4, $5)
              on conflict (name, dedupe_key) where dedupe_key is not null and set_aside_at is null
              do update set name = j.name
          returning job_id)
  select job_id::text, ${schema}.notify_waiters($6)::text as notified from staged`,

  /** $2: how long a process that froze may keep the jobs; null for ever. */
  take_jobs: (schema) => `
    select j.job_id::text, j.name, j.args, j.attempts + 1 as attempt, ${ms('j.staged_at')} as staged,
           j.number::text as number,
           set_config('idle_in_transaction_session_timeout',
                      coalesce($2::text, current_setting('idle_in_transaction_session_timeout')),
                      true) as idle
      from ${schema}.staged_jobs j
     where j.set_aside_at is null
       and coalesce(j.run_at, '-infinity') <= (select clock_timestamp())
     order by coalesce(j.run_at, '-infinity'), j.number
     limit $1
       for update skip locked`,

  /**
   * Removes the jobs with the numbers of $1 and puts those of $2 back, with the errors of $3: until
   * later, or aside after $6 tries. Arrays come as the text of JSON: of a jsonb
   * some libraries would make JSON once more.
   */
  settle_jobs: (schema) => `
    with failed as
         (select f.number::bigint as number, e.error
            from jsonb_array_elements_text($2::text::jsonb) with ordinality f(number, place)
            join jsonb_array_elements_text($3::text::jsonb) with ordinality e(error, place)
           using (place)),
         delivered as
         (delete from ${schema}.staged_jobs j
           using jsonb_array_elements_text($1::text::jsonb) d(number)
           where j.number = d.number::bigint)
  update ${schema}.staged_jobs j
     set attempts     = j.attempts + 1,
         last_error   = failed.error,
         run_at       = clock_timestamp() + least(
                          $4::double precision * power(2, least(j.attempts, 30)),
                          $5::double precision) * ${MS},
         set_aside_at = case when j.attempts + 1 >= $6::integer then clock_timestamp() end
    from failed
   where j.number = failed.number`,

  /** What is locked is being handed over, and not waited for. */
  next_due: (schema) => `
    select case when j.run_at is null then 0
                else greatest(0, ${ms('j.run_at - clock_timestamp()')})
           end
      from ${schema}.staged_jobs j
     where j.set_aside_at is null
     order by coalesce(j.run_at, '-infinity'), j.number
     limit 1
       for key share skip locked`,

  bury: (schema) => `
    select ${schema}.bury($1, $2, $3, $4, $5, $6)`,

  bury_unknown: (schema) => `
    select ${schema}.bury_unknown($1, $2, $3)`,

  find_letter: (schema) => `
    select ${letter('d')} from ${schema}.dead_letters d where d.number = $1`,

  list_letters: (schema) => `
    select ${letter('d')}
      from ${schema}.dead_letters d
     where ($2::bigint is null or d.number < $2::bigint)
       and ($3::boolean is null or $3::boolean = (d.settled_at is not null))
     order by d.number desc
     limit $1`,

  settle_letter: (schema) => `
    select ${schema}.settle_letter($1, $2, $3, $4, $5, $6, $7)`,

  history: (schema) => `
    select ${schema}.history_of($1, '-infinity')::text`,

  sweep_history: (schema) => `
    with swept as
         (delete from ${schema}.attempts
           where (record_id, number) in (
                 select a.record_id, a.number
                   from ${schema}.attempts a
                  where not exists (select from ${schema}.records r where r.id = a.record_id)
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

  /** Sums over the last $1 milliseconds by $2; $3 operation, $4 caller, null for any. */
  read_counts: (schema) => `
    select ${ms(`case when $2::text = 'hour' then s.hour end`)} as hour,
           case when $2::text = 'operation' then s.operation end as operation,
           case when $2::text = 'caller' then s.caller end as caller,
           ${COUNT_NAMES.map((name) => `sum(s.${name})::bigint`).join(', ')}
      from ${schema}.stats s
     where s.hour > (select clock_timestamp()) - $1::double precision * ${MS} - interval '1 hour'
       and ($3::text is null or $3::text = s.operation)
       and ($4::text is null or $4::text = s.caller)
     group by 1, 2, 3
     order by 1 desc nulls last, sum(s.hit + s.miss + s.in_progress + s.mismatch) desc, 2, 3
     limit $5`,

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
